package eventlog

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gaia/core"
)

// What a busy process keeps goes when it rests, whatever was in its way.
func TestNothingOfABusyLogIsLeftWhateverWasInItsWay(t *testing.T) {
	for name, disturb := range map[string]func(*testing.T, *Log, func()){
		"its private name can't be marked": func(t *testing.T, l *Log, busy func()) {
			l.disk = &unmarkable{}
			busy()
			l.Close()
		},
		"a reader has the kernel's lock": func(t *testing.T, l *Log, busy func()) {
			busy()
			f, err := osDisk{}.OpenLog(l.Path(), false, false)
			must(t, err)
			must(t, f.TryLock(true))
			l.Close()
			must(t, f.Close())
		},
		"the log can't be opened for a moment": func(t *testing.T, l *Log, busy func()) {
			d := &faultyDisk{}
			l.disk = d
			busy()
			d.set(func(int, string) fault { return fault{err: syscall.EMFILE} })
			l.Close()
			d.set(nil)
		},
		"nothing can be removed for a moment": func(t *testing.T, l *Log, busy func()) {
			d := &faultyDisk{}
			l.disk = d
			busy()
			d.set(func(_ int, op string) fault {
				if op == "Remove" {
					return fault{err: syscall.EBUSY}
				}
				return fault{}
			})
			l.Close()
			time.Sleep(2 * busyGap)
			d.set(nil)
		},
		"the log is replaced": func(t *testing.T, l *Log, busy func()) {
			busy()
			replaceAsIs(t, l)
			busy()
		},
		"the log is removed, and made again": func(t *testing.T, l *Log, busy func()) {
			busy()
			f, err := os.Open(l.Path()) // so that its inode isn't the next one's
			must(t, err)
			defer f.Close()
			must(t, os.Remove(l.Path()))
			l.Close()
			busy()
		},
		"others left theirs, and its first call gets no lock": func(t *testing.T, l *Log, busy func()) {
			must(t, numbered(Open(l.Dir(), Options{Adoption: true}), "x"))
			must(t, os.Mkdir(l.lockPath()+".0123456789abcdef", 0o700))
			f, err := osDisk{}.OpenLog(l.Path(), true, false)
			must(t, err)
			must(t, f.TryLock(false))
			l.o.LockTimeout = 50 * time.Millisecond
			if numbered(l, "x") == nil {
				t.Error("it got the lock")
			}
			must(t, f.Close())
			l.o.LockTimeout = 10 * time.Second
			busy()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := Open(dir, Options{Adoption: true})
			disturb(t, l, func() {
				for range 4 {
					must(t, numbered(l, "x"))
				}
			})
			var left []string
			for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(busyGap / 5) {
				if left = listing(t, dir); len(left) == 1 {
					return
				}
			}
			t.Errorf("left %v", left)
		})
	}
}

// replaceAsIs puts a copy of the log in its place.
func replaceAsIs(t *testing.T, l *Log) {
	t.Helper()
	text, err := os.ReadFile(l.Path())
	must(t, err)
	replace(func(b []byte) []byte { return b })(t, l.Path(), text)
}

// Close waits a moment for who only looks: the process may end right after.
func TestClosedWhileAReaderLooksNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, Options{Adoption: true})
	for range 3 {
		must(t, numbered(l, "x"))
	}
	f, err := osDisk{}.OpenLog(l.Path(), false, false)
	must(t, err)
	must(t, f.TryLock(true))
	time.AfterFunc(busyGap/2, func() { f.Close() })
	l.Close()
	l.idle.Stop() // as the process's end does
	if got := listing(t, dir); len(got) != 1 {
		t.Errorf("left %v", got)
	}
}

// A process that tidies up after a log that was replaced doesn't hold the lock
// that counts for the name that it kept: another may take it for its own lock at
// any moment, and half of it must never become one.
func TestTidyingUpNeverMakesALockWithoutItsMarker(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	kept, disk := openFaulty(dir, Options{Adoption: true}, nil)
	for range 2 {
		must(t, numbered(kept, "x"))
	}
	kept.idle.Stop() // this test decides when it tidies up
	if kept.kept == "" {
		t.Skip("the machine is too slow for calls to be close")
	}
	other, its := openFaulty(dir, Options{Adoption: true}, nil)
	other.swept = true
	tidied, proceed := make(chan bool), make(chan bool)
	its.set(func(_ int, op string) fault {
		if op != "RenameDir" {
			return fault{}
		}
		its.set(nil)
		return fault{do: func() { // its marker is written, and its rename comes now
			replaceAsIs(t, kept)
			removals := 0
			disk.set(func(_ int, op string) fault {
				if op == "Remove" {
					removals++
				}
				if removals == 2 { // the marker is gone, its directory isn't
					disk.set(nil)
					return fault{do: func() { tidied <- true; <-proceed }}
				}
				return fault{}
			})
			go func() {
				kept.tidy()
				close(tidied)
			}()
			<-tidied
		}}
	})
	h, err := other.acquire(t.Context())
	close(proceed)
	for range tidied { // until it is done
	}
	if err == nil { // it may as well find its directory gone
		h.release()
	}
	if st, err := InspectLock(dir); err != nil || st.State != LockFree {
		t.Errorf("a lock without its marker is left: %+v %v", st, err)
	}
	must(t, numbered(Open(dir, short(Options{Adoption: true})), "next"))
}

// unmarkable is a disk on which the first marker's name can't be written.
type unmarkable struct {
	osDisk
	first string
}

func (d *unmarkable) Write(path string, data []byte) error {
	if d.first == "" {
		d.first = path
	}
	if path == d.first {
		return fs.ErrPermission
	}
	return d.osDisk.Write(path, data)
}

// A first call sweeps what others left under private names. One of them that
// lives, on another host say, may take its own for the lock at any moment: it
// gets it whole, or not at all.
// However long it has used one directory for it.
func TestABusyLogsLockIsAsOldAsItsCommit(t *testing.T) {
	dir := t.TempDir()
	var found LockStatus
	l := Open(dir, Options{Adoption: true, LockTimeout: 10 * time.Second, Hook: func(s Step) error {
		var err error
		if s == StepDecide {
			found, err = InspectLock(dir)
		}
		return err
	}})
	defer l.Close()
	made := time.Now() // when its directory was
	for range 500 {    // a machine too slow for calls to be close shows nothing
		if time.Since(made) > 20*busyGap {
			break
		}
		if _, err := l.Update(t.Context(), func(*core.State) []core.Event { return nil }); err != nil {
			t.Fatal(err)
		}
		if found.State != LockHeld {
			t.Fatalf("%+v", found)
		}
		if l.kept == "" {
			made = time.Now()
		}
		time.Sleep(busyGap / 5)
	}
	if found.Age > 10*busyGap {
		t.Errorf("%v after %v of calls", found.Age, time.Since(made))
	}
}

func TestASweepNeverMakesALockWithoutItsMarker(t *testing.T) {
	for _, at := range []string{"RenameDir", "Remove"} {
		for nth := 1; nth <= 3; nth++ {
			dir := t.TempDir()
			fill(t, dir, 1)
			private := filepath.Join(dir, lockName+".0123456789abcdef")
			must(t, os.Mkdir(private, 0o700))
			must(t, os.WriteFile(filepath.Join(private, ownerName), []byte(`{"pid":1,"domain":"another"}`), 0o600))
			l, d := openFaulty(dir, Options{Adoption: true, LockTimeout: 20 * time.Millisecond}, nil)
			left := nth
			d.plan = func(_ int, op string) fault {
				if op == at {
					if left--; left == 0 {
						return fault{do: func() { os.Rename(private, filepath.Join(dir, lockName)) }}
					}
				}
				return fault{}
			}
			_ = numbered(l, "x") // may find the lock taken
			lock := filepath.Join(dir, lockName)
			if _, err := os.Lstat(lock); err == nil {
				if _, err := os.Lstat(filepath.Join(lock, ownerName)); err != nil {
					t.Errorf("%s %d: a lock without a marker: %v", at, nth, err)
				}
			}
		}
	}
}

// A lock taken on a full disk has no marker, or half of one. Its owner lives,
// and gives it back.
func TestALockTakenOnAFullDiskIsGivenBack(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		for _, short := range []bool{false, true} {
			dir := t.TempDir()
			fill(t, dir, 1)
			o.LockTimeout, o.ReleaseRetries = 500*time.Millisecond, -1
			l, d := openFaulty(dir, o, nil)
			d.plan = func(_ int, op string) fault {
				if op == "Write" || op == "Append" {
					return fault{err: syscall.ENOSPC, short: short}
				}
				return fault{}
			}
			if numbered(l, "full") == nil {
				t.Error("a call on a full disk succeeded")
			}
			d.plan = nil
			must(t, numbered(l, "next"))
			if by, err := checkNumbered(dir); err != nil || len(by) != 2 {
				t.Errorf("%v %v", by, err)
			}
		}
	})
}
