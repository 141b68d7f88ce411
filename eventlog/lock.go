package eventlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// maxOwner bounds what is read of an owner.json.
const maxOwner = 4 << 10

// owner is owner.json. Only Domain is ever acted on; the rest is for people.
type owner struct {
	PID    int    `json:"pid"`
	At     string `json:"at"`
	Domain string `json:"domain,omitzero"`
	Nonce  string `json:"nonce,omitzero"`
}

// parseOwner is the zero owner where the text isn't one.
func parseOwner(text []byte) owner {
	var o owner
	if json.Unmarshal(text, &o) != nil {
		return owner{}
	}
	return o
}

// newOwner is the text of this process's owner.json.
func newOwner(domain string) ([]byte, error) {
	o := owner{PID: os.Getpid(), At: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Domain: domain}
	if domain != "" {
		o.Nonce = rand.Text()
	}
	return json.Marshal(o)
}

// domainOf is the set of processes that the kernel's lock on f excludes: this
// boot of this machine, and this file. "" where the boot has no name. tag is
// short and fit for a file name.
func domainOf(f logFile) (domain, tag string, err error) {
	id, err := f.ID()
	if err != nil {
		return "", "", err
	}
	if boot, err := boot(); err == nil && boot != "" {
		domain = boot + " " + id
	}
	h := fnv.New64a()
	h.Write([]byte(domain + id))
	return domain, hex.EncodeToString(h.Sum(nil)), nil
}

var boot = sync.OnceValues(bootID)

// held is the lock in this process's hands.
type held struct {
	l       *Log
	log     logFile // open; holds the kernel's lock where there is one
	adopted bool
	marker  []byte // owner.json as this process wrote it
	private string // the lock's name before and after it is the lock; "": it has none
	busy    bool   // calls follow each other closely: the private name is kept
}

// acquire takes both locks, or explains why not.
func (l *Log) acquire(ctx context.Context) (*held, error) {
	w := l.deadline(ctx)
	defer w.cancel()
	if !l.o.Adoption {
		return l.acquireSeed(w)
	}
	f, err := l.enter(w)
	if errors.Is(err, errors.ErrUnsupported) {
		// No kernel lock on this filesystem: nothing can be proven here.
		return l.acquireSeed(w)
	}
	if err != nil {
		return nil, err
	}
	h := &held{l: l, log: f, busy: time.Since(l.released) < busyGap}
	if err := h.claim(w); err != nil {
		f.Close()
		return nil, err
	}
	if h.adopted {
		l.adoptions++
	}
	return h, nil
}

// enter passes the turnstile. Where there is no log but a lock, whoever has
// the lock is about to make it: wait, and create nothing.
func (l *Log) enter(w *wait) (logFile, error) {
	for {
		f, err := l.turnstile.pass(w.ctx, l.disk, l.Path(), false, false, l.readAhead)
		if errors.Is(err, fs.ErrNotExist) {
			if _, lockErr := l.disk.Lstat(l.lockPath()); lockErr == nil {
				if err := w.pause(l); err != nil {
					return nil, err
				}
				continue
			}
			if err := l.disk.MakeDir(l.dir); err != nil {
				return nil, &IOError{Op: "make the data directory", Path: l.dir, Err: err}
			}
			f, err = l.turnstile.pass(w.ctx, l.disk, l.Path(), false, true, l.readAhead)
		}
		switch {
		case err == nil, errors.Is(err, errors.ErrUnsupported):
			return f, err
		case w.ctx.Err() != nil:
			return nil, w.over(l)
		case errors.Is(err, fs.ErrNotExist):
			return nil, &IOError{Op: "make the log", Path: l.Path(), Err: err}
		}
		return nil, &IOError{Op: "open and lock the log", Path: l.Path(), Err: err}
	}
}

// claim makes events.lock, or adopts it. The kernel's lock is held.
func (h *held) claim(w *wait) error {
	l := h.l
	domain, tag, err := domainOf(h.log)
	if err != nil {
		return &IOError{Op: "identify the log", Path: l.Path(), Err: err}
	}
	if h.marker, err = newOwner(domain); err != nil {
		return &IOError{Op: "describe the lock's owner for", Path: l.lockPath(), Err: err}
	}
	if err := h.prepare(tag); err != nil {
		return err
	}
	for {
		got, busy, err := h.tryClaim(domain)
		if got {
			return nil
		}
		if err == nil {
			err = l.denied(w.pause(l), busy)
		}
		if err != nil {
			l.sweep(h.private)
			return err
		}
	}
}

// denied tells an ACL that forbids from a lock that is held, which Windows
// answers alike: at the deadline there is no lock to be seen.
func (l *Log) denied(timeout, busy error) error {
	if _, late := errors.AsType[*LockTimeoutError](timeout); late && contended(busy) {
		if _, err := l.disk.Lstat(l.lockPath()); errors.Is(err, fs.ErrNotExist) {
			return &IOError{Op: "make the lock", Path: l.lockPath(), Err: fmt.Errorf("%w: the folder's permissions forbid it", busy)}
		}
	}
	return timeout
}

// prepare makes the lock under a private name, its marker in it, or marks the
// one that a busy process kept there. The name is the domain's, so that what a
// process leaves that dies between here and there is the next one's.
func (h *held) prepare(tag string) error {
	l := h.l
	if !l.swept {
		l.swept = true
		l.sweepOthers()
	}
	h.private = l.lockPath() + "." + tag
	err := l.mark(h.private, h.marker)
	if err != nil {
		// Something is in the way there: do without.
		h.private, h.busy = l.freshName(), false
		if err = l.mark(h.private, h.marker); err != nil {
			return &IOError{Op: "prepare the lock", Path: h.private, Err: err}
		}
	}
	return nil
}

// freshName is a private name that nobody has.
func (l *Log) freshName() string {
	var tag [8]byte
	rand.Read(tag[:])
	return l.lockPath() + "." + hex.EncodeToString(tag[:])
}

// mark puts the marker into the directory and makes that where there is none.
func (l *Log) mark(dir string, marker []byte) error {
	path := filepath.Join(dir, ownerName)
	err := l.disk.Write(path, marker)
	if errors.Is(err, fs.ErrNotExist) {
		if err = l.disk.Mkdir(dir); err == nil {
			err = l.disk.Write(path, marker)
		}
	}
	if err != nil {
		l.sweep(dir)
	}
	return err
}

// tryClaim is one try. Neither got nor an error: somebody has the lock, and
// busy is what the system said of it.
func (h *held) tryClaim(domain string) (got bool, busy, err error) {
	l := h.l
	lockOwner := filepath.Join(l.lockPath(), ownerName)
	ownerFile := filepath.Join(h.private, ownerName)
	err = l.disk.RenameDir(h.private, l.lockPath())
	if errors.Is(err, errors.ErrUnsupported) {
		// Two steps then: a death between them leaves a lock without a
		// marker, which stops the bus as the seed's would.
		if err = l.disk.Mkdir(l.lockPath()); err == nil {
			if err = l.disk.RenameFile(ownerFile, lockOwner); err != nil {
				l.disk.Remove(l.lockPath())
			} else {
				l.disk.Remove(h.private)
			}
		}
	}
	switch {
	case err == nil:
		return true, nil, nil
	case errors.Is(err, fs.ErrExist), contended(err):
		busy = err
	default:
		return false, nil, &IOError{Op: "make the lock", Path: l.lockPath(), Err: err}
	}

	text, err := l.disk.ReadHead(lockOwner, maxOwner)
	if err != nil || domain == "" {
		return false, busy, nil
	}
	dead := parseOwner(text)
	if dead.Domain != domain {
		return false, busy, nil
	}
	// The marker is of a process that took the kernel's lock on this very
	// file. We hold that lock, so its owner is gone.
	if err := l.disk.RenameFile(ownerFile, lockOwner); err != nil {
		return false, nil, &IOError{Op: "adopt the lock", Path: l.lockPath(), Err: err}
	}
	l.disk.Remove(h.private)
	h.adopted = true
	l.warn("adopted the log's lock from process %d, which died holding it (adoption %d of this process)", dead.PID, l.adoptions+1)
	return true, nil, nil
}

// acquireSeed is mkdir, retried to the deadline.
func (l *Log) acquireSeed(w *wait) (*held, error) {
	if err := l.disk.MakeDir(l.dir); err != nil {
		return nil, &IOError{Op: "make the data directory", Path: l.dir, Err: err}
	}
	for {
		err := l.disk.Mkdir(l.lockPath())
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) && !contended(err) {
			return nil, &IOError{Op: "make the lock", Path: l.lockPath(), Err: err}
		}
		if err := l.denied(w.pause(l), err); err != nil {
			return nil, err
		}
	}
	h := &held{l: l}
	h.marker, _ = newOwner("")
	// Diagnostic only, so its failure is no reason to refuse the call; but what
	// is there then doesn't tell whose the lock is.
	if l.disk.Write(filepath.Join(l.lockPath(), ownerName), h.marker) != nil {
		h.marker = nil
	}
	var err error
	if h.log, err = l.disk.OpenLog(l.Path(), true, true); err != nil {
		h.release()
		return nil, &IOError{Op: "open the log", Path: l.Path(), Err: err}
	}
	return h, nil
}

// release gives both locks back. It never fails the call, whose events are
// safe; what it leaves behind it says.
func (h *held) release() {
	l := h.l
	if h.log != nil {
		defer func() {
			h.log.Close() // last: it drops the kernel's lock
			l.released = time.Now()
		}()
	}
	text, err := l.disk.ReadHead(filepath.Join(l.lockPath(), ownerName), maxOwner)
	if err == nil && h.marker != nil && !bytes.Equal(text, h.marker) || errors.Is(err, fs.ErrNotExist) && h.private != "" {
		l.warn("the lock %q is no longer the one that this process took; it is left alone", l.lockPath())
		return
	}
	if err := l.retry(h.remove); err != nil {
		l.warn("the lock %q could not be removed: %v; other processes will wait for it, see `gaia doctor`", l.lockPath(), err)
	}
}

// remove takes the lock away in one step where it can, and then apart.
func (h *held) remove() error {
	l := h.l
	if h.private == "" {
		l.disk.Remove(filepath.Join(l.lockPath(), ownerName))
		return missingIsFine(l.disk.Remove(l.lockPath()))
	}
	err := l.disk.RenameDir(l.lockPath(), h.private)
	if errors.Is(err, errors.ErrUnsupported) {
		err = l.disk.RenameFile(l.lockPath(), h.private)
	}
	if missingIsFine(err) != nil {
		return err
	}
	if h.busy {
		l.keep(h.private)
		return nil
	}
	if err := l.retry(func() error { return l.sweep(h.private) }); err != nil {
		l.warn("%q, left from a lock that is released, could not be removed: %v; the next call will", h.private, err)
	}
	return nil
}

// retry is for what a virus scanner or an indexer keeps busy for a moment.
func (l *Log) retry(do func() error) error {
	err := do()
	for range max(l.o.ReleaseRetries, 0) {
		if err == nil {
			return nil
		}
		time.Sleep(l.o.ReleaseRetryDelay)
		err = do()
	}
	return err
}

// busyGap is within what time of its last call a process takes the bus to be
// busy. It then keeps the lock's directory under its private name, instead of
// making and removing one a commit: that was half of all that a commit takes
// beside its fsync.
const busyGap = 50 * time.Millisecond

// keep leaves the private name to the next call, and to tidy when none comes.
func (l *Log) keep(private string) {
	if l.kept != "" && l.kept != private {
		l.discard(l.kept) // of a log that was replaced
	}
	l.kept = private
	l.idle.Reset(busyGap)
}

// tidy removes what keep left, if nobody needs it now.
func (l *Log) tidy() {
	if l.queue.TryAcquire(1) {
		defer l.queue.Release(1)
		if l.removeKept() {
			return
		}
	}
	l.idle.Reset(busyGap)
}

// removeKept is false while another process has the kernel's lock: what it
// leaves may be this very name.
func (l *Log) removeKept() bool {
	if l.kept == "" {
		return true
	}
	f, err := l.disk.OpenLog(l.Path(), true, false)
	if errors.Is(err, fs.ErrNotExist) {
		// The name is of a log that is gone, and no lock says whose it is now.
		l.kept, l.swept = "", false // the next log's first call sweeps
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	if f.TryLock(false) != nil {
		return false
	}
	l.kept = l.discard(l.kept)
	return l.kept == ""
}

// discard removes a lock under a private name that another process may take
// for its own, where the log was replaced: it is moved away first, for half of
// it must never become a lock. What it couldn't remove it returns the name of.
func (l *Log) discard(private string) (left string) {
	away := l.freshName()
	err := l.disk.RenameDir(private, away)
	if errors.Is(err, errors.ErrUnsupported) {
		err = l.disk.RenameFile(private, away)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return private
	case l.sweep(away) != nil:
		return away
	}
	return ""
}

// sweep removes a lock under its private name.
func (l *Log) sweep(private string) error {
	err := missingIsFine(l.disk.Remove(filepath.Join(private, ownerName)))
	return errors.Join(err, missingIsFine(l.disk.Remove(private)))
}

// sweepOthers removes what processes of another boot, or on a log that was
// replaced since, left under their private names. One that lives and finds
// its own gone fails its call, and its next is right.
func (l *Log) sweepOthers() {
	all, err := l.disk.Names(l.dir)
	if err != nil {
		return
	}
	for _, name := range all {
		tag, ok := strings.CutPrefix(name, lockName+".")
		if raw, err := hex.DecodeString(tag); ok && err == nil && len(raw) == 8 {
			l.discard(filepath.Join(l.dir, name))
		}
	}
}

func missingIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
