package eventlog

import (
	"context"
	"fmt"
	"io"
	"time"

	"gaia/core"
)

// Step names one step of a commit, for observers and failpoints.
type Step string

// The steps of an Update, in order. After a refusal by the lock or the log
// the rest but release is left out, and append and sync where there is
// nothing to append.
const (
	StepAcquire Step = "acquire" // wait for the locks and take them
	StepRead    Step = "read"    // check what was read before, read what is new
	StepFold    Step = "fold"    // decode and fold what is new: one pass over each line
	StepDecide  Step = "decide"  // and make the lines, and prove that they can be read
	StepAppend  Step = "append"
	StepSync    Step = "sync"
	StepRelease Step = "release"
)

// Phases is how long each step of one call took.
type Phases map[Step]time.Duration

// A Receipt tells about one Update, whether it failed or not.
type Receipt struct {
	Phases Phases
	// Adopted: the lock was one whose owner had died.
	Adopted bool
}

// meter observes the steps of one call.
type meter struct {
	hook   func(Step) error // nil: none
	phases Phases
	path   string
}

func (m meter) announce(s Step) error {
	if m.hook != nil {
		if err := m.hook(s); err != nil {
			return &IOError{Op: "step " + string(s) + " of", Path: m.path, Err: err}
		}
	}
	return nil
}

func (m meter) step(s Step, do func() error) error {
	if err := m.announce(s); err != nil {
		return err
	}
	return m.time(s, do)
}

func (m meter) time(s Step, do func() error) error {
	start := time.Now()
	defer func() { m.phases[s] += time.Since(start) }()
	return do()
}

// Update is the one way to write. decide runs in the lock on the newest state
// and returns what to append (nothing: no append, no error). The state it is
// given must not be kept or changed.
//
// Calls of one Log run in the order they arrived. A context that ends before
// the append ends the call with its cause, and nothing is written; from the
// append on the call finishes whatever the context does. An error means that
// nothing was written, but for IOError's OutcomeUnknown, after which this Log
// writes no more.
func (l *Log) Update(ctx context.Context, decide func(*core.State) []core.Event) (Receipt, error) {
	r := Receipt{Phases: Phases{}}
	if err := l.queue.Acquire(ctx, 1); err != nil {
		return r, ended(ctx)
	}
	defer l.queue.Release(1)
	if l.unsure != nil {
		return r, &IOError{Op: "write to the log", Path: l.Path(),
			Err: fmt.Errorf("the outcome of an earlier append is unknown (%w), so this process writes no more; check the log with `gaia doctor`, then restart it", l.unsure)}
	}

	m := meter{l.o.Hook, r.Phases, l.Path()}
	var h *held
	err := m.step(StepAcquire, func() (err error) {
		h, err = l.acquire(ctx)
		return err
	})
	if err != nil {
		return r, err
	}
	defer func() {
		if m.step(StepRelease, func() error { h.release(); return nil }) != nil {
			h.log.Close() // stopped before the release: leave what a death here leaves
		}
	}()
	r.Adopted = h.adopted

	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.catchUp(h.log, true, m); err != nil {
		return r, err
	}
	var lines []byte
	if err := m.step(StepDecide, func() error {
		var err error
		lines, err = encode(l.fold.state, decide(l.fold.state))
		return err
	}); err != nil || len(lines) == 0 {
		return r, err
	}
	if ctx.Err() != nil {
		return r, ended(ctx)
	}
	if err := l.commit(h, m, lines); err != nil {
		return r, err
	}
	// The fold learns of our events from their bytes, as every other process
	// does, so that the two can't part.
	if err := l.fold.take(lines); err == nil {
		l.fold.settled()
	} else {
		l.fold.reset()
		l.warn("the log %q could not be folded past what was just written: %v", l.Path(), err)
	}
	return r, nil
}

// encode makes the lines and proves that they can be read back: a line that
// can't must never reach the log.
func encode(s *core.State, events []core.Event) ([]byte, error) {
	var lines []byte
	for _, e := range events {
		start := len(lines)
		lines = core.AppendEvent(lines, e)
		if err := core.CheckLine(s, lines[start:]); err != nil {
			return nil, fmt.Errorf("an event that could not be read back was not written: %w", err)
		}
		lines = append(lines, '\n')
	}
	return lines, nil
}

// commit appends and syncs, or undoes what it did.
func (l *Log) commit(h *held, m meter, lines []byte) error {
	size, op := l.fold.offset, "append to the log"
	err := m.step(StepAppend, func() error {
		n, err := h.log.Append(lines, size)
		if err == nil && n < len(lines) {
			err = io.ErrShortWrite
		}
		return err
	})
	if err == nil {
		op = "sync the log"
		err = m.step(StepSync, func() error {
			if err := h.log.Sync(); err != nil || size > 0 {
				return err
			}
			return l.disk.SyncDir(l.dir) // the first record's file may be new
		})
	}
	if err == nil {
		return nil
	}
	undo := h.log.Truncate(size)
	if undo == nil {
		undo = h.log.Sync()
	}
	if undo == nil {
		return &IOError{Op: op, Path: l.Path(), Err: err}
	}
	l.unsure = err
	l.fold.reset()
	return &IOError{Op: op, Path: l.Path(), Err: fmt.Errorf("%w, and undoing it: %w", err, undo), OutcomeUnknown: true}
}
