package eventlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// turnstile is this process's place at the kernel's lock. A wait for it can't
// be broken off, so one that a call gives up is left standing, without the
// gate, for the next call to take over; if it succeeds while nobody wants it,
// the lock is dropped at once. A stopped holder thus costs a process one
// blocked thread a kind and file, however many of its calls time out.
type turnstile struct {
	mu    sync.Mutex
	waits [2]*kernelWait // exclusive, shared
}

type kernelWait struct {
	file   logFile
	wanted bool
	gate   io.Closer  // in hand; nil: not, or not any more
	done   chan error // gets one value when the wait ends
}

// pass gives the open log with the kernel's lock on it. The path names that
// very file. fs.ErrNotExist where there is no log and create is false;
// errors.ErrUnsupported where the filesystem has no such lock. ahead, if not
// nil, is given the file when the wait is about to end, and runs in the wait.
func (t *turnstile) pass(ctx context.Context, d disk, path string, shared, create bool, ahead func(logFile)) (logFile, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := t.lock(ctx, d, path, shared, create, ahead)
		if err != nil {
			return nil, err
		}
		same, err := names(d, path, f)
		if same {
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// Somebody replaced the log while we waited: the lock that counts
		// is the one on the file that others will open.
	}
}

// names tells whether path still names the open file.
func names(d disk, path string, f logFile) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	// Not Lstat: a log that is a symbolic link is followed by open, too.
	there, err := d.Stat(path)
	if err != nil {
		return false, err
	}
	return os.SameFile(mine, there), nil
}

// lock is pass for whatever file the path names now.
func (t *turnstile) lock(ctx context.Context, d disk, path string, shared, create bool, ahead func(logFile)) (logFile, error) {
	kind := 0
	if shared {
		kind = 1
	}
	w := t.standing(d, path, kind)
	if w == nil {
		f, err := d.OpenLog(path, !shared, create)
		if err != nil {
			return nil, err
		}
		err = f.TryLock(shared)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errBusy) {
			f.Close()
			return nil, err
		}
		w = &kernelWait{file: f, wanted: true, done: make(chan error, 1)}
		t.mu.Lock()
		t.waits[kind] = w
		t.mu.Unlock()
		go t.wait(w, kind, ahead)
	}
	select {
	case err := <-w.done:
		if err != nil {
			return nil, err
		}
		return w.file, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case err := <-w.done: // it came in the same instant: drop it
		if err == nil {
			w.file.Close()
		}
	default:
		w.giveUp()
	}
	return nil, context.Cause(ctx)
}

// standing is a wait that a call gave up, wanted again; nil where there is
// none, or none for the file that the path names: it is left to itself then.
func (t *turnstile) standing(d disk, path string, kind int) *kernelWait {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.waits[kind]
	if w == nil {
		return nil
	}
	if same, err := names(d, path, w.file); err != nil || !same {
		t.waits[kind] = nil
		return nil
	}
	w.wanted = true
	return w
}

// wait is the wait itself.
func (t *turnstile) wait(w *kernelWait, kind int, ahead func(logFile)) {
	gate := w.file.Gate()
	t.mu.Lock()
	w.gate = gate
	if !w.wanted {
		w.giveUp()
	}
	wanted := w.wanted
	t.mu.Unlock()
	if wanted && ahead != nil {
		ahead(w.file)
	}
	err := w.file.Lock(kind == 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits[kind] == w {
		t.waits[kind] = nil
	}
	wanted = w.wanted
	w.giveUp() // of the gate, it has no more use
	if err != nil || !wanted {
		w.file.Close()
	}
	w.done <- err
}

// giveUp leaves the gate to others. The turnstile's mu is held.
func (w *kernelWait) giveUp() {
	w.wanted = false
	if w.gate != nil {
		w.gate.Close()
		w.gate = nil
	}
}
