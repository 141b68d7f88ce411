package lanes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gaia/results"
)

// classes is a set of evidence classes; nil is any.
type classes []string

var (
	anyClass    classes
	realClients = classes{results.ClassScriptedModel, results.ClassLiveModel}
)

func (c classes) has(class string) bool { return c == nil || slices.Contains(c, class) }

// classOf is what a trial may claim: a class of real clients takes a client,
// whatever the record calls itself.
func classOf(t *results.Trial) string {
	if t.Factors.Client == "" && realClients.has(t.Factors.Class) {
		return results.ClassIdentical
	}
	return t.Factors.Class
}

// rank orders the classes by what they may claim, weakest first.
func rank(class string) int {
	return slices.Index([]string{results.ClassIdentical, results.ClassMixed, results.ClassScriptedModel, results.ClassLiveModel}, class)
}

// A ledger is one run's trials that count, by what they can show.
type ledger struct {
	trials []results.Trial // all that count
}

func newLedger(trials []results.Trial) *ledger {
	l := new(ledger)
	for _, t := range trials {
		// Another platform's trials in one folder were put there by hand.
		if counts(&t) && Platform(t.Environment) == Platform(trials[0].Environment) {
			l.trials = append(l.trials, t)
		}
	}
	return l
}

// at lists the eligible trials at exactly so many lanes.
func (l *ledger) at(lanes int, c classes) []results.Trial {
	var out []results.Trial
	for _, t := range l.trials {
		if eligible(&t) && t.Factors.Lanes == lanes && c.has(classOf(&t)) {
			out = append(out, t)
		}
	}
	return out
}

// levels are the lane counts with eligible trials, ascending.
func (l *ledger) levels(c classes) []int {
	var out []int
	for _, t := range l.trials {
		if eligible(&t) && c.has(classOf(&t)) && !slices.Contains(out, t.Factors.Lanes) {
			out = append(out, t.Factors.Lanes)
		}
	}
	slices.Sort(out)
	return out
}

func (l *ledger) highest() int {
	if levels := l.levels(anyClass); len(levels) > 0 {
		return levels[len(levels)-1]
	}
	return 0
}

// validates finds the level that validates a rung: the lowest at or above it
// whose trials are enough and all held. A level on the way that failed stops
// the search, or eight lanes that held would hide six that didn't. It returns
// 0 and why where there is none.
func (l *ledger) validates(rung int, c classes) (level int, why string) {
	why = fmt.Sprintf("no trials at %d lanes or more on a log of %d events or more", rung, MinLog)
	for _, lanes := range l.levels(c) {
		if lanes < rung {
			continue
		}
		trials := l.at(lanes, c)
		for i := range trials {
			if f := fails(&trials[i]); f != "" {
				return 0, fmt.Sprintf("trial %d of %s %s", trials[i].Trial, trials[i].Arm, f)
			}
		}
		if len(trials) >= MinTrials {
			return lanes, ""
		}
		why = fmt.Sprintf("%d of %d trials at %d lanes", len(trials), MinTrials, lanes)
	}
	return 0, why
}

// missing lists what a rung lacks to be supported, in words; empty when nothing.
func missing(l *ledger, rung int) []string {
	var out []string
	if _, why := l.validates(rung, anyClass); why != "" {
		out = append(out, fmt.Sprintf("%d lanes held in %d trials or more: %s", rung, MinTrials, why))
	}
	if why := l.boundedRead(); why != "" {
		out = append(out, "a read path of bounded cost: "+why)
	}
	if _, why := l.validates(rung, realClients); why != "" {
		out = append(out, fmt.Sprintf("real clients at %d lanes: %s", rung, why))
	}
	if why := l.deathSurvived(rung); why != "" {
		out = append(out, "a holder's death survived: "+why)
	}
	return out
}

// A growth is how many times as long a call takes on a large log as on a small.
type growth struct {
	times        float64
	large, small int // events
}

// compare orders growths wholly, so that the worst of several doesn't depend on
// the order in which a map gives them.
func (a growth) compare(b growth) int {
	return cmp.Or(cmp.Compare(a.times, b.times), cmp.Compare(a.large, b.large), cmp.Compare(a.small, b.small))
}

// boundedRead says why the trials don't show that a call's cost is independent
// of the log's size: they do when no two sets, alike but for a log at least
// GrowthSpan times larger, differ in their median service time by more than
// MaxGrowth, and two such sets there are. A shape that grows isn't excused by
// one that doesn't. Trials that kept no promises, failed calls or timed none say
// nothing about a call's cost.
func (l *ledger) boundedRead() string {
	medians := make(map[string]map[int][]float64) // by shape and log size
	for i := range l.trials {
		t := &l.trials[i]
		f, median := t.Factors, float64(t.ServiceQuantile(.5))
		if f.Fault != "none" || f.Path != "tail" || f.Prefill <= 0 || unkept(t) != "" || t.Failures() > 0 || median <= 0 {
			continue
		}
		// All factors but the log's size, those to come too, and the servers'
		// builds: a run resumed with another build isn't alike.
		size := f.Prefill
		f.Prefill = 0
		shape := fmt.Sprintf("%+v %+v", f, t.Servers)
		if medians[shape] == nil {
			medians[shape] = make(map[int][]float64)
		}
		medians[shape][size] = append(medians[shape][size], median)
	}
	var grown []growth
	for _, bySize := range medians {
		for small, before := range bySize {
			for large, after := range bySize {
				if large >= MinLog && large >= GrowthSpan*small && len(before) >= 3 && len(after) >= 3 {
					grown = append(grown, growth{results.Median(after) / results.Median(before), large, small})
				}
			}
		}
	}
	if len(grown) == 0 {
		return fmt.Sprintf("no trials alike but for a log %d times larger", GrowthSpan)
	}
	if worst := slices.MaxFunc(grown, growth.compare); worst.times > MaxGrowth {
		return fmt.Sprintf("a call takes %.2f times as long at %d events as at %d; %.1f is allowed", worst.times, worst.large, worst.small, MaxGrowth)
	}
	return ""
}

// deathSurvived says why the trials don't show that the others go on when a
// lane dies holding the lock. Deaths count where a rung is measured, by the
// shipped read path on a log that is large enough; one that wasn't survived
// speaks against it wherever it was.
func (l *ledger) deathSurvived(rung int) string {
	struck := 0
	for i := range l.trials {
		t := &l.trials[i]
		if !strings.HasPrefix(t.Factors.Fault, "kill-holder") || t.Factors.Lanes < rung {
			continue
		}
		switch why := unkept(t); {
		case why != "":
			return fmt.Sprintf("trial %d of %s %s", t.Trial, t.Arm, why)
		case t.Outage == nil:
			return fmt.Sprintf("trial %d of %s recorded no outage", t.Trial, t.Arm)
		case t.Outage.FailClosed > 0:
			return fmt.Sprintf("in trial %d of %s %d calls of other lanes failed closed", t.Trial, t.Arm, t.Outage.FailClosed)
		}
		if t.Factors.Path == "tail" && t.Factors.Prefill >= MinLog {
			struck += t.Outage.Injected
		}
	}
	if struck == 0 {
		return fmt.Sprintf("no holder was killed in trials at %d lanes or more on a log of %d events or more", rung, MinLog)
	}
	return ""
}

func provenance(run results.Run, trials []results.Trial) *Provenance {
	if len(trials) == 0 {
		return nil
	}
	first := trials[0]
	p := &Provenance{
		Platform: Platform(first.Environment), Class: classOf(&first), Date: first.Start.UTC().Format(time.DateOnly),
		Revision: first.Lab.Revision, Run: first.Run, Lanes: first.Factors.Lanes, Trials: len(trials), LogEvents: first.Factors.Prefill,
		CallsPerSecond: round(results.Median(results.Of(trials, (*results.Trial).CallsPerSecond)), 1),
		PromisesHeld:   true, Digest: run.Digest,
	}
	var p50 []float64
	for i := range trials {
		t := &trials[i]
		if class := classOf(t); rank(class) < rank(p.Class) {
			p.Class = class // all of them are at least that
		}
		p50 = append(p50, ms(t.ResponseQuantile(.5)))
		p.P99Ms = max(p.P99Ms, round(ms(t.ResponseQuantile(.99)), 3))
		p.LogEvents = min(p.LogEvents, t.Factors.Prefill)
		p.PromisesHeld = p.PromisesHeld && unkept(t) == ""
	}
	p.P50Ms = round(results.Median(p50), 3)
	for _, pr := range first.Promises {
		if !slices.ContainsFunc(trials, func(t results.Trial) bool { return !holds(&t, pr.Name) }) {
			p.Promises = append(p.Promises, pr.Name)
		}
	}
	return p
}

func holds(t *results.Trial, promise string) bool {
	return slices.ContainsFunc(t.Promises, func(p results.Promise) bool { return p.Name == promise && p.OK })
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
