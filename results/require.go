package results

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Threshold is one requirement decided before a run: a metric, how it
// compares, and a value in the metric's base unit (nanoseconds, bytes, a number).
type Threshold struct {
	Text   string // as it was given
	metric required
	op     string
	value  float64
}

// required is a metric that thresholds may name.
type required struct {
	name string
	kind string // "duration", "bytes" or "number"
	of   func(*Trial) float64
	// known tells whether the trial measured it; nil: when it is above zero.
	known func(*Trial) bool
}

var requirable = []required{
	{"calls/s", "number", (*Trial).CallsPerSecond, nil},
	{"p50", "duration", func(t *Trial) float64 { return float64(t.ResponseQuantile(.5)) }, nil},
	{"p99", "duration", func(t *Trial) float64 { return float64(t.ResponseQuantile(.99)) }, nil},
	{"max", "duration", func(t *Trial) float64 { return float64(t.WorstWait()) }, nil},
	// The index of no calls is 1, and a count of nothing tried is 0.
	{"jain", "number", (*Trial).Fairness, func(t *Trial) bool { return slices.ContainsFunc(t.Lanes, func(l Lane) bool { return l.Calls > 0 }) }},
	{"cpu", "duration", func(t *Trial) float64 { return float64(t.CPUPerCall()) }, nil},
	{"memory", "bytes", func(t *Trial) float64 { return float64(t.ServerPeakRSS) }, nil},
	{"floor", "number", (*Trial).FloorRatio, nil},
	{"errors", "number", func(t *Trial) float64 { return float64(t.Failures()) }, func(t *Trial) bool { return t.Calls+t.Failures() > 0 }},
	{"dropped", "number", func(t *Trial) float64 { return float64(t.Dropped) }, func(t *Trial) bool { return t.Calls+t.Failures()+t.Dropped > 0 }},
	{"broken", "number", func(t *Trial) float64 { return float64(len(t.Broken())) }, func(t *Trial) bool { return len(t.Unchecked()) < len(t.Promises) }},
}

func (r required) measured(t *Trial) bool {
	if r.known == nil {
		return r.of(t) > 0
	}
	return r.known(t)
}

// ErrThreshold is returned when an expression can't be read; the error's text
// says which part, and what there is.
var ErrThreshold = errors.New("bad threshold")

// ParseThresholds reads "p99<1s,errors=0": comparisons with <, <=, =, >= or >,
// separated by commas. Durations have Go's units, sizes MiB or bytes.
func ParseThresholds(expr string) ([]Threshold, error) {
	var out []Threshold
	for _, part := range strings.Split(expr, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		at := strings.IndexAny(part, "<>=")
		if at < 0 {
			return nil, fmt.Errorf("%w %q: no comparison; write for example p99<1s", ErrThreshold, part)
		}
		name, rest := strings.TrimSpace(part[:at]), part[at:]
		op := rest[:1]
		if op != "=" && strings.HasPrefix(rest[1:], "=") {
			op += "="
		}
		i := slices.IndexFunc(requirable, func(r required) bool { return r.name == name })
		if i < 0 {
			var names []string
			for _, r := range requirable {
				names = append(names, r.name)
			}
			return nil, fmt.Errorf("%w %q: no metric %q; there are %s", ErrThreshold, part, name, strings.Join(names, " "))
		}
		value, err := parseValue(strings.TrimSpace(rest[len(op):]), requirable[i].kind)
		if err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrThreshold, part, err)
		}
		out = append(out, Threshold{part, requirable[i], op, value})
	}
	return out, nil
}

func parseValue(s, kind string) (float64, error) {
	scale := 1.0
	switch kind {
	case "duration":
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration; write for example 250ms", s)
		}
		return float64(d), nil
	case "bytes":
		for unit, n := range map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
			if rest, ok := strings.CutSuffix(s, unit); ok {
				s, scale = strings.TrimSpace(rest), n
			}
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return x * scale, nil
}

func (th Threshold) holds(x float64) bool {
	switch th.op {
	case "<":
		return x < th.value
	case "<=":
		return x <= th.value
	case ">":
		return x > th.value
	case ">=":
		return x >= th.value
	}
	return x == th.value
}

// distance is how far x lies towards missing the threshold, and past it.
func (th Threshold) distance(x float64) float64 {
	switch th.op {
	case "<", "<=":
		return x - th.value
	case ">", ">=":
		return th.value - x
	}
	return math.Abs(x - th.value)
}

func (th Threshold) show(x float64) string {
	switch th.metric.kind {
	case "duration":
		return FormatDuration(time.Duration(x))
	case "bytes":
		return FormatBytes(int64(x))
	}
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return FormatNumber(x)
}

// Require holds every trial without a fault against the thresholds, a line an
// arm and threshold. Each trial must meet it, not their median: the line shows
// the one that comes closest to missing it, or misses it furthest. What a trial
// didn't measure it doesn't meet.
func Require(ths []Threshold, trials []Trial, order []string) (ok bool, lines []string) {
	ok = true
	names, byArm := Arms(trials, order)
	for _, th := range ths {
		checked := false
		for _, name := range names {
			ts := byArm[name]
			if ts[0].Factors.Fault != NoFault {
				continue
			}
			checked = true
			worst := slices.MaxFunc(Of(ts, th.metric.of), func(a, b float64) int { return cmp.Compare(th.distance(a), th.distance(b)) })
			mark, shown := "✓", th.show(worst)
			unknown := 0
			for i := range ts {
				if !th.metric.measured(&ts[i]) {
					unknown++
				}
			}
			if unknown > 0 {
				shown = fmt.Sprintf("not measured in %d of %d trials", unknown, len(ts))
			}
			if unknown > 0 || !th.holds(worst) {
				mark, ok = "✗", false
			}
			lines = append(lines, fmt.Sprintf("%s %s  %s: %s", mark, th.Text, name, shown))
		}
		if !checked {
			ok, lines = false, append(lines, fmt.Sprintf("✗ %s  no trial to hold it against", th.Text))
		}
	}
	return ok, lines
}
