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

func TestBadThresholdsAreRefusedWithWhatThereIs(t *testing.T) {
	for expr, says := range map[string]string{
		"p99": "no comparison", "p98<1s": "there are calls/s p50 p99", "p99<fast": `"fast" is no duration`, "errors=none": "is no number", "memory<1 parsec": "is no number", "p99<1": "no duration",
	} {
		if _, err := results.ParseThresholds(expr); !errors.Is(err, results.ErrThreshold) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", expr, err)
		}
	}
}
