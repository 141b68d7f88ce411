package results_test

import (
	"slices"
	"strings"
	"testing"

	"gaia/results"
)

func run(name string, lanes, n int, rate float64) results.Run {
	r := results.Run{Name: name}
	for i := 1; i <= n; i++ {
		r.Trials = append(r.Trials, made(lanes, i, rate+float64(i)))
	}
	return r
}

func TestComparisonShowsADifferenceOnlyWhereTheTrialsDo(t *testing.T) {
	change := func(a, b results.Run) (results.Difference, results.Comparison) {
		c := results.Compare(a, b)
		for _, d := range c.Differences {
			if d.Metric == "calls/s" {
				return d, c
			}
		}
		t.Fatal("no calls/s")
		return results.Difference{}, c
	}
	if d, _ := change(run("a", 4, 8, 100), run("b", 4, 8, 200)); !strings.HasPrefix(d.Delta, "+9") || d.Better != 1 {
		t.Errorf("twice as fast: %+v", d)
	}
	if d, _ := change(run("a", 4, 8, 200), run("b", 4, 8, 100)); !strings.HasPrefix(d.Delta, "-4") || d.Better != -1 {
		t.Errorf("half as fast: %+v", d)
	}
	if d, _ := change(run("a", 4, 8, 100), run("b", 4, 8, 100)); d.Delta != "~" || d.Better != 0 {
		t.Errorf("the same: %+v", d)
	}
	if d, c := change(run("a", 4, 3, 100), run("b", 4, 3, 200)); d.Delta != "~" || !strings.Contains(c.String(), "need >= 4 samples") {
		t.Errorf("three trials can't show one: %+v\n%s", d, c)
	}
}

func TestComparisonTellsOfTrialsOfAnotherLength(t *testing.T) {
	a, b := run("a", 4, 6, 100), run("b", 4, 6, 100)
	if c := results.Compare(a, b); strings.Contains(strings.Join(c.Caveats, "\n"), "calls a lane") {
		t.Errorf("of the same length: %q", c.Caveats)
	}
	for i := range b.Trials {
		b.Trials[i].Factors.CallsPerLane = 2_000_000
	}
	if c, want := results.Compare(a, b), "lanes=4/events=1000 makes 100 calls a lane in a and 2000000 in b"; !slices.Contains(c.Caveats, want) {
		t.Errorf("%q isn't among %q", want, c.Caveats)
	}
	b.Trials[0].Factors.CallsPerLane = 100
	if c, want := results.Compare(a, b), "lanes=4/events=1000 makes 100 calls a lane in a and 100 or 2000000 in b"; !slices.Contains(c.Caveats, want) {
		t.Errorf("%q isn't among %q", want, c.Caveats)
	}
}

func TestComparisonTellsWhatMakesItHard(t *testing.T) {
	a, b := run("a", 4, 6, 100), run("b", 4, 6, 100)
	a.Trials = append(a.Trials, made(2, 1, 100))
	b.Trials = append(b.Trials, made(8, 1, 100))
	for i := range b.Trials {
		b.Trials[i].Environment.CPU = "Another"
	}
	text := results.Compare(a, b).String()
	for _, want := range []string{"lanes=2/events=1000 is only in a", "lanes=8/events=1000 is only in b", "different CPUs: A CPU and Another"} {
		if !strings.Contains(text, want) {
			t.Errorf("it doesn't say %q:\n%s", want, text)
		}
	}
}
