package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// LockState is what doctor and unlock see in a data directory.
type LockState string

const (
	// LockFree: there is no events.lock.
	LockFree LockState = "free"
	// LockHeld: a process that takes the kernel's lock has it, and lives.
	LockHeld LockState = "held"
	// LockAbandoned: its owner is dead, as the kernel proves; the next call
	// adopts it, and Unlock may.
	LockAbandoned LockState = "abandoned"
	// LockEarlierBoot: its owner ran before this machine was started.
	// Nothing but a person removes it.
	LockEarlierBoot LockState = "earlier-boot"
	// LockForeign: made by mkdir alone, on another host, for another file, or
	// by a person. Its owner may live. Nothing but a person removes it.
	LockForeign LockState = "foreign"
)

// LockStatus is events.lock as it was found. PID, At, Domain and Owner are
// what its owner.json says: anybody may have written them.
type LockStatus struct {
	State LockState
	Path  string
	PID   int           // 0 where owner.json says none
	At    string        // when it was taken, as RFC 3339
	Age   time.Duration // since it was taken
	// Domain is the set of processes that the kernel's lock excludes, "" for
	// a lock made without it.
	Domain string
	// Owner is the start of owner.json's text, at most 200 bytes.
	Owner string
}

// InspectLock looks and changes nothing on disk. To tell held from abandoned
// it may take the kernel's lock, shared, for an instant.
func InspectLock(dir string) (LockStatus, error) {
	return inspect(osDisk{}, dir, nil)
}

// inspect looks at the lock; f, where there is one, holds the kernel's lock.
func inspect(d disk, dir string, f logFile) (LockStatus, error) {
	st := LockStatus{State: LockFree, Path: filepath.Join(dir, lockName)}
	age, err := lockAge(d, st.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	} else if err != nil {
		return st, &IOError{Op: "look at the lock", Path: st.Path, Err: err}
	}
	// A marker that was read while the next lock's was written over it, or of
	// which nothing was there yet, is another one a moment later.
	text, _ := d.ReadHead(filepath.Join(st.Path, ownerName), maxOwner)
	for range 3 {
		again, _ := d.ReadHead(filepath.Join(st.Path, ownerName), maxOwner)
		if bytes.Equal(again, text) {
			break
		}
		text = again
	}
	o := parseOwner(text)
	st.State, st.Age = LockForeign, age
	st.PID, st.At, st.Domain, st.Owner = o.PID, o.At, o.Domain, string(text[:min(len(text), 200)])
	if o.Domain == "" {
		return st, nil
	}
	proven := f != nil
	if !proven {
		if f, err = d.OpenLog(filepath.Join(dir, logName), false, false); err != nil {
			return st, nil // no log to compare with
		}
		defer f.Close()
	}
	domain, _, err := domainOf(f)
	if err != nil || domain == "" {
		return st, nil
	}
	if o.Domain != domain {
		boot, file, _ := strings.Cut(domain, " ")
		otherBoot, otherFile, _ := strings.Cut(o.Domain, " ")
		if name, network, err := Filesystem(dir); err == nil && name != "" && !network && file == otherFile && boot != otherBoot {
			st.State = LockEarlierBoot
		}
		return st, nil
	}
	st.State = LockHeld
	if !proven && f.TryLock(true) != nil {
		return st, nil
	}
	// Its owner had it when we looked and the kernel's lock is ours now, so
	// what is still there is left by the dead.
	again, err := d.ReadHead(filepath.Join(st.Path, ownerName), maxOwner)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return LockStatus{State: LockFree, Path: st.Path}, nil
	case err == nil && string(again) == string(text):
		st.State = LockAbandoned
	}
	return st, nil
}

// lockAge is how long ago the lock was taken. Where it has a marker that tells:
// a busy process makes lock after lock of one directory.
func lockAge(d disk, path string) (time.Duration, error) {
	fi, err := d.Lstat(path)
	if err != nil {
		return 0, err
	}
	if marker, err := d.Lstat(filepath.Join(path, ownerName)); err == nil {
		fi = marker
	}
	return max(time.Since(fi.ModTime()), 0), nil
}

// Unlock tells the lock's state and, with apply, adopts and releases one that
// is abandoned: released tells that it did. Any other lock it leaves alone.
func Unlock(ctx context.Context, dir string, o Options, apply bool) (st LockStatus, released bool, err error) {
	st, err = InspectLock(dir)
	if err != nil || !apply || st.State != LockAbandoned {
		return st, false, err
	}
	l := Open(dir, o)
	w := l.deadline(ctx)
	defer w.cancel()
	f, err := l.turnstile.pass(w.ctx, l.disk, l.Path(), false, false, nil)
	if w.ctx.Err() != nil {
		return st, false, w.over(l)
	} else if err != nil {
		return st, false, &IOError{Op: "open and lock the log", Path: l.Path(), Err: err}
	}
	h := &held{l: l, log: f}
	// Whoever came between the two looks may have adopted it already.
	if st, err = inspect(l.disk, dir, f); err != nil || st.State != LockAbandoned {
		f.Close()
		return st, false, err
	}
	if err := h.claim(w); err != nil {
		f.Close()
		return st, false, err
	}
	h.release()
	after, err := InspectLock(dir)
	if err == nil && after.State == LockAbandoned {
		err = &IOError{Op: "remove the lock", Path: st.Path, Err: fmt.Errorf("it is still there")}
	}
	return st, err == nil, err
}
