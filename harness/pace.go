package harness

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gaia/results"
)

// sweep goes once over the log, from its end: a record may not stand before
// one whose call had ended when its own began. The log is its own witness of
// the order; the instants are the lanes'.
func (c *checker) sweep() {
	first := placed{call: &call{CallRecord: CallRecord{End: math.MaxInt64}}}
	for i := len(c.placed) - 1; i >= 0; i-- {
		p := c.placed[i]
		if first.call.End < p.call.Start {
			c.order.add("line %d (%s) stands before line %d (%s), whose call ended %v before the other began",
				p.line, p.call.name(), first.line, first.call.name(), time.Duration(p.call.Start-first.call.End))
		}
		if p.call.End < first.call.End {
			first = p
		}
	}
}

// starving counts what each lane had begun when the first one was done:
// until then all competed, and none may be under half their mean. A call in
// flight counts, or a trial of few calls would always fail. In a race that is
// over sooner than leastRace a lane may be behind because its process was not
// scheduled yet: that is not called starving, nor held. A kill-storm strikes
// its lanes alike, so that they compare; its mkdir-only peer, which nobody kills
// and no kernel wakes, doesn't, and must only get through.
func starving(histories []History) results.Promise {
	if slices.ContainsFunc(histories, func(h History) bool { return h.Tapped }) {
		return starvingClients(histories)
	}
	var f findings
	end, lanes := int64(math.MaxInt64), 0
	for _, h := range histories {
		if h.apart() {
			continue
		}
		lanes++
		var last int64
		if n := len(h.Calls); n > 0 {
			last = h.Calls[n-1].End
		}
		end = min(end, last)
	}
	counts, total, began := make([]int, len(histories)), 0, int64(math.MaxInt64)
	for i, h := range histories {
		for _, r := range h.Calls {
			if r.Call > 0 && r.Start <= end && !h.apart() {
				counts[i]++
				total++
				began = min(began, r.Start)
			}
		}
	}
	if lanes == 0 {
		f.add("no lane was left to tell")
		return f.promise(PromiseNoStarving, "")
	}
	mean := float64(total) / float64(lanes)
	least := math.MaxInt
	for i, h := range histories {
		if h.apart() {
			continue
		}
		least = min(least, counts[i])
		if float64(counts[i]) < mean/2 {
			f.add("lane %d had begun %d calls when the first lane was done; the mean is %.1f", h.Lane, counts[i], mean)
		}
	}
	p := f.promise(PromiseNoStarving, "at least %d calls a lane when the first was done, mean %.1f", least, mean)
	if race := time.Duration(end - began); !p.OK && race < leastRace {
		return results.Promise{Name: PromiseNoStarving, Skipped: true,
			Detail: fmt.Sprintf("the lanes competed for %v only, and it takes %v to tell (%s)", race.Round(time.Millisecond), leastRace, p.Detail)}
	}
	return p
}

const leastRace = 250 * time.Millisecond

// starvingClients compares how long real clients waited for an answer: they
// set their own pace, so that counting their calls would say nothing. None
// may be served at under half the mean rate while it waits.
func starvingClients(histories []History) results.Promise {
	const few = 10
	var f findings
	rates, total := make([]float64, len(histories)), 0.0
	for i, h := range histories {
		waited, answered := 0.0, 0
		for _, c := range h.Calls {
			if c.Answered() {
				waited += float64(c.End-c.Start) / 1e9
				answered++
			}
		}
		if answered < few {
			return results.Promise{Name: PromiseNoStarving, Skipped: true, Detail: "a client made too few calls to tell; at least 10 are needed"}
		}
		rates[i] = float64(answered) / math.Max(waited, 1e-9)
		total += rates[i]
	}
	mean := total / float64(len(histories))
	for i, h := range histories {
		if rates[i] < mean/2 {
			f.add("lane %d was served at %.1f calls a second while it waited; the mean is %.1f", h.Lane, rates[i], mean)
		}
	}
	return f.promise(PromiseNoStarving, "every client was served at %.1f calls a second or more while it waited, mean %.1f", slices.Min(rates), mean)
}
