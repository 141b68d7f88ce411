//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command is a process of its own, whose input stays open.
type command struct {
	*exec.Cmd
	in             io.WriteCloser
	stdout, stderr bytes.Buffer
	ended          chan error
}

func startCommand(t *testing.T, dir string, args ...string) *command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &command{Cmd: exec.Command(self), ended: make(chan error, 1)}
	c.Args = append([]string{"gaia"}, args...)
	c.Env = append(os.Environ(), "GAIA_INTERAGENT_DATA_DIR="+dir)
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.ended <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill() }) // where the test failed
	return c
}

// feed writes more than a pipe holds: when it is through, the command reads.
func (c *command) feed(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c.in, strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
}

func TestASignalEndsACommandWhoseInputNeverEnds(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := startCommand(t, t.TempDir(), "send", "--from", "a", "--to", "a", "--text", "-")
		c.feed(t)
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		await(t, c.ended)
		if c.ProcessState.ExitCode() != exitNo || c.stdout.Len() != 0 || c.stderr.String() != "gaia: error: interrupted; nothing was written\n" {
			t.Errorf("%v: %v: %s%s", s, c.ProcessState, &c.stdout, &c.stderr)
		}
	}
}

func TestNohupIsObeyed(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // what a child inherits
	c := startCommand(t, t.TempDir(), "send", "--from", "a", "--to", "a", "--text", "-")
	signal.Reset(syscall.SIGHUP)
	c.feed(t)
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.ended:
		t.Errorf("it ended: %v: %s", err, &c.stderr)
		return
	case <-time.After(200 * time.Millisecond):
	}
	c.feed(t)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, c.ended)
}
