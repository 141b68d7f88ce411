//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func blocks(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags&unix.O_NONBLOCK == 0
}

// blockingPipe is a pipe as a client hands it over, with one more descriptor
// of its reading end, as a shell keeps that starts us.
func blockingPipe(t *testing.T) (in, shared, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	other, err := unix.Dup(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	in, shared, w = os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(other), "shared"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { in.Close(); shared.Close(); w.Close() })
	return in, shared, w
}

// Closing wakes who reads, and whoever shares the pipe finds it as it was.
func TestAPolledInputIsReadClosedAndGivenBackBlocking(t *testing.T) {
	in, shared, w := blockingPipe(t)
	p, ok := polled(in, os.Stdout)
	if !ok || blocks(t, shared) {
		t.Fatalf("polled: %v, blocks: %v", ok, blocks(t, shared))
	}
	if _, err := w.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(p, buf); err != nil || string(buf) != "hello" {
		t.Fatalf("%q, %v", buf, err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := p.Read(buf)
		read <- err
	}()
	time.Sleep(10 * time.Millisecond) // most often it waits by then; either way it must end
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err == nil {
		t.Error("a read of a closed input succeeded")
	}
	if !blocks(t, shared) {
		t.Error("the pipe was left not to block")
	}
	if err := p.Close(); err == nil {
		t.Error("closed twice")
	}
}

// What isn't a pipe, or is an output too, is left alone.
func TestAnInputThatCannotBePolledIsLeftAlone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket, other := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "other")
	defer socket.Close()
	defer other.Close()
	fd, err := unix.Dup(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	same := os.NewFile(uintptr(fd), "same")
	defer same.Close()
	for name, c := range map[string]struct {
		in   io.ReadCloser
		outs []io.Writer
		want bool
	}{
		"a file":                        {file, nil, false},
		"no file at all":                {io.NopCloser(nil), nil, false},
		"a socket that is the output":   {socket, []io.Writer{same, os.Stderr}, false},
		"a socket that is the error's":  {socket, []io.Writer{os.Stdout, same}, false},
		"a socket that is nothing else": {socket, []io.Writer{os.Stdout, other, io.Discard}, true},
	} {
		got, ok := polled(c.in, c.outs...)
		if ok != c.want || ok == (got == c.in) {
			t.Errorf("%s: polled is %v", name, ok)
		}
	}
}
