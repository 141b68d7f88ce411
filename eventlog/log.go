package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gaia/core"
)

// Step names one step of a commit, for observers and failpoints.
type Step string

// The steps of an Update, in order.
const (
	StepAcquire Step = "acquire"
	StepRead    Step = "read"
	StepDecode  Step = "decode"
	StepFold    Step = "fold"
	StepDecide  Step = "decide"
	StepAppend  Step = "append"
	StepSync    Step = "sync"
	StepRelease Step = "release"
)

// Phases is how long each step of one call took.
type Phases map[Step]time.Duration

// A Receipt tells about one Update, whether it failed or not.
type Receipt struct {
	Phases Phases
}

// A Line is one record of the log. Bytes is good until the callback returns.
type Line struct {
	Number int    // from 1
	Offset int64  // of its first byte
	Bytes  []byte // without the newline
}

// The names in a data directory.
const (
	logName  = "events.jsonl"
	lockName = "events.lock"
)

// A Log is one data directory's log. Its methods may be called at once from
// any goroutine.
type Log struct {
	dir string
	o   Options
	mu  sync.Mutex
}

// Open touches nothing on disk.
func Open(dir string, o Options) *Log { return &Log{dir: dir, o: o.withDefaults()} }

// Dir is the data directory.
func (l *Log) Dir() string { return l.dir }

// Path is the log's.
func (l *Log) Path() string { return filepath.Join(l.dir, logName) }

// Update is the one way to write. decide runs in the lock on the newest state
// and returns what to append (nothing: no append, no error). The state it is
// given must not be kept or changed.
func (l *Log) Update(ctx context.Context, decide func(*core.State) []core.Event) (Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Receipt{Phases: Phases{}}
	step := func(s Step) (func(), error) {
		if err := l.o.Hook(s); err != nil {
			return nil, &IOError{Op: string(s), Path: l.Path(), Err: err}
		}
		start := time.Now()
		return func() { r.Phases[s] += time.Since(start) }, nil
	}

	done, err := step(StepAcquire)
	if err != nil {
		return r, err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return r, &IOError{Op: "create the data directory", Path: l.dir, Err: err}
	}
	if err := l.acquire(ctx); err != nil {
		return r, err
	}
	done()
	defer func() {
		start := time.Now()
		l.o.Hook(StepRelease)
		l.release()
		r.Phases[StepRelease] = time.Since(start)
	}()

	if done, err = step(StepRead); err != nil {
		return r, err
	}
	data, err := os.ReadFile(l.Path())
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return r, &IOError{Op: "read the log", Path: l.Path(), Err: err}
	}
	done()
	if done, err = step(StepFold); err != nil {
		return r, err
	}
	state, err := l.fold(data, nil)
	if err != nil {
		return r, err
	}
	done()
	if done, err = step(StepDecide); err != nil {
		return r, err
	}
	events := decide(state)
	done()
	if len(events) == 0 {
		return r, nil
	}
	if err := ctx.Err(); err != nil {
		return r, fmt.Errorf("the call ended before anything was written: %w", err)
	}
	var lines []byte
	for _, e := range events {
		lines = append(core.AppendEvent(lines, e), '\n')
	}
	if done, err = step(StepAppend); err != nil {
		return r, err
	}
	f, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return r, &IOError{Op: "open the log", Path: l.Path(), Err: err}
	}
	defer f.Close()
	if _, err := f.Write(lines); err != nil {
		return r, &IOError{Op: "append to the log", Path: l.Path(), Err: err, OutcomeUnknown: true}
	}
	done()
	if done, err = step(StepSync); err != nil {
		return r, err
	}
	if err := f.Sync(); err != nil {
		return r, &IOError{Op: "sync the log", Path: l.Path(), Err: err, OutcomeUnknown: true}
	}
	if isNew {
		if d, err := os.Open(l.dir); err == nil {
			d.Sync()
			d.Close()
		}
	}
	done()
	return r, nil
}

// View catches up and reads; it creates nothing.
func (l *Log) View(ctx context.Context, read func(*core.State) error) error {
	_, state, err := l.read(ctx)
	if err != nil {
		return err
	}
	return read(state)
}

// Lines reads the whole log and hands out each complete line, validated as View validates.
func (l *Log) Lines(ctx context.Context, each func(Line) error) error {
	data, _, err := l.read(ctx)
	if err != nil {
		return err
	}
	for n, off := 1, 0; off < len(data); n++ {
		end := off + bytes.IndexByte(data[off:], '\n')
		if err := each(Line{Number: n, Offset: int64(off), Bytes: data[off:end]}); err != nil {
			return err
		}
		off = end + 1
	}
	return nil
}

func (l *Log) read(ctx context.Context) ([]byte, *core.State, error) {
	start := time.Now()
	for {
		_, lockErr := os.Lstat(filepath.Join(l.dir, lockName))
		data, err := os.ReadFile(l.Path())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, &IOError{Op: "read the log", Path: l.Path(), Err: err}
		}
		state, err := l.fold(data, nil)
		if err == nil {
			return data, state, nil
		}
		if lockErr != nil {
			_, again := os.Lstat(filepath.Join(l.dir, lockName))
			if again != nil {
				return nil, nil, err
			}
		} else if time.Since(start) > l.o.LockTimeout {
			return nil, nil, l.timeout(start)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
}

func (l *Log) fold(data []byte, state *core.State) (*core.State, error) {
	if state == nil {
		state = core.NewState()
	}
	for n, off := 1, 0; off < len(data); n++ {
		end := bytes.IndexByte(data[off:], '\n')
		corrupt := func(reason string) error {
			return &CorruptError{Path: l.Path(), Line: n, Offset: int64(off), Reason: reason}
		}
		switch {
		case end < 0:
			return nil, corrupt("the last line is unfinished")
		case end == 0:
			return nil, corrupt("a blank line")
		}
		if err := core.FoldLine(state, data[off:off+end]); errors.Is(err, core.ErrUnreplayable) {
			return nil, &UnreplayableError{Path: l.Path(), Line: n, Offset: int64(off), Err: err}
		} else if err != nil {
			return nil, corrupt(err.Error())
		}
		off += end + 1
	}
	return state, nil
}

func (l *Log) acquire(ctx context.Context) error {
	start := time.Now()
	path := filepath.Join(l.dir, lockName)
	for {
		err := os.Mkdir(path, 0o700)
		if err == nil {
			owner := fmt.Sprintf(`{"pid":%d,"at":%q}`+"\n", os.Getpid(), core.FormatTime(time.Now()))
			os.WriteFile(filepath.Join(path, "owner.json"), []byte(owner), 0o600)
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return &IOError{Op: "make the lock", Path: path, Err: err}
		}
		if time.Since(start) >= l.o.LockTimeout {
			return l.timeout(start)
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

func (l *Log) release() {
	path := filepath.Join(l.dir, lockName)
	os.Remove(filepath.Join(path, "owner.json"))
	for range max(l.o.ReleaseRetries, 0) + 1 {
		if err := os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(l.o.ReleaseRetryDelay)
	}
	fmt.Fprintf(l.o.Stderr, "gaia: warning: the lock %q could not be removed\n", path)
}

func (l *Log) timeout(start time.Time) error {
	path := filepath.Join(l.dir, lockName)
	e := &LockTimeoutError{Path: path, Waited: time.Since(start)}
	if fi, err := os.Lstat(path); err == nil {
		e.Age = max(time.Since(fi.ModTime()), 0)
	}
	owner, _ := os.ReadFile(filepath.Join(path, "owner.json"))
	e.Owner = string(owner[:min(len(owner), 200)])
	e.Abandoned = e.Age > l.o.LockStale
	return e
}

// pause waits, or ends early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the call ended before anything was written: %w", context.Cause(ctx))
	}
}
