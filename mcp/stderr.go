package mcp

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A Stderr is a writer for diagnostics that never blocks and never fails:
// clients start servers with a pipe that nobody reads, and a call that waited
// for its reader would wait with the lock in hand. What its small buffer
// can't hold is dropped and counted. Hand the same one to eventlog.Options
// and to Config. Its methods may be called at once from any goroutine.
type Stderr struct {
	mu      sync.Mutex
	lines   chan []byte
	done    chan struct{} // the writing goroutine has ended
	dropped int
	closed  bool
}

// stderrLines and stderrLine bound what waits for a slow reader, to 64 KiB.
const (
	stderrLines = 64
	stderrLine  = 1 << 10
)

// NewStderr starts writing to w. Close it to flush what waits.
func NewStderr(w io.Writer) *Stderr {
	s := &Stderr{lines: make(chan []byte, stderrLines), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for line := range s.lines {
			w.Write(line)
			if n := s.takeDropped(); n > 0 {
				fmt.Fprintf(w, "gaia: warning: %d diagnostics were dropped, nobody read them in time\n", n)
			}
		}
	}()
	return s
}

// Write takes p whole or drops it. It always reports success.
func (s *Stderr) Write(p []byte) (int, error) {
	kept := append([]byte(nil), p[:min(len(p), stderrLine)]...)
	if len(p) > stderrLine {
		kept = append(kept, "…\n"...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(p), nil
	}
	select {
	case s.lines <- kept:
	default:
		s.dropped++
	}
	return len(p), nil
}

// Close flushes for at most 100 ms and lets go of the writer.
func (s *Stderr) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.lines)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(100 * time.Millisecond):
	}
	return nil
}

func (s *Stderr) takeDropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dropped
	s.dropped = 0
	return n
}
