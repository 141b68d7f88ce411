package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"
)

// A Difference is one metric of one arm in two runs.
type Difference struct {
	Arm, Metric string
	Old, New    Summary
	// Delta is "+12.3%", or "~" where the trials show no difference at the 5%
	// level; P and the counts are the Mann-Whitney test's.
	Delta string
	Test  string
	// Better is 1 where the change is for the better, -1 for the worse, 0 for none.
	Better  int
	Warning string
	show    func(float64) string
}

// compared are the metrics that two runs are compared by.
var compared = []struct {
	name   string
	higher bool // is better
	of     func(*Trial) float64
	show   func(float64) string
}{
	{"calls/s", true, (*Trial).CallsPerSecond, FormatNumber},
	{"p50", false, func(t *Trial) float64 { return float64(t.ResponseQuantile(.5)) }, showDuration},
	{"p99", false, func(t *Trial) float64 { return float64(t.ResponseQuantile(.99)) }, showDuration},
	{"CPU/call", false, func(t *Trial) float64 { return float64(t.CPUPerCall()) }, showDuration},
	{"×floor", false, (*Trial).FloorRatio, FormatNumber},
}

func showDuration(x float64) string { return FormatDuration(time.Duration(x)) }

// A Comparison is what two runs have in common, arm by arm, and what not.
type Comparison struct {
	Differences []Difference
	// Caveats are what makes the two hard to compare: another machine, arms
	// that only one has, too few trials.
	Caveats []string
}

// Compare holds the arms of two runs against each other.
func Compare(older, newer Run) Comparison {
	var c Comparison
	arms, byOld := Arms(older.Trials, nil)
	_, byNew := Arms(newer.Trials, nil)
	warned := make(map[string]bool)
	for _, arm := range arms {
		was, is := byOld[arm], byNew[arm]
		if len(is) == 0 {
			c.Caveats = append(c.Caveats, arm+" is only in "+older.Name)
			continue
		}
		// An arm's name doesn't tell how long its trials are.
		if a, b := callsPerLane(was), callsPerLane(is); a != b {
			c.Caveats = append(c.Caveats, fmt.Sprintf("%s makes %s calls a lane in %s and %s in %s", arm, a, older.Name, b, newer.Name))
		}
		for _, m := range compared {
			a, b := Of(was, m.of), Of(is, m.of)
			if !slices.ContainsFunc(a, nonZero) || !slices.ContainsFunc(b, nonZero) {
				continue // one side didn't measure it
			}
			test := benchmath.AssumeNothing.Compare(sample(a), sample(b))
			d := Difference{Arm: arm, Metric: m.name, Old: Summarize(a), New: Summarize(b), Test: test.String(), show: m.show}
			d.Delta = test.FormatDelta(d.Old.Median, d.New.Median)
			if d.Delta != "~" {
				d.Better = -1
				if (d.New.Median > d.Old.Median) == m.higher {
					d.Better = 1
				}
			}
			for _, w := range test.Warnings {
				d.Warning = w.Error()
				if !warned[d.Warning] && d.Warning != "all samples are equal" {
					warned[d.Warning] = true
					c.Caveats = append(c.Caveats, d.Warning)
				}
			}
			c.Differences = append(c.Differences, d)
		}
	}
	for _, arm := range newOnly(newer.Trials, byOld) {
		c.Caveats = append(c.Caveats, arm+" is only in "+newer.Name)
	}
	if len(older.Trials) > 0 && len(newer.Trials) > 0 {
		c.Caveats = append(c.Caveats, otherHost(older.Trials[0].Environment, newer.Trials[0].Environment)...)
	}
	return c
}

// callsPerLane says how many calls the lanes of an arm's trials make: one
// number, but for a folder into which trials of several runs were put.
func callsPerLane(trials []Trial) string {
	var calls []int
	for i := range trials {
		calls = append(calls, trials[i].Factors.CallsPerLane)
	}
	slices.Sort(calls)
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Compact(calls)), "[]"), " ", " or ")
}

func nonZero(x float64) bool { return x != 0 }

func newOnly(trials []Trial, has map[string][]Trial) []string {
	names, _ := Arms(trials, nil)
	return slices.DeleteFunc(names, func(n string) bool { return len(has[n]) > 0 })
}

func otherHost(a, b Environment) []string {
	var out []string
	for _, f := range []struct{ what, a, b string }{
		{"systems", a.OS + "/" + a.Arch, b.OS + "/" + b.Arch}, {"CPUs", a.CPU, b.CPU}, {"numbers of cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores)},
		{"filesystems", a.Filesystem, b.Filesystem}, {"kernels", a.Kernel, b.Kernel},
	} {
		if f.a != f.b {
			out = append(out, fmt.Sprintf("different %s: %s and %s", f.what, f.a, f.b))
		}
	}
	return out
}

// String is the comparison as a table.
func (c Comparison) String() string {
	rows := [][]string{{"arm", "metric", "old", "", "new", "", "change", "test"}}
	last := ""
	for _, d := range c.Differences {
		arm := d.Arm
		if arm == last {
			arm = ""
		}
		last = d.Arm
		delta := d.Delta
		switch d.Better {
		case 1:
			delta += " better"
		case -1:
			delta += " worse"
		}
		rows = append(rows, []string{arm, d.Metric, d.show(d.Old.Median), d.Old.spread(), d.show(d.New.Median), d.New.spread(), delta, d.Test})
	}
	var b strings.Builder
	b.WriteString(Grid(rows))
	for _, w := range c.Caveats {
		fmt.Fprintf(&b, "note: %s\n", w)
	}
	return b.String()
}

// ComparisonJSON is a [Comparison] as JSON: base units, null where the trials
// are too few for an interval.
type ComparisonJSON struct {
	OK          bool             `json:"ok"`
	Command     string           `json:"command"`
	Differences []DifferenceJSON `json:"differences"`
	Caveats     []string         `json:"caveats"`
}

// DifferenceJSON is one row of it.
type DifferenceJSON struct {
	Arm    string      `json:"arm"`
	Metric string      `json:"metric"`
	Old    SummaryJSON `json:"old"`
	New    SummaryJSON `json:"new"`
	Change string      `json:"change"`
	Test   string      `json:"test"`
	Better int         `json:"better"`
}

// SummaryJSON is a median and its 95% interval: latencies in nanoseconds.
type SummaryJSON struct {
	N      int      `json:"n"`
	Median float64  `json:"median"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
}

// JSON is the comparison for scripts.
func (c Comparison) JSON() ComparisonJSON {
	out := ComparisonJSON{OK: true, Command: "lab compare", Caveats: c.Caveats}
	for _, d := range c.Differences {
		out.Differences = append(out.Differences, DifferenceJSON{d.Arm, d.Metric, d.Old.json(), d.New.json(), d.Delta, d.Test, d.Better})
	}
	return out
}

func (s Summary) json() SummaryJSON {
	out := SummaryJSON{N: s.N, Median: s.Median}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		out.Lo, out.Hi = &s.Lo, &s.Hi
	}
	return out
}
