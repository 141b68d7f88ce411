package results

import (
	"math"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

// CallsPerSecond is the trial's throughput: answered calls over the wall time
// from the barrier to the last reply.
func (t *Trial) CallsPerSecond() float64 {
	if t.Wall <= 0 {
		return 0
	}
	return float64(t.Calls) / t.Wall.Seconds()
}

// ResponseQuantile is a quantile of the response time of all verbs, from the
// intended start; 0 where the record has no readable histogram.
func (t *Trial) ResponseQuantile(q float64) time.Duration { return quantile(t.Response["all"], q) }

// ServiceQuantile is the same from the real start.
func (t *Trial) ServiceQuantile(q float64) time.Duration { return quantile(t.Service["all"], q) }

func quantile(text string, q float64) time.Duration {
	if text == "" {
		return 0
	}
	h, err := ParseHistogram(text)
	if err != nil {
		return 0
	}
	return h.Quantile(q)
}

// CPUPerCall is the servers' user and system time for one answered call.
func (t *Trial) CPUPerCall() time.Duration {
	if t.Calls == 0 {
		return 0
	}
	return t.ServerCPU / time.Duration(t.Calls)
}

// Failures counts calls that ended in an error of any class.
func (t *Trial) Failures() int64 {
	var n int64
	for _, c := range t.Errors {
		n += c
	}
	return n
}

// Broken lists the promises that were checked and did not hold.
func (t *Trial) Broken() []Promise {
	var broken []Promise
	for _, p := range t.Promises {
		if !p.OK && !p.Skipped {
			broken = append(broken, p)
		}
	}
	return broken
}

// Unchecked lists the promises that could not be checked.
func (t *Trial) Unchecked() []Promise {
	var skipped []Promise
	for _, p := range t.Promises {
		if p.Skipped {
			skipped = append(skipped, p)
		}
	}
	return skipped
}

// Fairness is Jain's index over the lanes' pace, answered calls over the time
// each lane took for them: 1 when all are alike, 1/n when one has everything.
// Where the record has no such times it is over their calls.
func (t *Trial) Fairness() float64 {
	shares := make([]float64, 0, len(t.Lanes))
	for _, l := range t.Lanes {
		pace := float64(l.Calls)
		if l.Elapsed > 0 {
			pace /= l.Elapsed.Seconds()
		}
		shares = append(shares, pace)
	}
	return Jain(shares)
}

// WorstWait is the longest response of any lane.
func (t *Trial) WorstWait() time.Duration {
	var worst time.Duration
	for _, l := range t.Lanes {
		worst = max(worst, l.Max)
	}
	return worst
}

// WorstInMedians is the longest response of any lane over the median response
// of all: 1 where every wait is alike; 0 where no call was answered.
func (t *Trial) WorstInMedians() float64 {
	median := t.ResponseQuantile(.5)
	if median <= 0 {
		return 0
	}
	return float64(t.WorstWait()) / float64(median)
}

// FloorRatio is the median service time over the median of the bare floor
// measured beside the trial; 0 where no floor was measured.
func (t *Trial) FloorRatio() float64 {
	if t.Floor == nil || t.Floor.Median <= 0 {
		return 0
	}
	return float64(t.ServiceQuantile(.5)) / float64(t.Floor.Median)
}

// Jain is Jain's fairness index, (Σx)² / (n·Σx²): from 1/n to 1. It is 1 for
// no shares, or none above zero.
func Jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// A Summary is a sample's median with its confidence interval, distribution-free.
// Lo and Hi are infinite where the sample is too small for one; Warning says so.
type Summary struct {
	N              int
	Median, Lo, Hi float64
	Warning        string
}

// Confidence is the level of every interval the lab prints.
const Confidence = 0.95

// Summarize gives the median of values and its 95% interval.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{Median: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1), Warning: "no samples"}
	}
	s := benchmath.AssumeNothing.Summary(sample(values), Confidence)
	out := Summary{N: len(values), Median: s.Center, Lo: s.Lo, Hi: s.Hi}
	if len(s.Warnings) > 0 {
		out.Warning = s.Warnings[0].Error()
	}
	return out
}

// sample copies: the library sorts what it is given.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// Median is the middle of values, 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return Summarize(values).Median
}

// Of collects one number a trial.
func Of(trials []Trial, number func(*Trial) float64) []float64 {
	out := make([]float64, len(trials))
	for i := range trials {
		out[i] = number(&trials[i])
	}
	return out
}
