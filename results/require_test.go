package results_test

import (
	"errors"
	"strings"
	"testing"

	"gaia/results"
)

func TestThresholdsHoldEveryTrialAndNotTheirMedian(t *testing.T) {
	trials := []results.Trial{made(4, 1, 100), made(4, 2, 100), made(4, 3, 50)}
	fault := made(4, 1, 1)
	fault.Factors.Fault, fault.Errors, fault.Arm = "kill-client", map[string]int64{"no-reply": 9}, "x"
	trials = append(trials, fault)
	for expr, want := range map[string]bool{
		"p99<1s": true, "p99 < 5ms": false, "calls/s>=49, errors=0": true, "calls/s>60": false, "jain>=0.95,floor<=6": true, "floor<4": false,
		"memory<64MiB": true, "memory<1MiB": false, "broken=0,dropped=0,max<1s,cpu<=1ms,p50>1ms": true, "": true,
	} {
		ths, err := results.ParseThresholds(expr)
		if err != nil {
			t.Errorf("%q: %v", expr, err)
			continue
		}
		if ok, lines := results.Require(ths, trials, nil); ok != want || strings.Contains(strings.Join(lines, ""), "✗") == want {
			t.Errorf("%q: %v\n%s", expr, ok, strings.Join(lines, "\n"))
		}
	}
	ths, _ := results.ParseThresholds("errors=0")
	if ok, _ := results.Require(ths, nil, nil); ok {
		t.Error("a threshold held against nothing")
	}
}

func TestWhatNobodyMeasuredMeetsNoThreshold(t *testing.T) {
	without := func(change func(*results.Trial)) results.Trial {
		tr := made(4, 2, 100)
		change(&tr)
		return tr
	}
	none := without(func(tr *results.Trial) { *tr = results.Trial{Arm: tr.Arm, Trial: 2, Factors: tr.Factors} })
	for expr, unmeasured := range map[string]results.Trial{
		"calls/s<1000":  without(func(tr *results.Trial) { tr.Wall = 0 }),
		"p50<1s":        without(func(tr *results.Trial) { tr.Response = nil }),
		"p99<1s":        without(func(tr *results.Trial) { tr.Response["all"] = "HISTF" }),
		"max<1s":        without(func(tr *results.Trial) { tr.Lanes = nil }),
		"jain>=0.95":    without(func(tr *results.Trial) { tr.Lanes = []results.Lane{{Lane: 1}, {Lane: 2}} }),
		"cpu<=1ms":      without(func(tr *results.Trial) { tr.ServerCPU = 0 }),
		"memory<64MiB":  without(func(tr *results.Trial) { tr.ServerPeakRSS = 0 }),
		"floor<=5.1":    without(func(tr *results.Trial) { tr.Floor = nil }),
		"floor <= 5.1":  without(func(tr *results.Trial) { tr.Service = nil }),
		"errors=0":      without(func(tr *results.Trial) { tr.Calls, tr.Dropped = 0, 400 }),
		"dropped=0":     without(func(tr *results.Trial) { tr.Calls = 0 }),
		"broken=0":      without(func(tr *results.Trial) { tr.Promises = nil }),
		"broken = 0":    without(func(tr *results.Trial) { tr.Promises[0] = results.Promise{Name: "x", Skipped: true} }),
		"cpu < 1s":      none,
		"errors <= 0":   none,
		"jain > 0.5":    none,
		"max <= 1s":     none,
		"memory < 1GiB": none,
	} {
		ths, err := results.ParseThresholds(expr)
		if err != nil {
			t.Fatal(err)
		}
		good := made(4, 1, 100)
		if ok, lines := results.Require(ths, []results.Trial{good, unmeasured}, nil); ok || !strings.HasSuffix(lines[0], ": not measured in 1 of 2 trials") || !strings.HasPrefix(lines[0], "✗") {
			t.Errorf("%q: %v %q", expr, ok, lines)
		}
		if ok, lines := results.Require(ths, []results.Trial{good}, nil); !ok {
			t.Errorf("%q, measured: %q", expr, lines)
		}
	}
}

func TestThresholdLinesShowTheWorstTrial(t *testing.T) {
	trials := []results.Trial{made(4, 1, 100), made(4, 2, 40), made(4, 3, 20), made(4, 4, 60)}
	for i, errs := range []int64{0, 1, 7, 2} {
		trials[i].Errors = map[string]int64{"transport": errs}
	}
	for expr, line := range map[string]string{
		"calls/s>50": "✗ calls/s>50  lanes=4/events=1000: 20", "calls/s>=10": "✓ calls/s>=10  lanes=4/events=1000: 20",
		"calls/s<50": "✗ calls/s<50  lanes=4/events=1000: 100", "errors=0": "✗ errors=0  lanes=4/events=1000: 7", "errors<=7": "✓ errors<=7  lanes=4/events=1000: 7",
	} {
		ths, err := results.ParseThresholds(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, lines := results.Require(ths, trials, nil); lines[0] != line {
			t.Errorf("got %q, want %q", lines[0], line)
		}
	}
}

func TestBadThresholdsAreRefusedWithWhatThereIs(t *testing.T) {
	for expr, says := range map[string]string{
		"p99": "no comparison", "p98<1s": "there are calls/s p50 p99", "p99<fast": `"fast" is no duration`, "errors=none": "is no number", "memory<1 parsec": "is no number", "p99<1": "no duration",
	} {
		if _, err := results.ParseThresholds(expr); !errors.Is(err, results.ErrThreshold) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", expr, err)
		}
	}
}
