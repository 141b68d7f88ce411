package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is a pipe or a pair of sockets as a client hands it over, with one more
// descriptor of the reading end, as a shell keeps that starts us. Neither end
// is left to other children.
func pair(t *testing.T, kind string) (in, shared, w *os.File) {
	t.Helper()
	var fds [2]int
	var err error
	switch kind {
	case "a pipe":
		err = unix.Pipe2(fds[:], unix.O_CLOEXEC)
	case "a socket":
		fds, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, shared, w = os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(other), "shared"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { in.Close(); shared.Close(); w.Close() })
	return in, shared, w
}

func blocks(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags&unix.O_NONBLOCK == 0
}

var pairs = []string{"a pipe", "a socket"}

// All that comes is read, the end is the end, closing wakes who reads, and
// whoever shares the input never notices.
func TestAPolledInputIsReadToItsEndAndLeftAsItWas(t *testing.T) {
	for _, kind := range pairs {
		in, shared, w := pair(t, kind)
		p, ok := polled(in)
		if !ok {
			t.Fatalf("%s isn't polled", kind)
		}
		go func() {
			for i := range 2000 {
				fmt.Fprintln(w, i)
				if i%100 == 0 {
					time.Sleep(time.Millisecond) // so that some is waited for
				}
			}
			w.Close()
		}()
		got, err := io.ReadAll(p)
		if n := strings.Count(string(got), "\n"); err != nil || n != 2000 || !strings.HasSuffix(string(got), "\n1999\n") {
			t.Errorf("%s: %d lines, %v", kind, n, err)
		}
		if !blocks(t, shared) {
			t.Errorf("%s was made not to block", kind)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}

		in, _, _ = pair(t, kind)
		if p, ok = polled(in); !ok {
			t.Fatalf("%s isn't polled", kind)
		}
		read := make(chan error, 1)
		go func() {
			_, err := p.Read(make([]byte, 1))
			read <- err
		}()
		time.Sleep(10 * time.Millisecond) // most often it waits by then; either way it must end
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := <-read; err == nil {
			t.Errorf("%s: a read of a closed input succeeded", kind)
		}
	}
}

func TestAnInputThatCannotBePolledIsLeftAlone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	closed, _, _ := pair(t, "a pipe")
	closed.Close()
	for name, in := range map[string]io.ReadCloser{"a file": file, "no file at all": io.NopCloser(nil), "a closed one": closed} {
		if got, ok := polled(in); ok || got != in {
			t.Errorf("%s is polled", name)
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"

// startMCP is `gaia mcp` with an input, and what it says.
func startMCP(t *testing.T, in *os.File) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Args, c.Stdin, c.Stderr = []string{"gaia", "mcp"}, in, os.Stderr
	c.Env = append(os.Environ(), "GAIA_INTERAGENT_DATA_DIR="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c, bufio.NewReader(out)
}

func ended(t *testing.T, c *exec.Cmd) {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- c.Wait() }()
	select {
	case <-end: // how, is for others to test: it may not have got as far as its handlers
	case <-time.After(20 * time.Second):
		t.Error("still there 20 s after it was told to end")
		_ = c.Process.Kill()
		<-end
	}
}

// Two servers on one input, which others write as they please: one ends, the
// other goes on, and ends when it is told.
func TestServersThatShareAnInputEndApart(t *testing.T) {
	for _, kind := range pairs {
		in, shared, w := pair(t, kind)
		one, said := startMCP(t, in)
		if _, err := w.WriteString(hello); err != nil {
			t.Fatal(err)
		}
		if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, "result") {
			t.Fatalf("%q, %v", line, err)
		}
		other, _ := startMCP(t, shared)
		for _, c := range []*exec.Cmd{other, one} {
			time.Sleep(100 * time.Millisecond)
			if !blocks(t, shared) {
				t.Errorf("%s was made not to block", kind)
			}
			_ = c.Process.Signal(syscall.SIGTERM)
			ended(t, c)
		}
	}
}

// A client that has both ends of a FIFO writes as much as it likes, and waits
// where there is no room.
func TestAClientThatSharesTheInputLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	both := os.NewFile(uintptr(fd), "fifo")
	defer both.Close()
	c, said := startMCP(t, both)
	const pings = 20_000
	wrote := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(both, 1<<20)
		w.WriteString(hello)
		for i := range pings {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i+2)
		}
		wrote <- w.Flush()
	}()
	for i := range pings + 1 {
		if _, err := said.ReadString('\n'); err != nil {
			t.Fatalf("after %d answers: %v", i, err)
		}
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	ended(t, c)
}
