package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// metaPhases asks in a request's _meta for the steps' times, and names
	// them in the result's.
	metaPhases = "gaia/phases"
	// clientProtocol is what today's real clients speak with a server they
	// don't know; asking for a newer one would wait on servers that ignore
	// a request they can't name.
	clientProtocol = "2025-11-25"
	envDataDir     = "GAIA_INTERAGENT_DATA_DIR"
	envPrefix      = "GAIA_INTERAGENT_"
)

// A server is one stdio MCP server that this process started and owns. It is
// spoken to without a library: one call after the other needs no session's
// machinery, and what the client costs is taken from what is measured.
// call may be used by one goroutine at a time; stop from any, once.
type server struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   chan rpcMessage // what it says; closed when it has ended
	broken  error           // why lines was closed, where it wasn't the end
	lastID  int64
	stderr  *tail
	version string

	started, initialized int64 // instants: before its start, and of its answer
}

// startServer starts argv and waits, within limit, until it has shown the six
// verbs. onLine, if not nil, is given each line of its stderr as it comes.
// After an error nothing is left running.
func startServer(ctx context.Context, argv, env []string, limit time.Duration, onLine func(*os.Process, string)) (_ *server, err error) {
	s := &server{cmd: exec.Command(argv[0], argv[1:]...), stderr: new(tail), lines: make(chan rpcMessage)}
	s.cmd.Env = append(inherited(), env...)
	s.cmd.Stderr = s.stderr
	if onLine != nil {
		s.cmd.Stderr = io.MultiWriter(s.stderr, &lineWriter{each: func(line string) { onLine(s.cmd.Process, line) }})
	}
	// A grandchild that holds stderr open must not hold us.
	s.cmd.WaitDelay = 2 * time.Second
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.started = now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(stdout)
	defer func() {
		if err != nil {
			s.stop(100 * time.Millisecond)
			if st := s.cmd.ProcessState; st != nil && st.Exited() && !st.Success() {
				err = fmt.Errorf("%w (%s)", err, st)
			}
			err = &serverError{err, s.stderr.lastLine()}
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v", limit))
	defer cancel()
	if err := s.handshake(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// serverError is why a server didn't start, with what it said.
type serverError struct {
	error
	stderr string
}

// causeOr prefers the context's own reason to what a library made of it.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// inherited is this process's environment without the bus's own variables: a
// trial's record must say everything that shaped it.
func inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, envPrefix) })
}

// usage is what a process took. Zero: not known.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes
}

// stop ends the server: end of input, then a request to terminate, then
// force, grace apart. It returns when the process was waited for.
func (s *server) stop(grace time.Duration) usage {
	peak := peakMemory(s.cmd.Process)
	_ = s.stdin.Close()
	gone, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		for range s.lines { // what it still says must not hold it up
		}
	}()
	go func() {
		defer close(gone)
		_ = s.cmd.Wait() // its status is in ProcessState
	}()
	within := func(d time.Duration) bool {
		select {
		case <-gone:
			return true
		case <-time.After(d):
			return false
		}
	}
	if !within(grace) && (s.cmd.Process.Signal(syscall.SIGTERM) != nil || !within(grace)) {
		_ = s.cmd.Process.Kill()
		<-gone
	}
	<-drained
	st := s.cmd.ProcessState
	if st == nil {
		return usage{peak: peak}
	}
	if peak == 0 {
		peak = peakOf(st)
	}
	return usage{cpu: st.UserTime() + st.SystemTime(), peak: peak}
}

// lineWriter hands out whole lines. Lines over its buffer are cut.
type lineWriter struct {
	each func(string)
	line []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			w.each(string(w.line))
			w.line = w.line[:0]
		} else if len(w.line) < bufio.MaxScanTokenSize {
			w.line = append(w.line, b)
		}
	}
	return len(p), nil
}
