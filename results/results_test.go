package results_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gaia/results"
)

// made is a whole record with known numbers: calls/s = rate, every latency 5 ms.
func made(lanes, n int, rate float64) results.Trial {
	h := results.NewHistogram()
	for range 100 {
		h.Record(5 * time.Millisecond)
	}
	f := results.Factors{Lanes: lanes, CallsPerLane: 100, Prefill: 1000, Actors: results.DefaultActors, Path: "tail", Load: "closed",
		MessageBytes: results.DefaultMessageBytes, Fault: "none", Class: results.ClassIdentical}
	calls := int64(100 * lanes)
	t := results.Trial{
		Schema: results.Schema, Run: "20260102-030405-1", Arm: results.ArmName(f), Trial: n, Order: n, Seed: 7, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Lab: results.Binary{Argv: []string{"gaia"}, Revision: "abc"}, Environment: results.Environment{OS: "linux", Arch: "amd64", CPU: "A CPU", Cores: 2},
		Factors: f, Wall: time.Duration(float64(calls) / rate * 1e9), Calls: calls, ServerCPU: time.Duration(calls) * time.Millisecond, ServerPeakRSS: 20 << 20,
		Response: map[string]string{"all": h.String()}, Service: map[string]string{"all": h.String()},
		Promises: []results.Promise{{Name: "whole lines", OK: true}}, Floor: &results.Floor{N: 10, Median: time.Millisecond, P99: 2 * time.Millisecond},
	}
	for i := range lanes {
		t.Lanes = append(t.Lanes, results.Lane{Lane: i + 1, Calls: 100, Max: 6 * time.Millisecond})
	}
	return t
}

func write(t *testing.T, dir string, trials ...results.Trial) {
	t.Helper()
	w, err := results.AppendTrials(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range trials {
		if err := w.Write(&trials[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordsAreReadBackAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	want := []results.Trial{made(2, 1, 500), made(4, 2, 700)}
	write(t, dir, want[0])
	write(t, dir, want[1])
	run, err := results.ReadRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, run.Trials, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if run.Torn || len(run.Digest) != 64 {
		t.Errorf("torn %v, digest %q", run.Torn, run.Digest)
	}
}

func TestAnUnfinishedLineIsLeftOutAndThenOverwritten(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, made(2, 1, 500))
	name := filepath.Join(dir, results.TrialsFile)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"schema":1,"run":`)
	f.Close()
	if run, err := results.ReadRunDir(dir); err != nil || !run.Torn || len(run.Trials) != 1 {
		t.Fatalf("torn %v, %d trials, %v", run.Torn, len(run.Trials), err)
	}
	write(t, dir, made(2, 2, 500))
	if run, err := results.ReadRunDir(dir); err != nil || run.Torn || len(run.Trials) != 2 {
		t.Fatalf("torn %v, %d trials, %v", run.Torn, len(run.Trials), err)
	}
}

func TestReaderNamesFileAndLine(t *testing.T) {
	good, err := results.Marshal(made(1, 1, 100))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		line, says string
		is         error
	}{
		"not JSON":          {"hello", "run/trials.jsonl:2: not a trial's record", nil},
		"a blank line":      {"", "run/trials.jsonl:2: ", nil},
		"no schema":         {"{}", "run/trials.jsonl:2: not a trial's record: it has no schema", nil},
		"a newer schema":    {`{"schema":99,"wall":"soon"}`, "run/trials.jsonl:2: unknown schema 99; this gaia reads 1 to 1", results.ErrSchema},
		"schema 0":          {`{"schema":0}`, "run/trials.jsonl:2: unknown schema 0", results.ErrSchema},
		"a forged duration": {strings.Replace(string(good), `"wallNs":`, `"wallNs":"1s","x":`, 1), "run/trials.jsonl:2: not a trial's record", nil},
		"a bad histogram":   {`{"schema":1,"response":{"send":"HISTF"}}`, "run/trials.jsonl:2: send: histogram", nil},
	} {
		fsys := fstest.MapFS{"run/trials.jsonl": {Data: []byte(string(good) + "\n" + c.line + "\n")}}
		_, err := results.ReadRun(fsys, "run")
		if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownMembersAreIgnored(t *testing.T) {
	fsys := fstest.MapFS{"r/trials.jsonl": {Data: []byte(`{"schema":1,"arm":"a","later":{"x":1}}` + "\n")}}
	if run, err := results.ReadRun(fsys, "r"); err != nil || run.Trials[0].Arm != "a" {
		t.Error(err)
	}
}

func TestOrderIsInterleavedAndDrawnFromTheSeed(t *testing.T) {
	plan := func(seed uint64) *results.Plan {
		p := &results.Plan{Seed: seed, Trials: 4, Arms: []results.Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
		p.Draw()
		return p
	}
	p := plan(1)
	if d := cmp.Diff(p.Order, plan(1).Order); d != "" {
		t.Error("the same seed gave another order:", d)
	}
	if cmp.Equal(p.Order, plan(2).Order) {
		t.Error("another seed gave the same order")
	}
	for round := range 4 {
		seen := map[int]bool{}
		for _, s := range p.Order[3*round : 3*round+3] {
			seen[s.Arm] = true
			if s.Trial != round+1 || s.Seed != p.Order[3*round].Seed {
				t.Errorf("round %d has %+v", round+1, s)
			}
		}
		if len(seen) != 3 {
			t.Errorf("round %d runs %d of 3 arms", round+1, len(seen))
		}
	}
	done := []results.Trial{{Arm: p.Arms[p.Order[0].Arm].Name, Trial: 1}, {Arm: p.Arms[p.Order[2].Arm].Name, Trial: 1}}
	if left := p.Left(done); len(left) != 10 || left[0] != 1 || left[1] != 3 {
		t.Errorf("left: %v", left)
	}
}

func TestBenchFormatIsReadBack(t *testing.T) {
	var b bytes.Buffer
	tr := made(4, 1, 800)
	tr.Environment.CPU = "A\nCPU: forged"
	if err := results.WriteBench(&b, []results.Trial{tr, made(8, 1, 900)}); err != nil {
		t.Fatal(err)
	}
	got, err := results.ReadBench(&b, "bench.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Arm != "lanes=4/events=1000" || got[0].Calls != 400 || got[0].Config["cpu"] != "A CPU: forged" {
		t.Fatalf("got %+v", got)
	}
	for unit, want := range map[string]float64{"sec/op": 1. / 800, "calls/s": 800, "p99-sec": .005, "cpu-sec/op": .001, "x-floor": 5, "jain": 1, "broken": 0} {
		if have, ok := got[0].Values[unit]; !ok || math.Abs(have-want) > want/100 {
			t.Errorf("%s: %v, want %v; units are %v", unit, have, want, got[0].Values)
		}
	}
	if _, err := results.ReadBench(strings.NewReader("BenchmarkLab/x one 3 ns/op\n"), "b.txt"); err == nil || !strings.Contains(err.Error(), "b.txt:1") {
		t.Errorf("a broken line: %v", err)
	}
}

// The stock tool, built from the module that we depend on.
func TestStockBenchstatComparesTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat")
	}
	dir := t.TempDir()
	for name, rate := range map[string]float64{"old.txt": 100, "new.txt": 200} {
		var ts []results.Trial
		for n := 1; n <= 6; n++ {
			ts = append(ts, made(4, n, rate+float64(n)/10))
			ts[n-1].Lab.Revision = name
		}
		if err := results.WriteBenchFile(filepath.Join(dir, name), ts); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "run", "golang.org/x/perf/cmd/benchstat", filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"Lab/lanes=4/events=1000", "calls/s", "+99.", "p=0.002 n=6"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("benchstat doesn't say %q:\n%s", want, out)
		}
	}
}

func TestJainIsOneForEqualSharesAndOneNthForOneWinner(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{{nil, 1}, {[]float64{5, 5, 5, 5}, 1}, {[]float64{9, 0, 0, 0}, .25}, {[]float64{1, 3}, .8}, {[]float64{0, 0}, 1}} {
		if got := results.Jain(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.shares, got, c.want)
		}
	}
}

func TestIntervalsNeedSixTrials(t *testing.T) {
	five, six := results.Summarize([]float64{1, 2, 3, 4, 5}), results.Summarize([]float64{6, 5, 4, 3, 2, 1})
	if !math.IsInf(five.Lo, -1) || five.Warning == "" || five.Median != 3 {
		t.Errorf("five: %+v", five)
	}
	if six.Lo != 1 || six.Hi != 6 || six.Median != 3.5 || six.Warning != "" {
		t.Errorf("six: %+v", six)
	}
}

func TestNumbersHaveUnitsAndASanePrecision(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", 650 * time.Microsecond: "650 µs", 1234 * time.Microsecond: "1.23 ms", 999_700 * time.Nanosecond: "1.00 ms",
		65432 * time.Microsecond: "65.4 ms", 12 * time.Second: "12.0 s", 15 * time.Nanosecond: "15 ns", -time.Millisecond: "-1.00 ms"} {
		if got := results.FormatDuration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{100: "100 B", 20 << 20: "20.0 MiB", 3 << 30: "3.00 GiB"} {
		if got := results.FormatBytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestVerdictIsNoWhenAPromiseBrokeOrACallFailed(t *testing.T) {
	ok := made(4, 1, 100)
	broken, failed, none := made(4, 2, 100), made(4, 3, 100), []results.Trial{}
	broken.Promises[0] = results.Promise{Name: "ids dense", Detail: "msg-0003 twice"}
	failed.Errors = map[string]int64{"transport": 2}
	skipped := made(4, 4, 100)
	skipped.Promises = append(skipped.Promises, results.Promise{Name: "replay", Skipped: true, Detail: "a foreign server"})
	fault := made(4, 5, 100)
	fault.Factors.Fault, fault.Errors = "kill-client", map[string]int64{"no-reply": 1}
	unpromised, unchecked, unanswered, unstruck := made(4, 6, 100), made(4, 7, 100), made(4, 8, 100), fault
	unpromised.Promises = nil
	unchecked.Promises = []results.Promise{{Name: "replay", Skipped: true, Detail: "a foreign server"}}
	unanswered.Calls, unanswered.Dropped = 0, 400
	unstruck.Promises = nil
	for name, c := range map[string]struct {
		trials []results.Trial
		ok     bool
		says   string
	}{
		"all held":          {[]results.Trial{ok}, true, "held: 1 promises checked in 1 trials, 400 calls"},
		"one broken":        {[]results.Trial{ok, broken}, false, "ids dense: msg-0003 twice"},
		"calls failed":      {[]results.Trial{ok, failed}, false, "2 × transport"},
		"one not checked":   {[]results.Trial{ok, skipped}, true, "not checked: replay: a foreign server"},
		"errors of faults":  {[]results.Trial{fault}, true, "held"},
		"nothing finished":  {none, false, "no trial"},
		"no promise":        {[]results.Trial{ok, unpromised}, false, "EMPTY: lanes=4/events=1000, trial 6 (seed 7): no promise was checked"},
		"none checked":      {[]results.Trial{ok, unchecked}, false, "trial 7 (seed 7): no promise was checked"},
		"no call":           {[]results.Trial{ok, unanswered}, false, "trial 8 (seed 7): no call was answered"},
		"no call at all":    {[]results.Trial{unanswered}, false, "NOT HELD: 0 promises broken, 0 calls failed, 1 empty, in 1 trials"},
		"a fault unwatched": {[]results.Trial{ok, unstruck}, false, "trial 5 (seed 7): no promise was checked"},
	} {
		if v := results.Judge(c.trials); v.OK != c.ok || !strings.Contains(v.String(), c.says) {
			t.Errorf("%s: %v %s", name, v.OK, v)
		}
		// Table and progress say held only where the verdict does.
		if len(c.trials) == 0 {
			continue
		}
		rows, _ := results.TableRows(c.trials, nil)
		if cell := rows[1][len(rows[1])-1]; strings.HasPrefix(cell, "held") != c.ok {
			t.Errorf("%s: the table says %q", name, cell)
		}
		if line := results.TrialLine(&c.trials[len(c.trials)-1], 1, 1); strings.HasSuffix(line, "  held") != c.ok {
			t.Errorf("%s: progress says %q", name, line)
		}
	}
}

func TestATornLogIsTold(t *testing.T) {
	torn := made(4, 1, 100)
	torn.Factors.Fault, torn.Outage = "kill-storm", &results.Outage{Injected: 900, Unknown: 700, Torn: true}
	torn.Promises = append(torn.Promises, results.Promise{Name: "whole JSON lines", Skipped: true, Detail: "line 7: torn"})
	if line := results.TrialLine(&torn, 1, 1); !strings.Contains(line, "torn") || strings.Contains(line, "held") {
		t.Error(line)
	}
	rows := results.OutageRows([]results.Trial{torn}, nil)
	if got := rows[1][len(rows[1])-2:]; got[0] != "700" || got[1] != "1" {
		t.Errorf("%q under %q", rows[1], rows[0])
	}
	if v := results.Judge([]results.Trial{torn}); !strings.Contains(v.String(), "not checked: whole JSON lines: line 7: torn") {
		t.Error(v)
	}
}

func TestArmsAreNamedByWhatDiffersFromTheDefaults(t *testing.T) {
	f := made(4, 1, 1).Factors
	if got := results.ArmName(f); got != "lanes=4/events=1000" {
		t.Error(got)
	}
	f.Path, f.Load, f.Rate, f.MessageBytes, f.Fault, f.Actors = "replay", "open", 50, 8192, "kill-holder:sync", 9
	f.Servers, f.Client, f.Class = []string{"gaia mcp", "node x/y.mjs"}, "claude", results.ClassLiveModel
	want := "lanes=4/events=1000/actors=9/path=replay/load=open/rate=50/bytes=8192/fault=kill-holder:sync/servers=gaia_mcp+node_x_y.mjs/client=claude/class=live"
	if got := results.ArmName(f); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func ExampleTable() {
	trials := []results.Trial{made(1, 1, 100), made(4, 1, 300)}
	fmt.Print(results.Table(trials, nil))
	fmt.Print(results.Costs(trials, nil))
	// Output:
	// all arms: events=1000
	// arm      n  calls/s      p50      p99    worst   Jain  ×floor  promises
	// lanes=1  1      100  5.00 ms  5.00 ms  6.00 ms  1.000    5.00      held
	// lanes=4  1      300  5.00 ms  5.00 ms  6.00 ms  1.000    5.00      held
	// arm      CPU/call    server  ×floor  lock  read  append  fsync  release
	// lanes=1   1.00 ms  20.0 MiB    5.00     –     –       –      –        –
	// lanes=4   1.00 ms  20.0 MiB    5.00     –     –       –      –        –
}
