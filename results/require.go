package results

import (
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
}

var requirable = []required{
	{"calls/s", "number", (*Trial).CallsPerSecond},
	{"p50", "duration", func(t *Trial) float64 { return float64(t.ResponseQuantile(.5)) }},
	{"p99", "duration", func(t *Trial) float64 { return float64(t.ResponseQuantile(.99)) }},
	{"max", "duration", func(t *Trial) float64 { return float64(t.WorstWait()) }},
	{"jain", "number", (*Trial).Fairness},
	{"cpu", "duration", func(t *Trial) float64 { return float64(t.CPUPerCall()) }},
	{"memory", "bytes", func(t *Trial) float64 { return float64(t.ServerPeakRSS) }},
	{"floor", "number", (*Trial).FloorRatio},
	{"errors", "number", func(t *Trial) float64 { return float64(t.Failures()) }},
	{"dropped", "number", func(t *Trial) float64 { return float64(t.Dropped) }},
	{"broken", "number", func(t *Trial) float64 { return float64(len(t.Broken())) }},
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
// the one that comes closest to missing it, or misses it furthest.
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
			values := Of(ts, th.metric.of)
			worst := slices.Max(values)
			if strings.HasPrefix(th.op, ">") {
				worst = slices.Min(values)
			}
			mark := "✓"
			for _, x := range values {
				if !th.holds(x) {
					mark, worst, ok = "✗", x, false
					break
				}
			}
			lines = append(lines, fmt.Sprintf("%s %s  %s: %s", mark, th.Text, name, th.show(worst)))
		}
		if !checked {
			ok, lines = false, append(lines, fmt.Sprintf("✗ %s  no trial to hold it against", th.Text))
		}
	}
	return ok, lines
}
