package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"gaia/core"
)

// The names in a data directory.
const (
	logName   = "events.jsonl"
	lockName  = "events.lock"
	ownerName = "owner.json"
)

// A Log is one data directory's log. Its methods may be called at once from
// any goroutine, but not from a callback that one of them runs.
type Log struct {
	dir  string
	o    Options
	disk disk

	// queue lets one call at a time wait outside the process, in the order
	// of arrival.
	queue     *semaphore.Weighted
	turnstile turnstile
	swept     bool  // what others left under private names; guarded by queue
	adoptions int   // guarded by queue
	unsure    error // guarded by queue; set: an append's outcome is unknown

	released time.Time   // when the last call let go of the lock; guarded by queue
	kept     string      // the private name that it kept; guarded by queue
	idle     *time.Timer // runs tidy

	mu   sync.Mutex // guards fold
	fold fold
}

// Open touches nothing on disk.
func Open(dir string, o Options) *Log {
	l := &Log{dir: dir, o: o.withDefaults(), disk: osDisk{}, queue: semaphore.NewWeighted(1)}
	l.fold.path = l.Path()
	l.idle = time.AfterFunc(busyGap, l.tidy)
	l.idle.Stop() // until something is kept
	return l
}

// Close removes what a busy Log keeps between its commits. Where another has
// the kernel's lock it tries for 50 ms: a writer removes it or keeps it in its
// turn, but who only looks does not. This Log tries on while it lives, and can
// still be used.
func (l *Log) Close() {
	if l.queue.TryAcquire(1) {
		defer l.queue.Release(1)
		l.idle.Stop()
		for range 5 {
			if l.removeKept() {
				return
			}
			time.Sleep(busyGap / 5)
		}
		l.idle.Reset(busyGap)
	}
}

// Dir is the data directory.
func (l *Log) Dir() string { return l.dir }

// Path is the log's.
func (l *Log) Path() string { return filepath.Join(l.dir, logName) }

func (l *Log) lockPath() string { return filepath.Join(l.dir, lockName) }

func (l *Log) warn(format string, args ...any) {
	fmt.Fprintf(l.o.Stderr, "gaia: warning: "+format+"\n", args...)
}

// View catches up and reads; it creates nothing and, where the log is whole,
// waits for nobody. The state must not be kept or changed.
//
// What looks like damage to a reader without the lock may be an append in
// flight, so before View says so it reads again under the kernel's lock,
// shared, and waits, to the deadline, while events.lock exists and its owner
// isn't proven dead.
func (l *Log) View(ctx context.Context, read func(*core.State) error) error {
	if done, err := l.view(nil, false, read); done {
		return err
	}
	if err := l.queue.Acquire(ctx, 1); err != nil {
		return ended(ctx)
	}
	defer l.queue.Release(1)
	wait := l.deadline(ctx)
	defer wait.cancel()

	var before error // what the try before this one found with no lock about
	for {
		f, err := l.openShared(wait)
		if err != nil {
			return err
		}
		locked := l.writerMayLive(f)
		done, err := l.view(f, true, read)
		locked = locked || l.writerMayLive(f)
		if f != nil {
			f.Close()
		}
		switch {
		case done:
			return err
		case locked:
			before = nil
		case before != nil && before.Error() == err.Error():
			return err
		default:
			before = err
		}
		if err := wait.pause(l); err != nil {
			return err
		}
	}
}

// view catches up and reads, from f or, unlocked, from the log as it is
// found. It is done unless the log looked damaged.
func (l *Log) view(f logFile, locked bool, read func(*core.State) error) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !locked {
		opened, err := l.disk.OpenLog(l.Path(), false, false)
		if err == nil {
			defer opened.Close()
			f = opened
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if err := l.catchUp(f, false, meter{phases: Phases{}}); err != nil {
		_, broken := errors.AsType[*IOError](err)
		return locked && broken, err
	}
	return true, read(l.fold.state)
}

// openShared opens the log for reading with the kernel's lock on it, where
// there is such a lock; nil where there is no log.
func (l *Log) openShared(w *wait) (logFile, error) {
	var f logFile
	err := error(errors.ErrUnsupported)
	if l.o.Adoption {
		f, err = l.turnstile.pass(w.ctx, l.disk, l.Path(), true, false, nil)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		f, err = l.disk.OpenLog(l.Path(), false, false)
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case w.ctx.Err() != nil:
		return nil, w.over(l)
	}
	return nil, &IOError{Op: "open the log", Path: l.Path(), Err: err}
}

// writerMayLive tells whether events.lock exists and its owner isn't proven
// dead by the kernel's lock that f holds.
func (l *Log) writerMayLive(f logFile) bool {
	if _, err := l.disk.Lstat(l.lockPath()); err != nil {
		return false
	}
	if f == nil || !l.o.Adoption {
		return true
	}
	domain, _, err := domainOf(f)
	owner, _ := l.disk.ReadHead(filepath.Join(l.lockPath(), ownerName), maxOwner)
	return err != nil || domain == "" || parseOwner(owner).Domain != domain
}

// catchUp brings the fold to the log's end. f nil: there is no log. locked: no
// append is in flight.
func (l *Log) catchUp(f logFile, locked bool, m meter) error {
	if l.o.ReplayEachCall {
		l.fold.reset()
	}
	changed, err := l.fold.catchUp(f, locked, m)
	if changed {
		l.warn("the log %q is not what this process had read (replaced, cut or edited); read again from its start", l.Path())
	}
	return err
}

// readAhead catches up while this call is next and the lock's holder waits for
// its disk, so that little is left to read and fold in the lock. What it finds
// amiss, an append in flight above all, is for the call itself to find.
func (l *Log) readAhead(f logFile) {
	if l.o.ReplayEachCall {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fold.checked = l.catchUp(f, false, meter{phases: Phases{}}) == nil
}

// A wait is one call's waiting outside the process, all of it under one
// deadline.
type wait struct {
	ctx    context.Context
	cancel context.CancelFunc
	start  time.Time
	next   time.Duration
}

var errDeadline = errors.New("the lock's deadline passed")

func (l *Log) deadline(ctx context.Context) *wait {
	w := &wait{start: time.Now(), next: time.Millisecond}
	w.ctx, w.cancel = context.WithTimeoutCause(ctx, l.o.LockTimeout, errDeadline)
	return w
}

// pause sleeps a little, longer each time: what is waited for here has nobody
// who could wake us.
func (w *wait) pause(l *Log) error {
	t := time.NewTimer(w.next)
	defer t.Stop()
	w.next = min(2*w.next, 20*time.Millisecond)
	select {
	case <-t.C:
		return nil
	case <-w.ctx.Done():
		return w.over(l)
	}
}

// over is the error of a wait whose context is done.
func (w *wait) over(l *Log) error {
	if context.Cause(w.ctx) != errDeadline {
		return ended(w.ctx)
	}
	e := &LockTimeoutError{Path: l.lockPath(), Waited: time.Since(w.start)}
	if age, err := lockAge(l.disk, l.lockPath()); err == nil {
		e.Age, e.Abandoned = age, age > l.o.LockStale
	}
	owner, _ := l.disk.ReadHead(filepath.Join(l.lockPath(), ownerName), 200)
	e.Owner = string(owner)
	return e
}

// ended is the error of a call whose context was ended before it wrote.
func ended(ctx context.Context) error {
	return fmt.Errorf("the call was ended before it wrote anything: %w", context.Cause(ctx))
}
