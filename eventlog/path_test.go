package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"gaia/core"
)

// vectorCommands are the commands of core's vectors, one slice a vector.
func vectorCommands(t *testing.T) map[string][]core.Command {
	files, err := filepath.Glob("../core/testdata/vectors/*.jsonl")
	must(t, err)
	all := map[string][]core.Command{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		must(t, err)
		for line := range bytes.Lines(data) {
			var v struct {
				Name  string `json:"name"`
				Steps []struct {
					Command map[string]jsontext.Value `json:"command"`
				} `json:"steps"`
			}
			lax := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
			must(t, json.Unmarshal(line, &v, lax))
			for _, step := range v.Steps {
				c := core.Command{Verb: core.UnknownVerb}
				for name, to := range map[string]*string{"type": &c.Verb, "at": &c.At} {
					if step.Command[name].Kind() == '"' {
						must(t, json.Unmarshal(step.Command[name], to, lax))
					}
					delete(step.Command, name)
				}
				c.Args, err = json.Marshal(step.Command, lax, json.Deterministic(true))
				must(t, err)
				all[v.Name] = append(all[v.Name], c)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("%d vectors", len(all))
	}
	return all
}

// do commits one command.
func do(l *Log, c core.Command) error {
	_, err := l.Update(context.Background(), func(s *core.State) []core.Event { return core.Decide(s, c).Events })
	return err
}

// seen is all that a reader of the log is shown.
func seen(l *Log) (text string, err error) {
	err = l.View(context.Background(), func(s *core.State) error {
		b, err := json.Marshal([]any{s.Snapshot(), s.Integrity(), s.Correlation()}, json.Deterministic(true))
		text = string(b)
		return err
	})
	return text, err
}

// samePaths commits the commands on three directories: by a log that reads
// what is new, by one that reads all in every call, and by two that read what
// is new and take turns. Bytes and state are the same.
func samePaths(t interface{ Fatalf(string, ...any) }, dir string, commands []core.Command) {
	var bytesOf, stateOf [3]string
	for i, logs := range [][]*Log{
		{Open(filepath.Join(dir, "tail"), Options{Adoption: true})},
		{Open(filepath.Join(dir, "replay"), Options{Adoption: true, ReplayEachCall: true})},
		{Open(filepath.Join(dir, "turns"), Options{Adoption: true}), Open(filepath.Join(dir, "turns"), Options{Adoption: true})},
	} {
		for n, c := range commands {
			if err := do(logs[n%len(logs)], c); err != nil {
				t.Fatalf("command %d, %s: %v", n+1, c.Args, err)
			}
		}
		data, err := os.ReadFile(logs[0].Path())
		if err != nil && !(len(commands) == 0 && os.IsNotExist(err)) {
			t.Fatalf("%v", err)
		}
		bytesOf[i] = string(data)
		for _, l := range logs {
			state, err := seen(l)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if stateOf[i] != "" && state != stateOf[i] {
				t.Fatalf("two logs of one directory show\n%s\n%s", stateOf[i], state)
			}
			stateOf[i] = state
		}
	}
	for i, how := range []string{"", "in every call", "by turns"} {
		if bytesOf[i] != bytesOf[0] {
			t.Fatalf("read %s, the log is\n%s\nand else\n%s", how, bytesOf[i], bytesOf[0])
		}
		if stateOf[i] != stateOf[0] {
			t.Fatalf("read %s, the state is\n%s\nand else\n%s", how, stateOf[i], stateOf[0])
		}
	}
}

func TestTailAndReplayGiveTheSameBytesAndStateOnEveryVector(t *testing.T) {
	for name, commands := range vectorCommands(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			samePaths(t, t.TempDir(), commands)
		})
	}
}

// A random log is commands of all vectors, in any order.
func TestTailAndReplayGiveTheSameBytesAndStateOnRandomLogs(t *testing.T) {
	var pool []core.Command
	for _, commands := range vectorCommands(t) {
		pool = append(pool, commands...)
	}
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		var commands []core.Command
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(pool)-1), 0, 12).Draw(t, "commands") {
			commands = append(commands, pool[i])
		}
		samePaths(t, filepath.Join(dir, fmt.Sprint(n)), commands)
	})
}

// What somebody outside the protocol does to a log under a live process is
// noticed by its next call, or, far from the end, within size / 64 KiB calls:
// it then knows what a fresh process knows, and says so.
func TestAChangedLogIsNoticed(t *testing.T) {
	const records = 900 // several blocks of 64 KiB
	edit := func(at func(size int) int) func([]byte) []byte {
		return func(data []byte) []byte {
			i := at(len(data))
			i += bytes.Index(data[i:], []byte("by=")) + len("by=")
			data[i] ^= 1
			return data
		}
	}
	for name, c := range map[string]struct {
		change  func([]byte) []byte // of the bytes, in place; nil: see path
		path    func(t *testing.T, path string, data []byte)
		calls   int // within how many it is noticed
		noticed bool
	}{
		"nothing":             {change: func(b []byte) []byte { return b }, calls: 20},
		"a record of another": {change: func(b []byte) []byte { return append(b, b[:bytes.IndexByte(b, '\n')+1]...) }, calls: 20},
		"the last record cut off": {change: func(b []byte) []byte {
			return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		}, calls: 1, noticed: true},
		"emptied":                        {change: func([]byte) []byte { return nil }, calls: 1, noticed: true},
		"an edit near the end":           {change: edit(func(size int) int { return size - 500 }), calls: 1, noticed: true},
		"an edit at the start":           {change: edit(func(int) int { return 0 }), calls: 8, noticed: true},
		"an edit in the middle":          {change: edit(func(size int) int { return size / 2 }), calls: 8, noticed: true},
		"an edit after the last block":   {change: edit(func(size int) int { return size - 5000 }), calls: 8, noticed: true},
		"a longer log in its place":      {path: replace(func(b []byte) []byte { return append(b, b...) }), calls: 1, noticed: true},
		"the same bytes in another file": {path: replace(func(b []byte) []byte { return b }), calls: 1, noticed: true},
		"removed":                        {path: func(t *testing.T, path string, _ []byte) { must(t, os.Remove(path)) }, calls: 1, noticed: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var said bytes.Buffer
			l := Open(dir, Options{Adoption: true, Stderr: &said})
			_, err := l.Update(context.Background(), func(*core.State) []core.Event {
				var all []core.Event
				for i := range records {
					all = append(all, note(fmt.Sprintf("n=%d by=%s", i, strings.Repeat("x", 300))))
				}
				return all
			})
			must(t, err)
			data, err := os.ReadFile(l.Path())
			must(t, err)
			if len(data) < 4*guardBlock || len(data)/guardBlock > 7 {
				t.Fatalf("%d bytes", len(data))
			}
			if c.path != nil {
				c.path(t, l.Path(), data)
			} else {
				f, err := os.OpenFile(l.Path(), os.O_RDWR, 0)
				must(t, err)
				changed := c.change(bytes.Clone(data))
				_, err = f.WriteAt(changed, 0)
				must(t, errors.Join(err, f.Truncate(int64(len(changed))), f.Close()))
			}
			noticed := 0
			for n := 1; n <= c.calls && noticed == 0; n++ {
				_, err := seen(l)
				must(t, err)
				if said.Len() > 0 {
					noticed = n
				}
			}
			if (noticed > 0) != c.noticed {
				t.Fatalf("noticed in call %d of %d; said %q", noticed, c.calls, &said)
			}
			if c.noticed && !strings.Contains(said.String(), "is not what this process had read") {
				t.Errorf("said %q", &said)
			}
			mine, err := seen(l)
			must(t, err)
			if fresh, err := seen(Open(dir, Options{Adoption: true})); err != nil || mine != fresh {
				t.Errorf("this process shows\n%.300s\nand a fresh one\n%.300s\n%v", mine, fresh, err)
			}
			must(t, do(l, core.Command{Verb: "register", At: "2026-09-15T23:52:42.764Z", Args: jsontext.Value(`{"actorId":"a"}`)}))
		})
	}
}

// A process that is next in the queue reads ahead of its turn. What the lock's
// holder then takes back is not in what it decides on.
func TestWhatIsReadAheadAndThenUndoneIsNotDecidedOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nobody is told there that it is next")
	}
	dir := t.TempDir()
	fill(t, dir, 3)
	var said bytes.Buffer
	l := Open(dir, Options{Adoption: true, Stderr: &said})
	must(t, numbered(l, "before"))
	h, err := Open(dir, Options{Adoption: true}).acquire(t.Context())
	must(t, err)
	fi, err := h.log.Stat()
	must(t, err)
	_, err = h.log.Append(append(core.AppendEvent(nil, note("n=4 by=undone")), '\n'), fi.Size())
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- numbered(l, "after") }()
	ahead := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.fold.offset > fi.Size()
	}
	for start := time.Now(); !ahead(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 5*time.Second {
			t.Fatal("it doesn't read ahead")
		}
	}
	must(t, h.log.Truncate(fi.Size()))
	h.release()
	must(t, <-done)
	if by, err := checkNumbered(dir); err != nil || fmt.Sprint(by[3:]) != "[before after]" {
		t.Errorf("%v %v", by, err)
	}
}

// An append that was undone after a reader had folded it, and another of the
// same length and the same end in its place: what is folded without the lock
// is compared whole when the lock is had.
func TestAnUndoneAppendIsNotDecidedOnThoughItsEndLooksAlike(t *testing.T) {
	dir := t.TempDir()
	registered := func(name string) func(*core.State) []core.Event {
		return func(*core.State) []core.Event {
			return []core.Event{&core.ActorRegistered{Type: "actor.registered", At: "2026-09-15T23:52:42.764Z", Ref: "act-0001", Name: name, IsNew: true,
				Kind: "agent", DeclaredCapabilities: []string{strings.Repeat("c", guardTail+2000)}, BusAuthority: []string{}}}
		}
	}
	l := Open(dir, Options{Adoption: true})
	_, err := l.Update(context.Background(), func(*core.State) []core.Event {
		var all []core.Event
		for range 600 { // more than three blocks, so that the turn is elsewhere
			all = append(all, note(strings.Repeat("x", 400)))
		}
		return all
	})
	must(t, err)
	reader := Open(dir, Options{Adoption: true, Stderr: io.Discard})
	_, err = seen(reader)
	must(t, err)
	failing, d := openFaulty(dir, Options{Adoption: true}, nil)
	d.plan = func(_ int, op string) fault {
		if op == "Sync" {
			d.plan = nil
			_, err := seen(reader)
			must(t, err)
			return fault{err: syscall.EIO}
		}
		return fault{}
	}
	if _, err := failing.Update(context.Background(), registered("lane-1")); err == nil {
		t.Fatal("it didn't fail")
	}
	_, err = l.Update(context.Background(), registered("lane-2"))
	must(t, err)
	_, err = reader.Update(context.Background(), func(s *core.State) []core.Event {
		if a := s.Actors(); len(a) != 1 || a[0].Name != "lane-2" {
			t.Errorf("decided on %+.100v", a)
		}
		return nil
	})
	must(t, err)
}

func replace(change func([]byte) []byte) func(*testing.T, string, []byte) {
	return func(t *testing.T, path string, data []byte) {
		must(t, os.WriteFile(path+".new", change(bytes.Clone(data)), 0o600))
		must(t, os.Rename(path+".new", path))
	}
}

// Update as a whole against a naive model: the log is a list of texts, and a
// call puts one at its end or does nothing. Several logs of all kinds take
// turns on one directory; calls are stopped at any step or ended, owners die
// in the lock, and another hand appends.
func TestUpdateEqualsANaiveModelOnAnyHistory(t *testing.T) {
	base := t.TempDir()
	run := 0
	stop := errors.New("stopped")
	rapid.Check(t, func(t *rapid.T) {
		run++
		dir := filepath.Join(base, fmt.Sprint(run))
		var model []string
		var stopAt Step
		hook := func(s Step) error {
			if s == stopAt {
				return stop
			}
			return nil
		}
		var logs []*Log
		for _, replays := range []bool{false, false, true} {
			logs = append(logs, Open(dir, Options{Adoption: true, ReplayEachCall: replays, Hook: hook, LockTimeout: 20 * time.Millisecond, Stderr: io.Discard}))
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				l := rapid.SampledFrom(logs).Draw(t, "log")
				text := fmt.Sprintf("n=%d by=%s", len(model), rapid.StringMatching(`[a-z"\\]{0,40}`).Draw(t, "text"))
				if _, err := l.Update(context.Background(), func(s *core.State) []core.Event {
					if s.Events() != len(model) {
						t.Fatalf("a decision on %d records of %d", s.Events(), len(model))
					}
					return []core.Event{note(text)}
				}); err != nil {
					t.Fatal(err)
				}
				model = append(model, text)
			},
			"call for nothing": func(t *rapid.T) {
				if _, err := rapid.SampledFrom(logs).Draw(t, "log").Update(context.Background(), func(*core.State) []core.Event { return nil }); err != nil {
					t.Fatal(err)
				}
			},
			"stopped call": func(t *rapid.T) {
				// Not at the release: that is what a death leaves.
				stopAt = rapid.SampledFrom([]Step{StepAcquire, StepRead, StepFold, StepDecide, StepAppend, StepSync}).Draw(t, "step")
				defer func() { stopAt = "" }()
				if err := numbered(rapid.SampledFrom(logs).Draw(t, "log"), "stopped"); !errors.Is(err, stop) {
					t.Fatalf("stopped at %s: %v", stopAt, err)
				}
			},
			"ended call": func(t *rapid.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if _, err := rapid.SampledFrom(logs).Draw(t, "log").Update(ctx, func(*core.State) []core.Event { return []core.Event{note("ended")} }); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			},
			"death in the lock": func(t *rapid.T) {
				h, err := Open(dir, Options{Adoption: true, Stderr: io.Discard}).acquire(context.Background())
				if err == nil {
					err = h.log.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			"another hand": func(t *rapid.T) {
				f, err := os.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Skip("no log yet")
				}
				text := fmt.Sprintf("n=%d by=hand", len(model))
				_, err = f.Write(append(core.AppendEvent(nil, note(text)), '\n'))
				if err = errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
				model = append(model, text)
			},
			"": func(t *rapid.T) {
				var want []byte
				for _, text := range model {
					want = append(core.AppendEvent(want, note(text)), '\n')
				}
				got, err := os.ReadFile(filepath.Join(dir, logName))
				if err != nil && !os.IsNotExist(err) || !bytes.Equal(got, want) {
					t.Fatalf("the log is\n%s\nand should be\n%s\n%v", got, want, err)
				}
			},
		})
		for _, l := range logs {
			l.Close()
		}
	})
}
