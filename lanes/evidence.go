package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaia/results"
)

// LaneEvidence is what doctor and `gaia lanes` quote. Its JSON begins with the
// three members that the bus has always shown.
type LaneEvidence struct {
	// Supported is the larger of [Inherited] and the highest rung that trials
	// validated with all three conditions on this host's platform.
	Supported int `json:"supported"`
	// NextValidationTarget is the lowest rung above Supported; null at the top.
	NextValidationTarget *int `json:"nextValidationTarget"`
	// UnprovenWithRealClients is the highest rung not validated with real
	// clients on this platform; null when all are.
	UnprovenWithRealClients *int `json:"unprovenWithRealClients"`
	// Measured is the highest rung validated on this platform, by workers of
	// any class; null where none is.
	Measured *int `json:"measured"`
	// HighestMeasured is the largest count in any trial of evidence known here, held or not.
	HighestMeasured int `json:"highestMeasured"`
	// Policy says where Supported comes from.
	Policy string `json:"policy"`
	// Missing says for the next rung which conditions recorded trials don't meet.
	Missing []string `json:"missing"`
	// Provenance is where the numbers come from; null where this platform was
	// never measured.
	Provenance *Provenance `json:"provenance"`
}

// Provenance is the trials behind the numbers, summed up. Latencies are
// responses, from the intended start.
type Provenance struct {
	Platform       string   `json:"platform"` // e.g. "linux/amd64"
	Class          string   `json:"class"`
	Date           string   `json:"date"` // UTC day of the run's start
	Revision       string   `json:"revision"`
	Run            string   `json:"run"`
	Lanes          int      `json:"lanes"`
	Trials         int      `json:"trials"`
	LogEvents      int      `json:"logEvents"`      // in the log when the trials started
	CallsPerSecond float64  `json:"callsPerSecond"` // median of the trials
	P50Ms          float64  `json:"p50Ms"`          // median of the trials
	P99Ms          float64  `json:"p99Ms"`          // worst of the trials
	PromisesHeld   bool     `json:"promisesHeld"`
	Promises       []string `json:"promises"` // by name, those held in all trials
	Source         string   `json:"source"`   // which records
	Digest         string   `json:"digest"`   // SHA-256 of those records
	// SameHost says whether the fingerprint is this host's; Host says it in words.
	SameHost bool   `json:"sameHost"`
	Host     string `json:"host"`
}

// A Source is a run's records and where they came from.
type Source struct {
	results.Run
	// Own marks a run that this host's user adopted: it wins over shipped ones.
	Own bool
}

func (s *Source) name() string {
	if s.Own {
		return "adopted on this host: " + s.Name
	}
	return "shipped: results/recorded/" + s.Name
}

// Platform names what a measurement may be claimed for.
func Platform(e results.Environment) string {
	p := e.OS + "/" + e.Arch
	if strings.EqualFold(e.Virtual, "wine") {
		p += " under Wine"
	}
	return p
}

// sameHost compares fingerprints by what doesn't change from day to day.
func sameHost(a, b results.Environment) bool {
	return a.OS == b.OS && a.Arch == b.Arch && a.CPU == b.CPU && a.Cores == b.Cores &&
		a.Filesystem == b.Filesystem && a.Virtual == b.Virtual &&
		// Kernels report a little more or less memory from boot to boot.
		max(a.Memory, b.Memory)-min(a.Memory, b.Memory) <= max(a.Memory, b.Memory)/20
}

// Evidence computes what the recorded runs support on a host. It is a pure
// function: the same records and host give the same answer. Of the runs made
// on the host's platform one is quoted: an own before a shipped one, then the
// newest. It is quoted whatever it shows.
func Evidence(runs []Source, host results.Environment) LaneEvidence {
	e := LaneEvidence{Supported: Inherited, Policy: fmt.Sprintf("%d lanes are inherited policy, not measured", Inherited)}
	for i := range runs {
		for j := range runs[i].Trials {
			if t := &runs[i].Trials[j]; counts(t) {
				e.HighestMeasured = max(e.HighestMeasured, t.Factors.Lanes)
			}
		}
	}
	run := choose(runs, host)
	if run == nil {
		e.Missing = missing(newLedger(nil), nextRung(e.Supported))
		e.NextValidationTarget = rungAbove(e.Supported)
		e.UnprovenWithRealClients = ptr(slices.Max(Rungs()))
		if len(runs) > 0 {
			e.Policy += "; no recorded trials are of " + Platform(host)
		}
		return e
	}
	l := newLedger(run.Trials)
	shown := 0
	for _, rung := range Rungs() {
		level, _ := l.validates(rung, anyClass)
		if level == 0 {
			break // a ladder isn't climbed past a missing rung
		}
		e.Measured, shown = ptr(rung), level
		if rung > Inherited && len(missing(l, rung)) == 0 {
			e.Supported = rung
			e.Policy = fmt.Sprintf("%d lanes are validated by recorded trials, with all three conditions", rung)
		}
	}
	for _, rung := range Rungs() {
		if level, _ := l.validates(rung, realClients); level == 0 {
			e.UnprovenWithRealClients = ptr(rung)
		}
	}
	e.NextValidationTarget = rungAbove(e.Supported)
	if e.NextValidationTarget != nil {
		e.Missing = missing(l, *e.NextValidationTarget)
	}
	if shown == 0 { // nothing validated: quote what was tried
		shown = l.highest()
	}
	e.Provenance = provenance(run, l.at(shown, anyClass), host)
	return e
}

func ptr[T any](v T) *T { return &v }

func rungAbove(n int) *int {
	for _, r := range Rungs() {
		if r > n {
			return ptr(r)
		}
	}
	return nil
}

func nextRung(n int) int {
	if r := rungAbove(n); r != nil {
		return *r
	}
	return slices.Max(Rungs())
}

// choose picks the run that speaks for the host's platform.
func choose(runs []Source, host results.Environment) *Source {
	var best *Source
	for i := range runs {
		r := &runs[i]
		if !slices.ContainsFunc(r.Trials, func(t results.Trial) bool { return eligible(&t) && Platform(t.Environment) == Platform(host) }) {
			continue
		}
		if best == nil || cmp.Or(boolCompare(r.Own, best.Own), started(r).Compare(started(best))) > 0 {
			best = r
		}
	}
	return best
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func started(s *Source) time.Time {
	if len(s.Trials) == 0 {
		return time.Time{}
	}
	return s.Trials[0].Start
}

// counts tells whether a trial may be evidence of anything: what was measured
// must be known down to its source.
func counts(t *results.Trial) bool {
	return t.Lab.Revision != "" && !t.Lab.Dirty
}

// eligible tells whether a trial speaks about a rung: an undisturbed one on a
// log that is large enough, by the shipped read path.
func eligible(t *results.Trial) bool {
	return counts(t) && t.Factors.Fault == "none" && t.Factors.Path == "tail" && t.Factors.Prefill >= MinLog
}

// fails says why a trial doesn't hold what a rung asks; empty when it does.
func fails(t *results.Trial) string {
	switch broken, skipped := t.Broken(), t.Unchecked(); {
	case len(broken) > 0:
		return "broke the promise: " + broken[0].Name
	case len(skipped) > 0:
		return "left unchecked: " + skipped[0].Name
	case len(t.Promises) == 0:
		return "recorded no promises"
	case t.Failures() > 0:
		return fmt.Sprintf("had %d calls that failed", t.Failures())
	case t.Dropped > 0:
		return fmt.Sprintf("dropped %d intended calls", t.Dropped)
	}
	var sum int64
	least := int64(-1)
	for _, l := range t.Lanes {
		sum += l.Calls
		if least < 0 || l.Calls < least {
			least = l.Calls
		}
	}
	switch p99 := t.ResponseQuantile(.99); {
	case len(t.Lanes) != t.Factors.Lanes:
		return fmt.Sprintf("has rows for %d of %d lanes", len(t.Lanes), t.Factors.Lanes)
	case 2*least*int64(len(t.Lanes)) < sum:
		return fmt.Sprintf("starved a lane: %d calls, under half the mean", least)
	case p99 <= 0:
		return "recorded no response times"
	case p99 >= MaxP99:
		return fmt.Sprintf("had a p99 response of %v, not under %v", p99.Round(time.Millisecond), MaxP99)
	}
	return ""
}
