package results

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Table is the run's main table as text, an arm a row: medians over its
// trials, with 95% intervals where there are six trials or more. What all arms
// have in common stands in a line above.
func Table(trials []Trial, order []string) string {
	rows, common := TableRows(trials, order)
	return common + Grid(rows)
}

// TableRows are [Table]'s cells, the first row its head, and what all arms
// have in common.
func TableRows(trials []Trial, order []string) (rows [][]string, common string) {
	names, byArm := Arms(trials, order)
	short, common := shorten(names)
	rows = [][]string{{"arm", "n", "calls/s", "p50", "p99", "worst", "Jain", "×floor", "promises"}}
	for i, name := range names {
		ts := byArm[name]
		rate := Summarize(Of(ts, (*Trial).CallsPerSecond))
		var worst time.Duration
		for j := range ts {
			worst = max(worst, ts[j].WorstWait())
		}
		rows = append(rows, []string{short[i], fmt.Sprint(len(ts)), strings.TrimSpace(FormatNumber(rate.Median) + " " + rate.spread()),
			dash(ts, func(t *Trial) float64 { return float64(t.ResponseQuantile(.5)) }, showDuration),
			dash(ts, func(t *Trial) float64 { return float64(t.ResponseQuantile(.99)) }, showDuration),
			FormatDuration(worst), fmt.Sprintf("%.3f", Median(Of(ts, (*Trial).Fairness))), dash(ts, (*Trial).FloorRatio, FormatNumber), promisesCell(ts)})
	}
	return rows, common
}

// Costs is what a call costs and where its time goes, an arm a row: CPU and
// memory of the servers, the disk's floor, and the medians over trials of each
// phase's mean a call.
// The text leaves out what would not fit into 80 columns: the floor, told
// elsewhere, and the decision, which takes microseconds.
func Costs(trials []Trial, order []string) string {
	rows := CostRows(trials, order)
	for i, r := range rows {
		rows[i] = slices.Concat(r[:3], r[4:7], r[8:])
	}
	return Grid(rows)
}

// CostRows are [Costs]'s cells, the first row its head.
func CostRows(trials []Trial, order []string) [][]string {
	names, byArm := Arms(trials, order)
	short, _ := shorten(names)
	rows := [][]string{{"arm", "CPU/call", "server", "floor", "×floor", "lock", "read", "decide", "append", "fsync", "release"}}
	for i, name := range names {
		ts := byArm[name]
		phase := func(steps ...string) string {
			return dash(ts, func(t *Trial) float64 {
				var sum float64
				for _, s := range steps {
					if p := t.Phases[s]; p.Count > 0 {
						sum += float64(p.Total) / float64(p.Count)
					}
				}
				return sum
			}, showDuration)
		}
		rows = append(rows, []string{short[i], dash(ts, func(t *Trial) float64 { return float64(t.CPUPerCall()) }, showDuration),
			dash(ts, func(t *Trial) float64 { return float64(t.ServerPeakRSS) }, func(x float64) string { return FormatBytes(int64(x)) }),
			dash(ts, func(t *Trial) float64 { return float64(floorOf(t)) }, showDuration), dash(ts, (*Trial).FloorRatio, FormatNumber),
			phase("acquire"), phase("read", "fold"), phase("decide"), phase("append"), phase("sync"), phase("release")})
	}
	return rows
}

// OutageRows are the arms with a fault: what the other lanes saw of it, the
// worst of the trials. Nil where no arm has one.
func OutageRows(trials []Trial, order []string) [][]string {
	names, byArm := Arms(trials, order)
	short, _ := shorten(names)
	var rows [][]string
	for i, name := range names {
		var sum Outage
		n, torn := 0, 0
		for _, t := range byArm[name] {
			if o := t.Outage; o != nil {
				n++
				sum.Injected += o.Injected
				sum.Longest, sum.Recovery = max(sum.Longest, o.Longest), max(sum.Recovery, o.Recovery)
				sum.FailClosed += o.FailClosed
				sum.Adopted += o.Adopted
				sum.Unknown += o.Unknown
				if o.Torn {
					torn++
				}
			}
		}
		if n > 0 {
			rows = append(rows, []string{short[i], fmt.Sprint(n), fmt.Sprint(sum.Injected), FormatDuration(sum.Longest), FormatDuration(sum.Recovery),
				fmt.Sprint(sum.FailClosed), fmt.Sprint(sum.Adopted), fmt.Sprint(sum.Unknown), fmt.Sprint(torn)})
		}
	}
	if rows == nil {
		return nil
	}
	return append([][]string{{"arm", "n", "struck", "longest outage", "recovery", "failed closed", "adopted", "outcome unknown", "torn"}}, rows...)
}

func floorOf(t *Trial) time.Duration {
	if t.Floor == nil {
		return 0
	}
	return t.Floor.Median
}

// ShortNames are arms' names without what all of them have in common.
func ShortNames(names []string) []string {
	short, _ := shorten(names)
	return short
}

// shorten leaves out of arms' names what all have in common, but for the
// lanes, and says it in a line.
func shorten(names []string) (short []string, common string) {
	if len(names) < 2 {
		return names, ""
	}
	shared := func(part string) bool {
		for _, n := range names {
			if !slices.Contains(strings.Split(n, "/"), part) {
				return false
			}
		}
		return !strings.HasPrefix(part, "lanes=")
	}
	var all []string
	for _, part := range strings.Split(names[0], "/") {
		if shared(part) {
			all = append(all, part)
		}
	}
	for _, n := range names {
		short = append(short, strings.Join(slices.DeleteFunc(strings.Split(n, "/"), shared), "/"))
	}
	if len(all) == 0 {
		return short, ""
	}
	return short, "all arms: " + strings.Join(all, ", ") + "\n"
}

// dash shows the median of what is known, and a dash where nothing is.
func dash(ts []Trial, of func(*Trial) float64, show func(float64) string) string {
	var known []float64
	for _, x := range Of(ts, of) {
		if x > 0 {
			known = append(known, x)
		}
	}
	if len(known) == 0 {
		return "–"
	}
	return show(Median(known))
}

func promisesCell(ts []Trial) string {
	var broken, skipped, errs, empty int64
	for i := range ts {
		if ts[i].empty() != "" {
			empty++
		}
		broken += int64(len(ts[i].Broken()))
		skipped += int64(len(ts[i].Unchecked()))
		if ts[i].Factors.Fault == NoFault {
			errs += ts[i].Failures()
		}
	}
	switch {
	case broken > 0:
		return fmt.Sprintf("%d BROKEN", broken)
	case errs > 0:
		return fmt.Sprintf("%d errors", errs)
	case empty > 0:
		return fmt.Sprintf("%d empty", empty)
	case skipped > 0:
		return "held, some unchecked"
	}
	return "held"
}

// TrialLine is one trial in a line, as the lab prints it while it runs.
func TrialLine(t *Trial, done, of int) string {
	verdict := "held"
	if b := t.Broken(); len(b) > 0 {
		verdict = "BROKEN: " + b[0].Name
	} else if n := t.Failures(); n > 0 && t.Factors.Fault == NoFault {
		verdict = fmt.Sprintf("%d errors", n)
	} else if why := t.empty(); why != "" {
		verdict = "empty: " + why
	} else if t.Outage != nil && t.Outage.Torn {
		verdict = "torn: the bus stopped at a death within an append"
	}
	return fmt.Sprintf("%*d/%d  %s  trial %d  %s calls/s  p50 %s  p99 %s  %s", len(fmt.Sprint(of)), done, of, t.Arm, t.Trial,
		FormatNumber(t.CallsPerSecond()), FormatDuration(t.ResponseQuantile(.5)), FormatDuration(t.ResponseQuantile(.99)), verdict)
}

// A Verdict is what a run comes to.
type Verdict struct {
	OK    bool
	Lines []string // what a person reads, the first one the verdict itself
}

// empty says why a trial shows nothing, though nothing went wrong in it; empty
// when it shows something.
func (t *Trial) empty() string {
	switch {
	case t.Calls <= 0:
		return "no call was answered"
	case len(t.Unchecked()) == len(t.Promises):
		return "no promise was checked"
	}
	return ""
}

// NotChecked begins a verdict's line on a promise that some trial couldn't check.
const NotChecked = "not checked: "

// Judge says whether every trial kept every promise, and whether the calls of
// every trial without a fault were answered: a bus that answers nobody breaks no
// promise, and hasn't held. Nor has one of which a trial checked nothing.
func Judge(trials []Trial) Verdict {
	var v Verdict
	var promises, calls int64
	var empty []string
	skipped := make(map[string]string)
	var errs int64
	for i := range trials {
		t := &trials[i]
		calls += t.Calls
		if t.Factors.Fault == NoFault {
			errs += t.Failures()
		}
		if why := t.empty(); why != "" {
			empty = append(empty, fmt.Sprintf("EMPTY: %s, trial %d (seed %d): %s", t.Arm, t.Trial, t.Seed, why))
		}
		for _, p := range t.Promises {
			switch {
			case p.Skipped:
				skipped[p.Name] = p.Detail
			case p.OK:
				promises++
			default:
				v.Lines = append(v.Lines, fmt.Sprintf("BROKEN in %s, trial %d (seed %d): %s: %s", t.Arm, t.Trial, t.Seed, p.Name, p.Detail))
			}
		}
	}
	broken := len(v.Lines)
	if errs > 0 {
		v.Lines = append(v.Lines, "ERRORS: "+errorList(trials))
	}
	v.Lines = append(v.Lines, empty...)
	switch {
	case len(trials) == 0:
		v.Lines = []string{"NOT HELD: no trial was finished"}
	case len(v.Lines) > 0:
		v.Lines = append([]string{fmt.Sprintf("NOT HELD: %d promises broken, %d calls failed, %d empty, in %d trials", broken, errs, len(empty), len(trials))}, v.Lines...)
	default:
		v.OK = true
		v.Lines = []string{fmt.Sprintf("held: %d promises checked in %d trials, %d calls", promises, len(trials), calls)}
	}
	for _, name := range sortedKeys(skipped) {
		v.Lines = append(v.Lines, fmt.Sprintf("%s%s: %s", NotChecked, name, skipped[name]))
	}
	return v
}

func (v Verdict) String() string { return strings.Join(v.Lines, "\n") }

// errorList sums the errors of trials without a fault, by class.
func errorList(trials []Trial) string {
	sum := make(map[string]int64)
	for i := range trials {
		if trials[i].Factors.Fault == NoFault {
			for class, n := range trials[i].Errors {
				sum[class] += n
			}
		}
	}
	var parts []string
	for _, class := range sortedKeys(sum) {
		if sum[class] > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", sum[class], class))
		}
	}
	return strings.Join(parts, ", ")
}
