// Package follow reads a log as it grows. It takes no lock and never waits for
// a writer: it hands out complete lines only, and what isn't complete yet is
// read again at the next look.
package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"gaia/core"
	"gaia/eventlog"
)

// A Log is followed by one goroutine at a time.
type Log struct {
	path   string
	state  *core.State
	file   os.FileInfo // of the log when last seen; nil: there was none
	lines  int
	offset int64
}

// New follows the log at a path, from its start. There need be no log yet.
func New(path string) *Log { return &Log{path: path, state: core.NewState()} }

// State is what the lines so far come to. It must not be kept or changed.
func (l *Log) State() *core.State { return l.state }

// Poll hands out each line that became complete since the last call.
func (l *Log) Poll(each func(eventlog.Line) error) error {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) && l.file == nil {
		return nil
	}
	if err != nil {
		return l.failed(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return l.failed(err)
	case l.file != nil && !os.SameFile(l.file, fi):
		return l.failed(errors.New("it was replaced by another file"))
	case fi.Size() < l.offset:
		return l.failed(errors.New("it became shorter: an append was undone, or somebody cut it"))
	}
	l.file = fi
	data := make([]byte, fi.Size()-l.offset)
	n, err := f.ReadAt(data, l.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return l.failed(err)
	}
	for data = data[:n]; ; {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return nil
		}
		if err := l.fold(line); err != nil {
			return err
		}
		at := l.offset
		l.lines, l.offset, data = l.lines+1, l.offset+int64(len(line))+1, rest
		if err := each(eventlog.Line{Number: l.lines, Offset: at, Bytes: line}); err != nil {
			return err
		}
	}
}

func (l *Log) fold(line []byte) error {
	if len(line) == 0 {
		return &eventlog.CorruptError{Path: l.path, Line: l.lines + 1, Offset: l.offset, Reason: "a blank line"}
	}
	switch err := core.FoldLine(l.state, line); {
	case errors.Is(err, core.ErrUnreplayable):
		return &eventlog.UnreplayableError{Path: l.path, Line: l.lines + 1, Offset: l.offset, Err: err}
	case err != nil:
		return &eventlog.CorruptError{Path: l.path, Line: l.lines + 1, Offset: l.offset, Reason: err.Error()}
	}
	return nil
}

func (l *Log) failed(err error) error {
	return &eventlog.IOError{Op: "follow the log", Path: l.path, Err: err}
}

// interval is how often a log is looked at: a stat, when nothing happened.
const interval = 50 * time.Millisecond

// Run polls until each or idle returns an error, or ctx ends, whose cause is
// its error. idle is asked between two looks.
func (l *Log) Run(ctx context.Context, each func(eventlog.Line) error, idle func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := l.Poll(each); err != nil {
			return err
		}
		if err := idle(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// Resolve finds the actor that an address names now: a ref first, then a name
// that exactly one actor bears.
func (l *Log) Resolve(address string) (ref string, err error) {
	var bearers []string
	for _, a := range l.state.Actors() {
		if a.Ref == address {
			return a.Ref, nil
		}
		if a.Name == address {
			bearers = append(bearers, a.Ref)
		}
	}
	switch len(bearers) {
	case 0:
		return "", fmt.Errorf("no actor %q on this bus", address)
	case 1:
		return bearers[0], nil
	}
	return "", fmt.Errorf("ambiguous actor name %q: %d actors share it; address by ref: %q", address, len(bearers), bearers)
}
