//go:build unix

package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Clients end their servers so: one signal, and a kill moments later. Those
// that get the time finish their commit and leave no lock.
func TestProcessToldToEndLeavesNoLockAndNoTornRecord(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := filepath.Join(t.TempDir(), "data")
		for round := range 8 {
			c := startGaia(t, dir, nil)
			in := handshake
			for i := range 200 {
				in += toolsCall(i, "register", obj{"actorId": fmt.Sprint("lane ", i)})
			}
			c.send(t, in)
			for range round + 2 {
				c.line(t)
			}
			c.cmd.Process.Signal(sig)
			if _, code := c.wait(t); code != 0 {
				t.Errorf("%v: exit %d, stderr %q", sig, code, c.stderr.String())
			}
			if names := slicesOf(tree(t, dir)); len(names) != 2 {
				t.Fatalf("%v: left behind: %q", sig, names)
			}
		}
		// Another server goes on where they stopped.
		c := startGaia(t, dir, nil)
		c.send(t, handshake+toolsCall(1, "register", obj{"actorId": "last"}))
		c.in.Close()
		if out, _ := c.wait(t); !strings.Contains(answers(t, out)["1"], `"ok":true`) {
			t.Errorf("%v: %s", sig, out)
		}
	}
}

func TestProcessIdleEndsOnASignal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := startGaia(t, dir, nil)
		c.send(t, handshake)
		c.line(t)
		c.cmd.Process.Signal(sig) // and stdin stays open
		if _, code := c.wait(t); code != 0 {
			t.Errorf("%v: exit %d, stderr %q", sig, code, c.stderr.String())
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("servers without a call made the data directory")
	}
}

// Killed at any moment: what was acknowledged is in the log, and the next
// server isn't kept out.
func TestProcessKilledLosesNothingAcknowledgedAndBlocksNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	acknowledged := 0
	for round := range 12 {
		c := startGaia(t, dir, nil)
		in := handshake
		for i := range 100 {
			in += toolsCall(fmt.Sprint(round, " ", i), "register", obj{"actorId": fmt.Sprint("lane ", i)})
		}
		c.send(t, in)
		c.line(t)
		for range round {
			if !strings.Contains(c.line(t), `"ok":true`) {
				t.Fatal("a lock was left that keeps the next server out")
			}
			acknowledged++
		}
		c.cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(time.Duration(round%4) * time.Millisecond) // as clients do
		c.cmd.Process.Kill()
		out, _ := c.wait(t)
		acknowledged += strings.Count(out, "\n") - strings.Count(out, "-32801")
	}
	c := startGaia(t, dir, nil)
	c.send(t, handshake+toolsCall(1, "register", obj{"actorId": "last"}))
	c.line(t)
	last := c.line(t)
	m := regexp.MustCompile(`"ref":"act-(\d+)"`).FindStringSubmatch(last)
	if m == nil {
		t.Fatalf("the lock or the log is not as it should be: %s", last)
	}
	if n, _ := strconv.Atoi(m[1]); n < acknowledged+1 {
		t.Errorf("%d calls were acknowledged, the log holds %d", acknowledged, n-1)
	}
	c.in.Close()
	c.wait(t)
}

func TestProcessSurvivesADiagnosticsReaderThatIsGone(t *testing.T) {
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := startGaia(t, dir, w)
	r.Close()
	w.Close()
	c.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"}))
	c.line(t)
	c.line(t)
	// Replacing the log makes the server warn.
	log := filepath.Join(dir, "events.jsonl")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log+".new", b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(log+".new", log); err != nil {
		t.Fatal(err)
	}
	c.send(t, toolsCall(2, "register", obj{"actorId": "b"}))
	if line := c.line(t); !strings.Contains(line, "act-0002") {
		t.Error(line)
	}
	c.in.Close()
	if _, code := c.wait(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// An idle server is one of dozens on a machine.
func TestProcessIdleIsSmall(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("private memory is read from Linux's smaps_rollup: ", err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	// Two, so that what they share isn't taken for private.
	other, c := startGaia(t, dir, nil), startGaia(t, dir, nil)
	for _, c := range []*child{other, c} {
		c.send(t, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
		c.line(t)
		c.line(t)
		c.send(t, toolsCall(2, "register", obj{"actorId": "a"}))
		c.line(t)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, m := range regexp.MustCompile(`Private_(?:Clean|Dirty): +(\d+) kB`).FindAllSubmatch(b, -1) {
		kib, _ := strconv.Atoi(string(m[1]))
		total += kib
	}
	t.Logf("%d KiB private", total)
	if total == 0 || total > 8<<10 {
		t.Errorf("an idle server has %d KiB of private memory, want at most 8,192", total)
	}
	for _, c := range []*child{other, c} {
		c.in.Close()
		c.wait(t)
	}
}
