package harness

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The faults a trial may have. The ones in the lock take a step of the
// commit, before which the holder is caught: "kill-holder:append". One lane,
// the first, is the victim; the others tell what they saw of it. Only
// kill-storm strikes all; it may take [MkdirPeer] after its colon.
const (
	FaultNone        = "none"
	FaultKillHolder  = "kill-holder"
	FaultStallHolder = "stall-holder"
	FaultKillClient  = "kill-client"
	FaultKillStorm   = "kill-storm"
)

// MkdirPeer is the variant of kill-storm with a lane that knows mkdir's lock alone.
const MkdirPeer = "mkdir-peer"

// Faults are the faults' names.
func Faults() []string {
	return []string{FaultNone, FaultKillHolder, FaultStallHolder, FaultKillClient, FaultKillStorm}
}

// FaultSteps are the steps at which a holder can be caught, in their order.
func FaultSteps() []string {
	return []string{"acquire", "read", "fold", "decide", "append", "sync", "release"}
}

// A fault is what a lane does to its server or itself.
type fault struct {
	Kind    string `json:"kind,omitzero"` // empty: none
	Step    string `json:"step,omitzero"`
	Call    int    `json:"call,omitzero"` // in which call of the lane
	StallNs int64  `json:"stallNs,omitzero"`
	LifeNs  int64  `json:"lifeNs,omitzero"` // kill-storm: a server's mean life; 0: this lane's is spared

	mkdirPeer bool
}

// stallFor is how long a stalled holder stays stopped: long enough to be seen
// in any latency, short against the bus's lock deadline.
const stallFor = 2 * time.Second

// parseFault reads a fault as Factors spell it.
func parseFault(s string, calls int) (fault, error) {
	kind, step, hasStep := strings.Cut(s, ":")
	f := fault{Kind: kind, Call: calls/2 + 1}
	switch kind {
	case "", FaultNone:
		f = fault{}
	case FaultKillClient:
	case FaultKillStorm:
		if f = (fault{Kind: kind, LifeNs: int64(stormLife), mkdirPeer: hasStep}); hasStep && step != MkdirPeer {
			return f, usagef("fault %q: no variant %q; there is %s", s, step, MkdirPeer)
		}
		return f, nil
	case FaultKillHolder, FaultStallHolder:
		if f.Step = step; !hasStep {
			f.Step = "sync"
		}
		if kind == FaultStallHolder {
			f.StallNs = int64(stallFor)
		}
		if !slices.Contains(FaultSteps(), f.Step) {
			return f, usagef("fault %q: no step %q; there are %s", s, step, strings.Join(FaultSteps(), " "))
		}
		return f, nil
	default:
		return f, usagef("no fault %q; there are %s", s, strings.Join(Faults(), " "))
	}
	if hasStep {
		return f, usagef("fault %q has no step", kind)
	}
	return f, nil
}

const (
	parkedLine = "gaia-lab: parked before "
	// parkFor is how long a failpoint waits to be killed or stopped. A
	// server that is stopped meanwhile goes on as soon as it is let go.
	parkFor = time.Second
)

// Failpoint makes the hook of the lab's own server entry: `gaia lab server
// --fault STEP:N` parks the N-th time it comes to STEP, says so on stderr and
// waits for a second. The lane, which reads its server's stderr, kills or
// stops it meanwhile: from outside, as a kernel would, and never by itself.
// The hook may be called from several goroutines.
func Failpoint(spec string, stderr io.Writer) (hook func(step string), err error) {
	at, nth, ok := strings.Cut(spec, ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	if !ok || err != nil || n < 1 || !slices.Contains(FaultSteps(), at) {
		return nil, usagef("fault %q is not STEP:N with a step out of %s", spec, strings.Join(FaultSteps(), " "))
	}
	var seen atomic.Int64
	return func(step string) {
		if step == at && seen.Add(1) == n {
			// The lane may stop this process before the sleep has begun.
			end := time.Now().Add(parkFor)
			_, _ = io.WriteString(stderr, parkedLine+step+"\n") // one write: the line must not be cut
			time.Sleep(time.Until(end))
		}
	}, nil
}

// spec is the fault as the server entry takes it; its first commit is the
// registration, before the lane's first call.
func (f fault) spec() string { return fmt.Sprintf("%s:%d", f.Step, f.Call+1) }

// inServer tells whether the fault needs the lab's own server entry.
func (f fault) inServer() bool { return f.Kind == FaultKillHolder || f.Kind == FaultStallHolder }
