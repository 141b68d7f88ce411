package harness

import (
	"cmp"
	"slices"
	"time"

	"gaia/results"
)

// measure fills t with what the histories say. Registrations before the
// barrier are in the histories and in no figure. Latencies are of calls that
// got the bus's envelope, fail-closed ones too: their waits were real.
func measure(t *results.Trial, histories []History, at int64) {
	response, service := latencies{}, latencies{}
	t.Errors, t.Phases = map[string]int64{}, map[string]results.Phase{}
	last := at
	if first := tappedFrom(histories); first != 0 {
		at = first // real clients take their time to start
	}
	for _, h := range histories {
		row := &t.Lanes[h.Lane-1]
		var times []time.Duration
		for _, c := range h.Calls {
			if c.Call == 0 {
				continue
			}
			last = max(last, c.End)
			row.Elapsed = max(row.Elapsed, time.Duration(c.End-at))
			switch c.Outcome {
			case OutcomeOK:
				row.Calls++
			case OutcomeKilled: // the lab's doing, told in the outage
			case OutcomeRefused: // the work provokes none
				row.Calls++
				fallthrough
			default:
				row.Errors++
				// What the lab did to its victim isn't the bus's error.
				if !h.Victim || c.Answered() {
					t.Errors[c.Outcome]++
				}
			}
			for step, ns := range c.Phases {
				p := t.Phases[step]
				p.Count++
				p.Total += time.Duration(ns)
				p.Max = max(p.Max, time.Duration(ns))
				t.Phases[step] = p
			}
			row.MaxWait = max(row.MaxWait, time.Duration(c.Phases[stepAcquire]))
			if c.Answered() {
				times = append(times, time.Duration(c.End-c.Intended))
				response.record(c.Verb, c.End-c.Intended)
				service.record(c.Verb, c.End-c.Start)
			}
		}
		t.Calls += row.Calls
		if slices.Sort(times); len(times) > 0 {
			row.Min, row.Max = times[0], times[len(times)-1]
			row.Median, row.P99 = rank(times, 0.5), rank(times, 0.99)
		}
	}
	t.Wall = time.Duration(last - at)
	t.Response, t.Service = response.strings(), service.strings()
}

// tappedFrom is when the first real client made its first call; 0: none did.
func tappedFrom(histories []History) (first int64) {
	for _, h := range histories {
		if h.Tapped && (first == 0 || h.Calls[0].Start < first) {
			first = h.Calls[0].Start
		}
	}
	return first
}

// stepAcquire is the phase that waits for the lock.
const stepAcquire = "acquire"

// rank is the smallest value that at least the share q of the sorted times
// doesn't exceed.
func rank(sorted []time.Duration, q float64) time.Duration {
	i := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i, 1), len(sorted))-1]
}

type latencies map[string]*results.Histogram

func (l latencies) record(verb string, ns int64) {
	for _, name := range []string{verb, "all"} {
		if l[name] == nil {
			l[name] = results.NewHistogram()
		}
		l[name].Record(time.Duration(ns))
	}
}

func (l latencies) strings() map[string]string {
	m := make(map[string]string, len(l))
	for name, h := range l {
		m[name] = h.String()
	}
	return m
}

// A strike is one fault done to a lane.
type strike struct {
	lane int // index
	at   int64
}

// outage is what the lanes but the victim saw of faults: from the first on the
// longest time without an answer to any of them, the longest time from a fault
// to the first answer to another lane's call that began after it (an answer on
// its way when the fault struck proves nothing), and how many calls failed
// closed.
func outage(histories []History, struck []strike) *results.Outage {
	o := &results.Outage{Injected: len(struck)}
	for _, h := range histories {
		for _, c := range h.Calls {
			if c.Outcome == OutcomeKilled {
				o.Unknown++
			}
		}
	}
	if len(struck) == 0 {
		return o
	}
	first := slices.MinFunc(struck, func(a, b strike) int { return cmp.Compare(a.at, b.at) }).at
	var ends []int64
	for _, h := range histories {
		for _, c := range h.Calls {
			switch {
			case h.Victim || c.Call == 0:
			case c.failedClosed() && c.End >= first:
				o.FailClosed++
			case c.Answered() && !c.failedClosed():
				ends = append(ends, c.End)
			}
		}
	}
	slices.Sort(ends)
	after, _ := slices.BinarySearch(ends, first)
	for i := max(after, 1); i < len(ends); i++ {
		o.Longest = max(o.Longest, time.Duration(ends[i]-ends[i-1]))
	}
	for lane := range histories {
		answered := answersBut(histories, lane)
		for _, s := range struck {
			if s.lane != lane {
				continue
			}
			i, _ := slices.BinarySearchFunc(answered, s.at, func(a span, at int64) int { return cmp.Compare(a.start, at) })
			if i < len(answered) {
				o.Recovery = max(o.Recovery, time.Duration(answered[i].end-s.at))
			}
		}
	}
	return o
}

type span struct{ start, end int64 }

// answersBut are the answered calls of all lanes but one, by their start; each
// end is the earliest of its own and all later ones.
func answersBut(histories []History, lane int) (spans []span) {
	for i, h := range histories {
		for _, c := range h.Calls {
			if i != lane && c.Call > 0 && c.Answered() && !c.failedClosed() {
				spans = append(spans, span{c.Start, c.End})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := len(spans) - 2; i >= 0; i-- {
		spans[i].end = min(spans[i].end, spans[i+1].end)
	}
	return spans
}
