package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gaia/core"
)

// note is a record that any state folds; its reason carries the test's own
// count, so that a lost or repeated one shows in the bytes.
func note(reason string) core.Event {
	return &core.CommandRejected{Type: "command.rejected", At: "2026-09-15T23:52:42.764Z", Command: "merge", Reason: reason}
}

// numbered appends one record that says how many there were before it.
func numbered(l *Log, who string) error {
	_, err := l.Update(context.Background(), func(s *core.State) []core.Event {
		return []core.Event{note(fmt.Sprintf("n=%d by=%s", s.Events(), who))}
	})
	return err
}

// nothing is a call that writes nothing.
func nothing(l *Log, _ string) error {
	_, err := l.Update(context.Background(), func(*core.State) []core.Event { return nil })
	return err
}

// checkNumbered holds a log's bytes against what numbered writes: whole
// lines, each number once and in order. It gives each line's writer.
func checkNumbered(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return nil, errors.New("unfinished last line")
	}
	var by []string
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if len(data) == 0 {
			break
		}
		_, rest, ok := strings.Cut(string(line), fmt.Sprintf(`"reason":"n=%d by=`, i))
		if !ok {
			return nil, fmt.Errorf("line %d is not record %d: %s", i+1, i, line)
		}
		by = append(by, strings.TrimSuffix(rest, `"}`))
	}
	return by, nil
}

func TestTheNumberingCheckSeesLossRepeatAndTear(t *testing.T) {
	good := `{"reason":"n=0 by=a"}` + "\n" + `{"reason":"n=1 by=b"}` + "\n"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"whole":  {good, true},
		"empty":  {"", true},
		"loss":   {good[len(good)/2:], false},
		"repeat": {good + `{"reason":"n=1 by=b"}` + "\n", false},
		"tear":   {good[:len(good)-1], false},
		"blank":  {good + "\n", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, logName), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := checkNumbered(dir); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// short is options whose waits end soon, where the test is about the end.
func short(o Options) Options {
	o.LockTimeout = 50 * time.Millisecond
	return o
}

// modes runs a test with the kernel's lock and with the seed's alone.
func modes(t *testing.T, test func(*testing.T, Options)) {
	for name, o := range map[string]Options{"adoption": {Adoption: true}, "seed": {}} {
		t.Run(name, func(t *testing.T) { test(t, o) })
	}
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != dir {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

func TestNothingIsCreatedBeforeTheFirstWriteAndOnlyTheLogByIt(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := filepath.Join(t.TempDir(), "a", "data")
		l := Open(dir, o)
		if err := l.View(context.Background(), func(s *core.State) error {
			if s.Events() != 0 {
				t.Errorf("an absent log has %d events", s.Events())
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := l.Lines(context.Background(), func(Line) error { t.Error("a line"); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := InspectLock(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a read created %v", err)
		}
		if err := numbered(l, "x"); err != nil {
			t.Fatal(err)
		}
		if got := listing(t, dir); len(got) != 1 || got[0] != logName {
			t.Errorf("after one write the directory holds %v", got)
		}
		if runtime.GOOS != "windows" {
			for path, want := range map[string]fs.FileMode{dir: 0o700, l.Path(): 0o600} {
				if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
					t.Errorf("%s: mode %v, %v", path, fi.Mode(), err)
				}
			}
		}
	})
}

// Between the commits of a busy process the lock's directory keeps its private
// name: the process removes it when it has paused or is closed, unless another
// is in the lock just then, and one that dies leaves it to the next call.
func TestABusyLogTidiesUpWhenItRests(t *testing.T) {
	want := func(t *testing.T, dir, when string, n int) {
		t.Helper()
		if got := listing(t, dir); len(got) != n {
			t.Errorf("%s the directory holds %v", when, got)
		}
	}
	const kept = 3 // the log, the directory, its marker
	for name, rest := range map[string]func(*Log){
		"pause": func(*Log) { time.Sleep(2 * busyGap); synctest.Wait() },
		"close": (*Log).Close,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l := Open(dir, Options{Adoption: true})
				must(t, numbered(l, "a"))
				want(t, dir, "after one call", 1)
				must(t, numbered(l, "a"))
				want(t, dir, "between two calls", kept)
				h, err := Open(dir, Options{Adoption: true}).acquire(context.Background())
				must(t, err)
				rest(l) // the lock is in use, whatever its name was before
				if _, err := os.Lstat(filepath.Join(dir, lockName, ownerName)); err != nil {
					t.Errorf("the lock of another is no longer whole: %v", err)
				}
				h.release()
				must(t, numbered(l, "a"))
				must(t, numbered(l, "a"))
				want(t, dir, "between two calls", kept)
				rest(l)
				want(t, dir, "at rest", 1)
			})
			if by, err := checkNumbered(dir); err != nil || len(by) != 4 {
				t.Errorf("%d records, %v", len(by), err)
			}
		})
	}
}

func TestADecisionOfNothingWritesNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		if _, err := Open(dir, o).Update(context.Background(), func(*core.State) []core.Event { return nil }); err != nil {
			t.Fatal(err)
		}
		wantEmptyLog(t, dir)
	})
}

// wantEmptyLog: what a call made that got the lock and wrote nothing.
func wantEmptyLog(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, logName))
	if got := listing(t, dir); err != nil || len(data) > 0 || len(got) != 1 {
		t.Errorf("left %v, %d bytes, %v", got, len(data), err)
	}
}

// Of calls that begin at once where there is no log, some write and some don't:
// whoever made the file, what the others put in it stays.
func TestACallThatWritesNothingTakesNobodysRecords(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		for range 30 {
			dir := filepath.Join(t.TempDir(), "data")
			begin, done := make(chan bool), make(chan error, 8)
			for i := range cap(done) {
				l := Open(dir, o)
				go func() {
					<-begin
					if i%2 == 0 {
						done <- numbered(l, fmt.Sprint(i))
						return
					}
					_, err := l.Update(context.Background(), func(*core.State) []core.Event { return nil })
					done <- err
				}()
			}
			close(begin)
			for range cap(done) {
				must(t, <-done)
			}
			if by, err := checkNumbered(dir); err != nil || len(by) != cap(done)/2 {
				t.Fatalf("%v %v", by, err)
			}
		}
	})
}

// The same at its worst: another commits between this call's making of the
// file and its lock.
func TestALogMadeByOneAndFilledByAnotherStays(t *testing.T) {
	dir := t.TempDir()
	l, d := openFaulty(dir, Options{Adoption: true}, nil)
	d.plan = func(_ int, op string) fault {
		if op == "TryLock" {
			d.plan = nil
			return fault{do: func() { must(t, numbered(Open(dir, Options{Adoption: true}), "other")) }}
		}
		return fault{}
	}
	_, err := l.Update(context.Background(), func(*core.State) []core.Event { return nil })
	must(t, err)
	if by, err := checkNumbered(dir); err != nil || len(by) != 1 {
		t.Errorf("%v %v", by, err)
	}
}

func TestManyLogsAndGoroutinesNeverMintANumberTwice(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		var logs []*Log
		for i := range 4 {
			l := Open(dir, o)
			logs = append(logs, l)
			for j := range 2 {
				wg.Go(func() {
					for k := range 25 {
						if err := numbered(l, fmt.Sprintf("%d.%d.%d", i, j, k)); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		for _, l := range logs {
			l.Close()
		}
		by, err := checkNumbered(dir)
		if err != nil || len(by) != 200 {
			t.Errorf("%d records, %v", len(by), err)
		}
		if got := listing(t, dir); len(got) != 1 {
			t.Errorf("left %v", got)
		}
	})
}

func TestCallsOfOneLogRunInTheOrderTheyArrived(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := Open(dir, Options{Adoption: true})
		leave := make(chan bool)
		var order []int
		for i := range 10 {
			go l.Update(context.Background(), func(*core.State) []core.Event {
				if i == 0 {
					<-leave
				}
				order = append(order, i)
				return nil
			})
			synctest.Wait() // until it stands in the queue
		}
		close(leave)
		synctest.Wait()
		for i := range 10 {
			if len(order) != 10 || order[i] != i {
				t.Fatalf("ran in order %v", order)
			}
		}
	})
}

func TestAHandMadeLockIsWaitedForAndLeftUntouched(t *testing.T) {
	for name, owner := range map[string]string{
		"empty":         "",
		"a dead pid":    `{"pid":999999999,"at":"2026-01-01T00:00:00.000Z"}`,
		"not JSON":      "\x1b]0;gotcha\a",
		"another host":  `{"pid":1,"at":"2026-01-01T00:00:00.000Z","domain":"some-boot 1.2","nonce":"x"}`,
		"huge":          strings.Repeat("x", 1<<16),
		"a wrong shape": `{"pid":"one","domain":["a"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, o Options) {
				for _, logThere := range []bool{false, true} {
					dir := t.TempDir()
					if logThere {
						if err := numbered(Open(dir, o), "first"); err != nil {
							t.Fatal(err)
						}
					}
					lock := filepath.Join(dir, lockName)
					if err := os.Mkdir(lock, 0o700); err != nil {
						t.Fatal(err)
					}
					if owner != "" {
						if err := os.WriteFile(filepath.Join(lock, ownerName), []byte(owner), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					old := time.Now().Add(-time.Hour)
					if err := os.Chtimes(filepath.Join(lock, ownerName), old, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					if err := os.Chtimes(lock, old, old); err != nil {
						t.Fatal(err)
					}
					before := listing(t, dir)
					err := numbered(Open(dir, short(o)), "second")
					late, ok := errors.AsType[*LockTimeoutError](err)
					if !ok {
						t.Fatalf("want a timeout, got %v", err)
					}
					if !late.Abandoned || late.Age < 59*time.Minute || late.Waited < 50*time.Millisecond || late.Path != lock {
						t.Errorf("%+v", late)
					}
					if len(late.Owner) > 200 || !strings.HasPrefix(owner, late.Owner) || (owner != "" && late.Owner == "") {
						t.Errorf("owner %q", late.Owner)
					}
					if strings.ContainsAny(late.Error(), "\x1b\a\n") {
						t.Errorf("raw text in %q", late.Error())
					}
					if after := listing(t, dir); strings.Join(before, " ") != strings.Join(after, " ") {
						t.Errorf("before %v, after %v", before, after)
					}
					if st, err := InspectLock(dir); err != nil || st.State != LockForeign {
						t.Errorf("%+v %v", st, err)
					}
				}
			})
		})
	}
}

func TestALockThatGoesAwayLetsTheWaiterIn(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		lock := filepath.Join(dir, lockName)
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- numbered(Open(dir, o), "x") }()
		time.Sleep(20 * time.Millisecond) // let it meet the lock; if it hasn't, the promise still holds
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestDamageIsNamedByLineAndOffsetAndItsBytesStay(t *testing.T) {
	good := string(core.AppendEvent(nil, note("n=0 by=x"))) + "\n"
	for name, c := range map[string]struct {
		tail   string
		line   int
		offset int
		reason string
	}{
		"torn tail":         {good[:20], 2, len(good), "unfinished"},
		"whole, no newline": {good[:len(good)-1], 2, len(good), "unfinished"},
		"blank line":        {"\n" + good, 2, len(good), "blank"},
		"spaces":            {"  \n" + good, 2, len(good), "blank"},
		"bad line":          {good + "{oops}\n" + good, 3, 2 * len(good), ""},
		"NULs":              {"\x00\x00\x00\n", 2, len(good), "NUL"},
		"byte order mark":   {"\ufeff" + good, 2, len(good), "byte order mark"},
		"no type":           {"{\"at\":\"x\"}\n", 2, len(good), ""},
		"type of a number":  {"{\"type\":1}\n", 2, len(good), ""},
		"Type":              {"{\"Type\":\"x\"}\n", 2, len(good), ""},
		"an array":          {"[]\n", 2, len(good), ""},
		"two objects":       {"{\"type\":\"a\"}{\"type\":\"b\"}\n", 2, len(good), ""},
		"bad UTF-8":         {"{\"type\":\"a\xff\"}\n", 2, len(good), ""},
		"a name twice":      {"{\"type\":\"a\",\"type\":\"b\"}\n", 2, len(good), ""},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, o Options) {
				dir := t.TempDir()
				l := Open(dir, o)
				text := good + c.tail
				if err := os.WriteFile(l.Path(), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for what, err := range map[string]error{
					"Update": numbered(l, "y"),
					"View":   l.View(context.Background(), func(*core.State) error { return nil }),
					"Lines":  l.Lines(context.Background(), func(Line) error { t.Error("handed out a line"); return nil }),
				} {
					bad, ok := errors.AsType[*CorruptError](err)
					if !ok {
						t.Fatalf("%s: %v", what, err)
					}
					if bad.Line != c.line || bad.Offset != int64(c.offset) || !strings.Contains(bad.Reason, c.reason) {
						t.Errorf("%s: %+v", what, bad)
					}
					if strings.ContainsFunc(bad.Error(), func(r rune) bool { return r < ' ' }) {
						t.Errorf("raw text in %q", bad.Error())
					}
				}
				if got, _ := os.ReadFile(l.Path()); string(got) != text {
					t.Error("bytes changed")
				}
				if got := listing(t, dir); len(got) != 1 {
					t.Errorf("left %v", got)
				}
			})
		})
	}
}

func TestARecordOfAKnownTypeThatLacksAMemberIsUnreplayable(t *testing.T) {
	l := Open(t.TempDir(), Options{Adoption: true})
	good := string(core.AppendEvent(nil, note("n=0 by=x"))) + "\n"
	if err := os.WriteFile(l.Path(), []byte(good+`{"type":"actor.registered","at":"x"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad, ok := errors.AsType[*UnreplayableError](numbered(l, "y"))
	if !ok || bad.Line != 2 || bad.Offset != int64(len(good)) || !errors.Is(bad, core.ErrUnreplayable) {
		t.Errorf("%v %+v", ok, bad)
	}
}

func TestAnUnfinishedLineIsNoDamageWhileAWriterMayLive(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		l := Open(dir, o)
		whole := string(core.AppendEvent(nil, note("n=0 by=x"))) + "\n"
		if err := os.WriteFile(l.Path(), []byte(whole[:30]), 0o600); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(dir, lockName)
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			done <- l.View(context.Background(), func(s *core.State) error {
				if s.Events() != 1 {
					t.Errorf("%d events", s.Events())
				}
				return nil
			})
		}()
		time.Sleep(10 * time.Millisecond)
		if err := os.WriteFile(l.Path(), []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}

		// And where the lock stays, the reader doesn't know, and says so.
		if err := os.WriteFile(l.Path(), []byte(whole[:30]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
		err := Open(dir, short(o)).View(context.Background(), func(*core.State) error { return nil })
		if _, ok := errors.AsType[*LockTimeoutError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

func TestAContextThatEndsBeforeTheAppendWritesNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		l := Open(dir, o)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := l.Update(ctx, func(*core.State) []core.Event { return []core.Event{note("no")} })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// In the wait for a lock.
		if err := os.Mkdir(filepath.Join(dir, lockName), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err = l.Update(ctx, func(*core.State) []core.Event { return []core.Event{note("no")} }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
			t.Fatal(err)
		}
		// While deciding.
		ctx, cancel = context.WithCancel(context.Background())
		_, err = l.Update(ctx, func(*core.State) []core.Event { cancel(); return []core.Event{note("no")} })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantEmptyLog(t, dir)
		// From the append on it finishes.
		ctx, cancel = context.WithCancel(context.Background())
		o.Hook = func(s Step) error {
			if s == StepAppend {
				cancel()
			}
			return nil
		}
		if _, err := Open(dir, o).Update(ctx, func(*core.State) []core.Event { return []core.Event{note("n=0 by=x")} }); err != nil {
			t.Error(err)
		}
		if by, err := checkNumbered(dir); err != nil || len(by) != 1 {
			t.Error(by, err)
		}
	})
}

func TestAPanicInADecisionLeavesNoLock(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		l := Open(dir, o)
		func() {
			defer func() { recover() }()
			l.Update(context.Background(), func(*core.State) []core.Event { panic("decide") })
		}()
		if err := numbered(l, "x"); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if got := listing(t, dir); len(got) != 1 {
			t.Errorf("left %v", got)
		}
	})
}

func TestEveryStepIsAnnouncedInOrderAndTimed(t *testing.T) {
	var seen []Step
	o := Options{Adoption: true, Hook: func(s Step) error { seen = append(seen, s); return nil }}
	r, err := Open(t.TempDir(), o).Update(context.Background(), func(*core.State) []core.Event { return []core.Event{note("x")} })
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{StepAcquire, StepRead, StepFold, StepDecide, StepAppend, StepSync, StepRelease}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("steps %v", seen)
	}
	for _, s := range []Step{StepAcquire, StepRead, StepDecide, StepAppend, StepSync, StepRelease} {
		if r.Phases[s] <= 0 && runtime.GOOS != "windows" { // its clock is coarse
			t.Errorf("%s took %v", s, r.Phases[s])
		}
	}
}

func TestLinesAreTheBytesWithTheirPlaces(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, Options{Adoption: true})
	long := strings.Repeat("long ", 40_000) // longer than any buffer on the way
	for _, text := range []string{"a", long, "b"} {
		if _, err := l.Update(context.Background(), func(*core.State) []core.Event { return []core.Event{note(text), note("second")} }); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile(l.Path())
	var got []byte
	n := 0
	if err := Open(dir, Options{Adoption: true}).Lines(context.Background(), func(line Line) error {
		n++
		if line.Number != n || line.Offset != int64(len(got)) {
			t.Errorf("line %d at %d: %d %d", n, len(got), line.Number, line.Offset)
		}
		got = append(append(got, line.Bytes...), '\n')
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || n != 6 {
		t.Errorf("%d lines, %d bytes of %d", n, len(got), len(want))
	}
}
