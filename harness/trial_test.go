package harness

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gaia/results"
)

func fakeSpec(t *testing.T, lanes, calls int) TrialSpec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return TrialSpec{
		Run: "run", Arm: "arm", Trial: 1, Order: 1, Seed: 7,
		Factors: results.Factors{Lanes: lanes, CallsPerLane: calls, MessageBytes: 200},
		Self:    []string{self}, Dir: filepath.Join(dir, "data"), Work: filepath.Join(dir, "work"),
	}
}

// broken lists the promises that a trial broke, but for the fairness that
// the fake's lock doesn't give.
func broken(t results.Trial) (names []string) {
	for _, p := range t.Promises {
		if !p.OK && !p.Skipped && p.Name != PromiseNoStarving {
			names = append(names, p.Name+": "+p.Detail)
		}
	}
	return names
}

func TestHonestServersKeepEveryPromise(t *testing.T) {
	spec := fakeSpec(t, 4, 40)
	got, err := RunTrial(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if b := broken(got); b != nil {
		t.Error(b)
	}
	if got.Calls != 160 || len(got.Errors) != 0 || got.Dropped != 0 {
		t.Errorf("%d calls, errors %v, %d dropped; want 160, none, none", got.Calls, got.Errors, got.Dropped)
	}
	if len(got.Lanes) != 4 || got.Wall <= 0 || got.ClientCPU <= 0 || got.Phases["acquire"].Count == 0 || got.Servers[0].Version != "fake 7" {
		t.Errorf("not measured: %+v", got)
	}
	for _, l := range got.Lanes {
		if l.Calls != 40 || l.Min <= 0 || l.Min > l.Median || l.Median > l.P99 || l.P99 > l.Max {
			t.Errorf("lane %d: %+v", l.Lane, l)
		}
	}
	for _, verb := range append([]string{"all"}, sixVerbs...) {
		h, err := results.ParseHistogram(got.Service[verb])
		if err != nil || h.Count() == 0 {
			t.Errorf("%s: no latencies: %v", verb, err)
		}
	}
}

func TestBadServersAreCaughtAndNamed(t *testing.T) {
	for kind, promise := range map[string]string{
		"loses-reply":  PromiseAnswered,
		"repeats-id":   PromiseIDs,
		"drops-record": PromiseOnce,
	} {
		t.Run(kind, func(t *testing.T) {
			spec := fakeSpec(t, 2, 40)
			spec.Servers = []string{`"` + spec.Self[0] + `" mcp`, `"` + spec.Self[0] + `" bad ` + kind}
			if kind == "loses-reply" {
				spec.Limits.Call = 3 * time.Second
			}
			got, err := RunTrial(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(broken(got), func(s string) bool { return strings.HasPrefix(s, promise) }) {
				t.Errorf("not caught: %v", got.Promises)
			}
		})
	}
}

func TestServersThatCannotStartAreTold(t *testing.T) {
	for name, test := range map[string]struct{ server, want string }{
		"exits at once": {"bad exits", `no such luck \u001b[31m\u202e`},
		"lacks a verb":  {"bad lacks-ack", "its tools lack ack"},
		"prints":        {"bad chatters", `isn't JSON-RPC to its standard output: Listening…`},
		"never answers": {"bad silent", "not ready within 2s"},
		"no such file":  {"", "no-such-program"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fakeSpec(t, 3, 10)
			spec.Limits.Start = 2 * time.Second
			if name != "never answers" {
				spec.Limits.Start = 0
			}
			spec.Servers = []string{`"` + spec.Self[0] + `" ` + test.server}
			if test.server == "" {
				spec.Servers = []string{"no-such-program --x"}
			}
			_, err := RunTrial(t.Context(), spec)
			var start *StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want a StartError with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestSpecsThatMeanNothingAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*TrialSpec){
		"no lanes":             func(s *TrialSpec) { s.Factors.Lanes = 0 },
		"no calls":             func(s *TrialSpec) { s.Factors.CallsPerLane = 0 },
		"no directory":         func(s *TrialSpec) { s.Dir = "" },
		"unknown load":         func(s *TrialSpec) { s.Factors.Load = "ajar" },
		"open without a rate":  func(s *TrialSpec) { s.Factors.Load = LoadOpen },
		"unknown path":         func(s *TrialSpec) { s.Factors.Path = "head" },
		"unknown fault":        func(s *TrialSpec) { s.Factors.Fault = "meteor" },
		"unknown step":         func(s *TrialSpec) { s.Factors.Fault = "kill-holder:lunch" },
		"unknown variant":      func(s *TrialSpec) { s.Factors.Fault = "kill-storm:sync" },
		"a storm, open":        func(s *TrialSpec) { s.Factors.Fault, s.Factors.Load, s.Factors.Rate = FaultKillStorm, LoadOpen, 5 },
		"a foreign peer":       func(s *TrialSpec) { s.Servers, s.Factors.Fault = []string{"x"}, "kill-storm:mkdir-peer" },
		"a fault nobody sees":  func(s *TrialSpec) { s.Factors.Fault, s.Factors.Lanes = FaultKillClient, 1 },
		"an unbalanced quote":  func(s *TrialSpec) { s.Servers = []string{`x "y`} },
		"a shell's pipe":       func(s *TrialSpec) { s.Servers = []string{"x | y"} },
		"an empty command":     func(s *TrialSpec) { s.Servers = []string{" "} },
		"workers as a client":  func(s *TrialSpec) { s.Factors.Class = results.ClassScriptedModel },
		"workers as a model":   func(s *TrialSpec) { s.Factors.Class = results.ClassLiveModel },
		"a blank client":       func(s *TrialSpec) { s.Client = " " },
		"fault in a foreigner": func(s *TrialSpec) { s.Servers, s.Factors.Fault = []string{"x"}, "kill-holder" },
	} {
		t.Run(name, func(t *testing.T) {
			spec := fakeSpec(t, 2, 5)
			spoil(&spec)
			if _, err := RunTrial(t.Context(), spec); !errors.Is(err, ErrUsage) {
				t.Errorf("%v; want ErrUsage", err)
			}
			if _, err := os.Stat(spec.Work); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestCancelledTrialLeavesNoProcess(t *testing.T) {
	for name, when := range map[string]func(spec TrialSpec){
		"before it begins":         nil,
		"while lanes start":        func(spec TrialSpec) { awaitFile(t, historyFile(spec.Work, 1)) },
		"while lanes work":         func(spec TrialSpec) { awaitCalls(t, spec.Work, 3, 3) },
		"while a lane hangs":       func(spec TrialSpec) { awaitFile(t, historyFile(spec.Work, 1)) },
		"while a lane is stubborn": func(spec TrialSpec) { awaitFile(t, historyFile(spec.Work, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			spec := fakeSpec(t, 3, 1_000_000)
			if name == "while a lane hangs" {
				spec.Servers = []string{`"` + spec.Self[0] + `" bad silent`}
			}
			if name == "while a lane is stubborn" {
				spec.Servers = []string{`"` + spec.Self[0] + `" bad stubborn`}
			}
			cause := errors.New("told to stop")
			ctx, cancel := context.WithCancelCause(t.Context())
			if when == nil {
				cancel(cause)
			} else {
				go func() {
					when(spec)
					cancel(cause)
				}()
			}
			if _, err := RunTrial(ctx, spec); !errors.Is(err, cause) {
				t.Errorf("%v; want the context's cause", err)
			}
			if left := children(t); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
			if dead := unwaited(t); len(dead) > 0 {
				t.Errorf("never waited for: %v", dead)
			}
		})
	}
}

// The replay check of other implementations: a server that has forgotten what
// a process before it wrote is caught.
func TestForeignServersReplayAlikeOrAreNamed(t *testing.T) {
	for kind, want := range map[string]bool{"honest": true, "forgets": false} {
		t.Run(kind, func(t *testing.T) {
			spec := fakeSpec(t, 2, 20)
			self := `"` + spec.Self[0] + `" `
			spec.Servers = []string{self + "mcp", self + "bad " + kind}
			got, err := RunTrial(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			p := got.Promises[len(got.Promises)-1]
			if p.Name != PromiseReplay || p.OK != want || p.Skipped {
				t.Errorf("%+v; want %v", p, want)
			}
			if got.Factors.Class != results.ClassMixed || len(got.Servers) != 2 {
				t.Errorf("class %q, %d servers", got.Factors.Class, len(got.Servers))
			}
		})
	}
}

func TestOpenLoadCountsFromTheIntendedStartAndDropsWhatIsLate(t *testing.T) {
	spec := fakeSpec(t, 1, 20)
	spec.Factors.Load, spec.Factors.Rate = LoadOpen, 40
	spec.Servers = []string{`"` + spec.Self[0] + `" bad slow`} // 100 ms a call, 25 ms apart
	got, err := RunTrial(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if got.Dropped == 0 || got.Calls+got.Dropped != 20 {
		t.Errorf("%d calls and %d dropped of 20", got.Calls, got.Dropped)
	}
	if r, s := got.ResponseQuantile(1), got.ServiceQuantile(1); r <= s {
		t.Errorf("the longest response is %v and the longest service %v; a late start must show", r, s)
	}
}

func TestRecordsHoldNoPathAndNoName(t *testing.T) {
	spec := fakeSpec(t, 2, 5)
	spec.Servers = []string{`TOKEN_FILE=/home/u/x "` + spec.Self[0] + `" mcp --log=/var/secret/log C:/Users/u/f`}
	got, err := RunTrial(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	got.Environment.Virtual = "" // may be the word that a host is called by
	text, err := results.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{filepath.Dir(spec.Self[0]), "/home", "/var/secret", "Users", spec.Dir, `"` + host + `"`} {
		if strings.Contains(string(text), private) {
			t.Errorf("the record holds %q: %s", private, text)
		}
	}
	if want := []string{"TOKEN_FILE=x", filepath.Base(spec.Self[0]), "mcp", "--log=log", "f"}; !slices.Equal(got.Servers[0].Argv, want) {
		t.Errorf("argv %q; want %q", got.Servers[0].Argv, want)
	}
}

func TestLanesEndWhenTheLabIsKilled(t *testing.T) {
	spec := fakeSpec(t, 2, 1_000_000)
	if len(children(t)) > 0 || runtime.GOOS != "linux" {
		t.Skip("processes can't be listed here")
	}
	lab := exec.Command(spec.Self[0], "run-trial", spec.Dir, spec.Work)
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	awaitCalls(t, spec.Work, 2, 3)
	if len(children(t)) < 5 {
		t.Fatalf("running: %v; want the lab, two lanes and two servers", children(t))
	}
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lab.Wait()
	if await(t, func() bool { return len(children(t)) == 0 }); t.Failed() {
		t.Errorf("still running: %v", children(t))
	}
}

// awaitCalls waits until a lane has written so many calls down.
func awaitCalls(t *testing.T, work string, lane, calls int) {
	await(t, func() bool {
		h, err := ReadHistory(work, lane, true)
		return err == nil && len(h.Calls) > calls
	})
}

func awaitFile(t *testing.T, name string) {
	await(t, func() bool { _, err := os.Stat(name); return err == nil })
}

// await polls for what another process does. Its bound is for a process that
// never will, not for one that is slow.
func await(t *testing.T, done func() bool) {
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it never happened")
			return
		}
	}
}
