package eventlog

import (
	"path/filepath"
	"testing"
	"time"

	"gaia/core"
)

// Who waits for a log that was replaced stands in nobody's way: not in that of
// its own next calls, and not in others'.
func TestAWaitOnAReplacedLogStopsNobodyOnTheNewOne(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	stuck, err := osDisk{}.OpenLog(filepath.Join(dir, logName), true, false)
	must(t, err)
	must(t, stuck.TryLock(false))
	defer stuck.Close()
	l := Open(dir, Options{Adoption: true, LockTimeout: 200 * time.Millisecond})
	defer l.Close()
	if numbered(l, "x") == nil {
		t.Fatal("it got the lock")
	}
	replaceAsIs(t, l)
	for range 3 {
		must(t, numbered(l, "x"))
	}
	must(t, numbered(Open(dir, Options{Adoption: true, LockTimeout: 200 * time.Millisecond}), "another process"))
}

// A wait that was given up leaves the gate, whatever its Log is at: here the
// fold is a slow reader's.
func TestAWaitThatWasGivenUpLeavesTheGateToOthers(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 2)
	l := Open(dir, Options{Adoption: true, LockTimeout: 150 * time.Millisecond})
	defer l.Close()
	holder, err := Open(dir, Options{Adoption: true}).acquire(t.Context())
	must(t, err)
	reads, leave, left := make(chan bool), make(chan bool), make(chan error)
	go func() {
		left <- l.View(t.Context(), func(*core.State) error { close(reads); <-leave; return nil })
	}()
	<-reads
	if numbered(l, "x") == nil {
		t.Error("it got the lock")
	}
	holder.release()
	for range 3 {
		must(t, numbered(Open(dir, Options{Adoption: true, LockTimeout: 300 * time.Millisecond}), "another process"))
	}
	close(leave)
	must(t, <-left)
	must(t, numbered(l, "x"))
}

// The wait that a call gave up is the next one's, with its place.
func TestAWaitThatWasGivenUpIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	holder, err := Open(dir, Options{Adoption: true}).acquire(t.Context())
	must(t, err)
	l := Open(dir, Options{Adoption: true, LockTimeout: 100 * time.Millisecond})
	defer l.Close()
	for range 3 {
		if numbered(l, "x") == nil {
			t.Fatal("it got the lock")
		}
		l.turnstile.mu.Lock()
		w := l.turnstile.waits[0]
		if w == nil || w.wanted || w.gate != nil {
			t.Errorf("%+v", w)
		}
		l.turnstile.mu.Unlock()
	}
	l.o.LockTimeout = 10 * time.Second
	time.AfterFunc(50*time.Millisecond, holder.release)
	must(t, numbered(l, "x"))
}
