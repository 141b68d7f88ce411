package lanes

import (
	"fmt"
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

// RunEvidence is what one run's records show, whoever asks: [Summarize] makes
// it, [Evidence] quotes it. The binary carries those of the shipped runs.
type RunEvidence struct {
	Name        string              `json:"name"` // of the run's folder
	Started     time.Time           `json:"started"`
	Environment results.Environment `json:"environment"`
	// Highest is the largest lane count in any trial that counts, held or not.
	Highest int `json:"highest"`
	// Uncounted trials are no evidence, for a revision isn't known, a tree had
	// changes, or no server was of the lab's own build.
	Uncounted int `json:"uncounted"`
	// Speaks tells whether any trial can speak about a rung.
	Speaks bool        `json:"speaks"`
	Rungs  []RungShown `json:"rungs"`
	Shown  *Provenance `json:"shown"` // without what depends on who asks
	own    bool
}

// RungShown is what a run shows of one rung.
type RungShown struct {
	Rung    int      `json:"rung"`
	Level   int      `json:"level"`     // lane count that validates it; 0: none
	Real    int      `json:"realLevel"` // the same with real clients
	Missing []string `json:"missing"`   // for supporting it
}

// Summarize computes what a run's records show. It is a pure function of them.
func Summarize(run results.Run) RunEvidence {
	e := RunEvidence{Name: run.Name}
	if len(run.Trials) > 0 {
		e.Started, e.Environment = run.Trials[0].Start, run.Trials[0].Environment
	}
	l := newLedger(run.Trials)
	e.Uncounted = len(run.Trials) - len(l.trials)
	for i := range l.trials {
		e.Highest = max(e.Highest, l.trials[i].Factors.Lanes)
		e.Speaks = e.Speaks || eligible(&l.trials[i])
	}
	shown, climbing := 0, true
	for _, rung := range Rungs() {
		r := RungShown{Rung: rung, Missing: missing(l, rung)}
		r.Level, _ = l.validates(rung, anyClass)
		r.Real, _ = l.validates(rung, realClients)
		if climbing = climbing && r.Level > 0; climbing {
			shown = r.Level
		}
		e.Rungs = append(e.Rungs, r)
	}
	if shown == 0 { // nothing validated: quote what was tried
		shown = l.highest()
	}
	e.Shown = provenance(run, l.at(shown, anyClass))
	return e
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

// Evidence says what the runs known to a host support there. It is a pure
// function: the same runs and host give the same answer. Of the runs made on
// the host's platform one is quoted: an own before a shipped one, then the
// newest. It is quoted whatever it shows.
func Evidence(runs []RunEvidence, host results.Environment) LaneEvidence {
	e := LaneEvidence{Supported: Inherited, Policy: fmt.Sprintf("%d lanes are inherited policy, not measured", Inherited)}
	for _, r := range runs {
		e.HighestMeasured = max(e.HighestMeasured, r.Highest)
	}
	run := choose(runs, host)
	if run == nil {
		uncounted := 0
		for _, r := range runs {
			uncounted += r.Uncounted
		}
		switch {
		case uncounted > 0:
			e.Policy += fmt.Sprintf("; %d recorded trials don't count, for lab and servers don't all name a clean revision, or no server is the lab's own build", uncounted)
		case len(runs) > 0:
			e.Policy += fmt.Sprintf("; no recorded trials on %s with a log of %d events or more", Platform(host), MinLog)
		}
		nothing := Summarize(results.Run{})
		run = &nothing
	}
	complete := true
	for _, r := range run.Rungs {
		if r.Level == 0 {
			break // a ladder isn't climbed past a missing rung
		}
		e.Measured = ptr(r.Rung)
		if r.Rung <= Inherited {
			continue // policy supports it, whatever it lacks
		}
		// Nor is support raised past a rung that lacks a condition.
		if complete = complete && len(r.Missing) == 0; complete {
			e.Supported = r.Rung
			e.Policy = fmt.Sprintf("%d lanes are validated by recorded trials, with all three conditions", r.Rung)
		}
	}
	for _, r := range run.Rungs {
		if r.Real == 0 {
			e.UnprovenWithRealClients = ptr(r.Rung)
		}
		if r.Rung > e.Supported && e.NextValidationTarget == nil {
			e.NextValidationTarget, e.Missing = ptr(r.Rung), r.Missing
		}
	}
	if run.Shown != nil {
		p := *run.Shown
		p.Source = "shipped: results/recorded/" + run.Name
		if run.own {
			p.Source = "adopted on this host: " + run.Name
		}
		p.SameHost, p.Host = sameHost(run.Environment, host), "not measured here"
		if p.SameHost {
			p.Host = "measured on a host with this one's fingerprint"
		}
		e.Provenance = &p
	}
	return e
}

func ptr[T any](v T) *T { return &v }

// choose picks the run that speaks for the host's platform.
func choose(runs []RunEvidence, host results.Environment) *RunEvidence {
	var best *RunEvidence
	for i := range runs {
		r := &runs[i]
		if !r.Speaks || Platform(r.Environment) != Platform(host) {
			continue
		}
		if best == nil || r.own && !best.own || r.own == best.own && r.Started.After(best.Started) {
			best = r
		}
	}
	return best
}

// counts tells whether a trial may be evidence of anything: what was measured
// must be known down to its source, and must be ours. The lab only drives; the
// numbers are the servers'. So each of them needs a clean revision, and one that
// a lane used needs the lab's, for that is the revision evidence is quoted with.
// Beside it a mix may have older builds and other implementations. Another
// server alone, however good, shows nothing about this bus, and a mix with one
// of no revision can't be repeated.
func counts(t *results.Trial) bool {
	own := false
	for i, s := range t.Servers {
		if !clean(s) {
			return false
		}
		own = own || i < t.Factors.Lanes && s.Revision == t.Lab.Revision
	}
	return clean(t.Lab) && own
}

func clean(b results.Binary) bool { return b.Revision != "" && !b.Dirty }

// eligible tells whether a trial speaks about a rung: an undisturbed one on a
// log that is large enough, by the shipped read path.
func eligible(t *results.Trial) bool {
	return counts(t) && t.Factors.Fault == "none" && t.Factors.Path == "tail" && t.Factors.Prefill >= MinLog
}

// unkept says why a trial doesn't show that every promise held; empty when it
// does. What nobody checked, nobody kept.
func unkept(t *results.Trial) string {
	switch broken, skipped := t.Broken(), t.Unchecked(); {
	case len(broken) > 0:
		return "broke the promise: " + broken[0].Name
	case len(skipped) > 0:
		return "left unchecked: " + skipped[0].Name
	case len(t.Promises) == 0:
		return "recorded no promises"
	}
	return ""
}

// fails says why a trial doesn't hold what a rung asks; empty when it does.
func fails(t *results.Trial) string {
	switch why := unkept(t); {
	case why != "":
		return why
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
