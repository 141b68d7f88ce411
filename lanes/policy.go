// Package lanes says how many lanes one data directory is known to carry: what
// is policy, what was measured, and what is missing for more. The evidence is a
// pure function of recorded trials; no number in it is written by hand.
//
// A lane is a client process with a server process of its own. The ladder:
//
//  1. 4 lanes are supported. That is policy inherited from the bus's author,
//     and the evidence says so.
//  2. 6 is the next to be validated, 8 is unproven with real clients; more is
//     refused.
//  3. A rung is validated on a platform when, at that count or more, on a log
//     of [MinLog] events or more, in all of [MinTrials] trials or more: every
//     promise held, no call ended in an error or failed closed, no lane had
//     less than half the mean, and the 99th percentile of the response was
//     under [MaxP99].
//  4. The supported count rises above 4 only when, for that rung and those on
//     the way to it, recorded trials also show a read path of bounded cost, real
//     clients at that count, and a holder's death survived.
//  5. What is measured on one operating system is claimed for no other, and a
//     record without the clean source revision of the lab and of every server is
//     no evidence. Nor is one of other servers alone: in a mix one server at
//     least is the lab's own build.
package lanes

import (
	"fmt"
	"strings"
	"time"
)

// Inherited is the count that is supported without evidence of ours.
const Inherited = 4

// What a trial set must reach, see the package doc.
const (
	MinLog    = 10_000
	MinTrials = 10
	MaxP99    = time.Second
	// MaxGrowth bounds the read path's cost: a call on a log [GrowthSpan] times
	// as large may take at most so many times as long.
	MaxGrowth  = 1.2
	GrowthSpan = 100
)

// Rungs are the ladder's counts, ascending.
func Rungs() []int { return []int{Inherited, 6, 8} }

// A RefusedError is returned when more lanes were asked for than the evidence
// allows; its text says how many, what is supported, what is next and missing.
type RefusedError struct {
	Asked    int
	Evidence LaneEvidence
	// Beyond says that not even an operator who accepts an unproven count may
	// have it: nobody ever measured so many.
	Beyond bool
}

func (e *RefusedError) Error() string {
	ev := &e.Evidence
	var b strings.Builder
	fmt.Fprintf(&b, "%d lanes refused: %d are supported", e.Asked, ev.Supported)
	if ev.NextValidationTarget != nil {
		fmt.Fprintf(&b, ", %d is the next validation target", *ev.NextValidationTarget)
	}
	if len(ev.Missing) > 0 {
		fmt.Fprintf(&b, "; missing for it: %s", strings.Join(ev.Missing, "; "))
	}
	if e.Beyond {
		fmt.Fprintf(&b, "; no more than %d were ever measured, so --experimental-lanes doesn't allow it either", ev.HighestMeasured)
	} else {
		b.WriteString("; --experimental-lanes accepts an unproven count, and makes no evidence")
	}
	return b.String()
}

// Allow answers a request for n lanes: nil, or a [RefusedError]. It never
// clamps. Experimental records that an operator accepted an unproven count.
func Allow(e LaneEvidence, n int, experimental bool) error {
	switch {
	case n <= e.Supported:
		return nil
	case n > e.HighestMeasured:
		return &RefusedError{Asked: n, Evidence: e, Beyond: true}
	case experimental:
		return nil
	}
	return &RefusedError{Asked: n, Evidence: e}
}
