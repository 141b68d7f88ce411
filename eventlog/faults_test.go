package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gaia/core"
)

// faultyDisk does what plan says to its Nth operation, and else what osDisk does.
type faultyDisk struct {
	osDisk
	mu   sync.Mutex
	ops  []string
	plan func(n int, op string) fault // n from 1
}

// A fault is what happens instead of an operation.
type fault struct {
	err   error
	short bool   // of an append, half is done before err
	do    func() // runs before the operation, or instead of it where err is set
	after func() // runs after the half of an append
}

func (d *faultyDisk) op(name string) fault {
	d.mu.Lock()
	d.ops = append(d.ops, name)
	n, plan := len(d.ops), d.plan
	d.mu.Unlock()
	if plan == nil {
		return fault{}
	}
	f := plan(n, name)
	if f.do != nil {
		f.do()
	}
	return f
}

// set changes the plan of a disk whose log may be tidying up.
func (d *faultyDisk) set(plan func(int, string) fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = plan
}

func (d *faultyDisk) MakeDir(p string) error {
	if f := d.op("MakeDir"); f.err != nil {
		return f.err
	}
	return d.osDisk.MakeDir(p)
}
func (d *faultyDisk) Mkdir(p string) error {
	if f := d.op("Mkdir"); f.err != nil {
		return f.err
	}
	return d.osDisk.Mkdir(p)
}
func (d *faultyDisk) Lstat(p string) (fs.FileInfo, error) {
	if f := d.op("Lstat"); f.err != nil {
		return nil, f.err
	}
	return d.osDisk.Lstat(p)
}
func (d *faultyDisk) Stat(p string) (fs.FileInfo, error) {
	if f := d.op("Stat"); f.err != nil {
		return nil, f.err
	}
	return d.osDisk.Stat(p)
}
func (d *faultyDisk) ReadHead(p string, n int) ([]byte, error) {
	if f := d.op("ReadHead"); f.err != nil {
		return nil, f.err
	}
	return d.osDisk.ReadHead(p, n)
}
func (d *faultyDisk) Write(p string, b []byte) error {
	if f := d.op("Write"); f.err != nil {
		if f.short {
			d.osDisk.Write(p, b[:len(b)/2])
		}
		return f.err
	}
	return d.osDisk.Write(p, b)
}
func (d *faultyDisk) Remove(p string) error {
	if f := d.op("Remove"); f.err != nil {
		return f.err
	}
	return d.osDisk.Remove(p)
}
func (d *faultyDisk) RenameFile(a, b string) error {
	if f := d.op("RenameFile"); f.err != nil {
		return f.err
	}
	return d.osDisk.RenameFile(a, b)
}
func (d *faultyDisk) RenameDir(a, b string) error {
	if f := d.op("RenameDir"); f.err != nil {
		return f.err
	}
	return d.osDisk.RenameDir(a, b)
}
func (d *faultyDisk) Names(p string) ([]string, error) {
	if f := d.op("Names"); f.err != nil {
		return nil, f.err
	}
	return d.osDisk.Names(p)
}
func (d *faultyDisk) SyncDir(p string) error {
	if f := d.op("SyncDir"); f.err != nil {
		return f.err
	}
	return d.osDisk.SyncDir(p)
}
func (d *faultyDisk) OpenLog(p string, write, create bool) (logFile, error) {
	if f := d.op("OpenLog"); f.err != nil {
		return nil, f.err
	}
	f, err := d.osDisk.OpenLog(p, write, create)
	if err != nil {
		return nil, err
	}
	return &faultyLog{f, d}, nil
}

type faultyLog struct {
	logFile
	d *faultyDisk
}

func (l *faultyLog) ReadAt(p []byte, off int64) (int, error) {
	if f := l.d.op("ReadAt"); f.err != nil {
		return 0, f.err
	}
	return l.logFile.ReadAt(p, off)
}
func (l *faultyLog) Append(p []byte, at int64) (int, error) {
	if f := l.d.op("Append"); f.err != nil {
		if f.short {
			n, _ := l.logFile.Append(p[:len(p)/2], at)
			if f.after != nil {
				f.after()
			}
			return n, f.err
		}
		return 0, f.err
	}
	return l.logFile.Append(p, at)
}
func (l *faultyLog) Truncate(size int64) error {
	if f := l.d.op("Truncate"); f.err != nil {
		return f.err
	}
	return l.logFile.Truncate(size)
}
func (l *faultyLog) Sync() error {
	if f := l.d.op("Sync"); f.err != nil {
		return f.err
	}
	return l.logFile.Sync()
}
func (l *faultyLog) Stat() (fs.FileInfo, error) {
	if f := l.d.op("FStat"); f.err != nil {
		return nil, f.err
	}
	return l.logFile.Stat()
}
func (l *faultyLog) ID() (string, error) {
	if f := l.d.op("ID"); f.err != nil {
		return "", f.err
	}
	return l.logFile.ID()
}
func (l *faultyLog) Lock(shared bool) error {
	if f := l.d.op("Lock"); f.err != nil {
		return f.err
	}
	return l.logFile.Lock(shared)
}
func (l *faultyLog) TryLock(shared bool) error {
	if f := l.d.op("TryLock"); f.err != nil {
		return f.err
	}
	return l.logFile.TryLock(shared)
}

func openFaulty(dir string, o Options, plan func(int, string) fault) (*Log, *faultyDisk) {
	l := Open(dir, o)
	d := &faultyDisk{plan: plan}
	l.disk = d
	return l, d
}

// prepared are the directories that a call may meet, each with the records
// its log has, and how many calls the process made just before.
var prepared = map[string]struct {
	records, calls int
	make           func(t *testing.T, dir string)
}{
	"no directory":         {0, 0, func(*testing.T, string) {}},
	"a busy process's log": {3, 3, func(*testing.T, string) {}},
	"an empty log": {0, 0, func(t *testing.T, dir string) {
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.WriteFile(filepath.Join(dir, logName), nil, 0o600))
	}},
	"a log": {3, 0, func(t *testing.T, dir string) { fill(t, dir, 3) }},
	"a log and a dead owner's lock": {3, 0, func(t *testing.T, dir string) {
		fill(t, dir, 3)
		abandon(t, dir)
	}},
	"a log and leftovers of another boot": {3, 0, func(t *testing.T, dir string) {
		fill(t, dir, 3)
		for _, tag := range []string{"0123456789abcdef", "0123456789abcde0"} {
			private := filepath.Join(dir, lockName+"."+tag)
			must(t, os.Mkdir(private, 0o700))
			must(t, os.WriteFile(filepath.Join(private, ownerName), []byte(`{"pid":1,"domain":"another"}`), 0o600))
		}
	}},
	"a log and a leftover of a lock": {3, 0, func(t *testing.T, dir string) {
		fill(t, dir, 3)
		abandon(t, dir)
		f, err := osDisk{}.OpenLog(filepath.Join(dir, logName), false, false)
		must(t, err)
		defer f.Close()
		_, tag, err := domainOf(f)
		must(t, err)
		lock := filepath.Join(dir, lockName)
		must(t, os.Rename(lock, lock+"."+tag))
	}},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fill(t *testing.T, dir string, n int) {
	t.Helper()
	l := Open(dir, Options{Adoption: true})
	for range n {
		must(t, numbered(l, "before"))
	}
	l.Close()
}

// abandon leaves events.lock as a process leaves it that dies in the lock.
func abandon(t *testing.T, dir string) {
	t.Helper()
	l := Open(dir, Options{Adoption: true})
	h, err := l.acquire(context.Background())
	must(t, err)
	must(t, h.log.Close())
}

// Failing the Nth file operation, for N = 1, 2, … until none fails: after
// each, the log's bytes are what they were, or those of the whole call where
// the call said so; and the next call, of this process and of another, works.
func TestAnyFailedFileOperationLeavesTheLogWholeAndTheNextCallWorks(t *testing.T) {
	kinds := map[string]func(op string) fault{
		"EIO":    func(string) fault { return fault{err: syscall.EIO} },
		"ENOSPC": func(string) fault { return fault{err: syscall.ENOSPC} },
		"EACCES": func(string) fault { return fault{err: fs.ErrPermission} },
		"short":  func(string) fault { return fault{err: syscall.ENOSPC, short: true} },
	}
	for where, p := range prepared {
		for kind, fail := range kinds {
			t.Run(where+"/"+kind, func(t *testing.T) {
				o := Options{Adoption: true, ReleaseRetries: 1, ReleaseRetryDelay: 1}
				for n := 1; ; n++ {
					dir := filepath.Join(t.TempDir(), "data")
					p.make(t, dir)
					l, d := openFaulty(dir, o, nil)
					for range p.calls {
						must(t, numbered(l, "before"))
					}
					l.idle.Stop() // the operations counted are the call's
					hit, from := "", len(d.ops)
					d.set(func(i int, op string) fault {
						if i == from+n {
							hit = op
							return fail(op)
						}
						return fault{}
					})
					err := numbered(l, "faulty")
					d.set(nil)
					if hit == "" {
						if n < 10 {
							t.Fatalf("only %d operations: %v", n, d.ops)
						}
						must(t, err)
						break
					}
					what := fmt.Sprintf("operation %d, %s, call gave %v", n, hit, err)
					by, bad := checkNumbered(dir)
					if errors.Is(bad, fs.ErrNotExist) {
						bad = nil
					}
					want := p.records
					if err == nil {
						want++
					}
					if bad != nil || len(by) != want {
						t.Fatalf("%s: %d records, want %d, %v", what, len(by), want, bad)
					}
					if broken, ok := errors.AsType[*IOError](err); ok && broken.OutcomeUnknown {
						t.Fatalf("%s: one fault made the outcome unknown", what)
					}
					for who, next := range map[string]*Log{"same": l, "other": Open(dir, o)} {
						if err := numbered(next, who); err != nil {
							t.Fatalf("%s: the next call, of the %s process: %v", what, who, err)
						}
						want++
						next.Close()
					}
					if by, bad := checkNumbered(dir); bad != nil || len(by) != want {
						t.Fatalf("%s: then %d records, want %d, %v", what, len(by), want, bad)
					}
					if left := listing(t, dir); len(left) != 1 {
						t.Fatalf("%s: left %v", what, left)
					}
				}
			})
		}
	}
}

// With everything failing from the Nth operation on, as a dying disk does, the
// bytes are never a lie: what the call didn't say is unknown isn't there.
func TestADyingDiskIsToldFromAFailedCall(t *testing.T) {
	for _, short := range []bool{false, true} {
		unknown := 0
		for n := 1; ; n++ {
			dir := filepath.Join(t.TempDir(), "data")
			fill(t, dir, 3)
			before, err := os.ReadFile(filepath.Join(dir, logName))
			must(t, err)
			l, d := openFaulty(dir, Options{Adoption: true, ReleaseRetries: -1}, nil)
			hit := false
			d.plan = func(i int, op string) fault {
				if i >= n {
					hit = true
					return fault{err: syscall.EIO, short: short}
				}
				return fault{}
			}
			err = numbered(l, "faulty")
			d.plan = nil
			if !hit {
				break
			}
			after, readErr := os.ReadFile(filepath.Join(dir, logName))
			must(t, readErr)
			broken, _ := errors.AsType[*IOError](err)
			switch {
			case err == nil: // the commit was safe, only the release failed
				if by, bad := checkNumbered(dir); bad != nil || len(by) != 4 {
					t.Fatalf("operation %d: %d records, %v", n, len(by), bad)
				}
			case broken != nil && broken.OutcomeUnknown:
				unknown++
				if !strings.HasPrefix(string(after), string(before)) {
					t.Fatalf("operation %d: earlier bytes changed", n)
				}
				again := numbered(l, "again")
				if broken, ok := errors.AsType[*IOError](again); !ok || broken.OutcomeUnknown {
					t.Fatalf("operation %d: the next call wrote, or didn't know that it didn't: %v", n, again)
				}
			default:
				if string(after) != string(before) {
					t.Fatalf("operation %d: %v, and yet bytes changed", n, err)
				}
			}
		}
		if unknown == 0 {
			t.Error("no outcome was unknown: the undo was never tried")
		}
	}
}

// The two ways in which a file operation's failure could be swallowed: by a
// test that fails none, and by one whose checker can't see it.
func TestTheFaultsReachTheOperationsThatMatter(t *testing.T) {
	l, d := openFaulty(filepath.Join(t.TempDir(), "data"), Options{Adoption: true}, nil)
	must(t, numbered(l, "x"))
	for _, op := range []string{"MakeDir", "OpenLog", "TryLock", "Stat", "FStat", "ID", "Names", "Mkdir", "Write", "RenameDir", "Append", "Sync", "SyncDir", "ReadHead", "Remove"} {
		if !slices.Contains(d.ops, op) {
			t.Errorf("%s was not called: %v", op, d.ops)
		}
	}
}

func TestAFailedReadIsAnIOErrorAndNotDamage(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 3)
	for n := 1; ; n++ {
		l, d := openFaulty(dir, Options{Adoption: true}, nil)
		hit := false
		d.plan = func(i int, op string) fault {
			if i >= n {
				hit = true
				return fault{err: syscall.EIO}
			}
			return fault{}
		}
		err := l.View(context.Background(), func(s *core.State) error {
			if s.Events() != 3 {
				t.Errorf("%d events", s.Events())
			}
			return nil
		})
		if !hit {
			must(t, err)
			break
		}
		if _, ok := errors.AsType[*IOError](err); !ok {
			t.Fatalf("operation %d: %v", n, err)
		}
	}
}

func TestAHookThatFailsAStepStopsTheCallThere(t *testing.T) {
	for _, step := range []Step{StepAcquire, StepRead, StepFold, StepDecide, StepAppend, StepSync, StepRelease} {
		dir := t.TempDir()
		fill(t, dir, 1)
		o := Options{Adoption: true, Hook: func(s Step) error {
			if s == step {
				return errors.New("failpoint")
			}
			return nil
		}}
		want := 1
		switch err := numbered(Open(dir, o), "x"); {
		case step == StepRelease:
			must(t, err)
			want++
		case err == nil:
			t.Errorf("%s: no error", step)
		}
		if by, err := checkNumbered(dir); err != nil || len(by) != want {
			t.Errorf("%s: %v %v", step, by, err)
		}
		must(t, numbered(Open(dir, Options{Adoption: true}), "next"))
	}
}
