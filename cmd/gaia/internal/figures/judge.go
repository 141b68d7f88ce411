package figures

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gaia/results"
)

// The targets. A bound holds at its very value.
const (
	referenceRatio = 100.0    // calls/s over the reference's, at least
	floorRatio     = 1.5      // one lane's call over a bare commit, at most
	lanesRatio     = 0.9      // calls/s of all lanes over one lane's, at least
	fairness       = 0.95     // Jain's index, at least
	worstTurns     = 4        // × lanes × the median wait: the worst wait, at most
	growthRatio    = 1.2      // a call on the largest log over one on the smallest, at most
	validateRatio  = 3.0      // a first call over validating the log, at most
	initializeMore = 0.1      // what initialize takes longer on that log, over the same, at most
	privateMemory  = 64 << 20 // bytes, at most
	sqliteRatio    = 1.0      // commits/s over SQLite's, at least
	sqliteWorst    = 0.1      // worst wait over SQLite's, at most
	manyCalls      = 1000.0   // calls/s, at least
	manyP99        = 100 * time.Millisecond
	manyKills      = 10_000
)

// A State is what became of a figure.
type State string

// A figure without a target is told beside those that have one.
const (
	Reached     State = "reached"
	Missed      State = "missed"
	NotMeasured State = "not measured" // never counted as reached
	Beside      State = "beside"
)

// A Row is one figure.
type Row struct {
	Figure  string    `json:"figure"`
	State   State     `json:"state"`
	Unit    string    `json:"unit"` // "×", "calls/s", "index", "kills", "locks", "ns" or "bytes"
	Value   *float64  `json:"value"`
	Samples []float64 `json:"samples"`        // what the value is the median of, the largest or the sum
	Bound   string    `json:"bound,omitzero"` // "≤" or "≥"
	Target  float64   `json:"target,omitzero"`
	Why     string    `json:"why,omitzero"` // it is not measured, or what is more to say
}

// A Contender is processes that commit at once: lanes of the bus, or what they
// are held against.
type Contender struct {
	Name           string  `json:"name"`
	Processes      int     `json:"processes"`
	N              int     `json:"n"`
	CallsPerSecond float64 `json:"callsPerSecond"`
	Jain           float64 `json:"jain"`
	MedianMs       float64 `json:"medianMs"`
	WorstMs        float64 `json:"worstMs"` // the longest of all
	WorstInMedians float64 `json:"worstInMedians"`
}

// A Table is what a run's records say.
type Table struct {
	Rows       []Row       `json:"rows"`
	Contenders []Contender `json:"contenders"`
	// Broken is why figures don't count: calls of the bus that failed, or
	// promises that it broke. Empty: none.
	Broken []string `json:"broken"`
	// Unchecked are promises that some trial couldn't check, and why.
	Unchecked []string `json:"unchecked"`
	// Incomplete is what of the run's plan isn't recorded; empty: nothing.
	Incomplete string `json:"incomplete,omitzero"`
}

// ErrNotFigures is returned when a folder's records are of another kind of run.
var ErrNotFigures = errors.New("not a run of gaia lab figures")

// Read judges the records in a run's folder.
func Read(dir string) (*Table, results.Run, error) {
	run, err := results.ReadRunDir(dir)
	if err != nil {
		return nil, run, err
	}
	measured, err := results.ReadMeasurements(dir)
	if err != nil {
		return nil, run, err
	}
	t, err := Judge(run, measured)
	if err != nil {
		return nil, run, fmt.Errorf("%s: %w", dir, err)
	}
	return t, run, nil
}

// Judge makes the table of a run's records. It measures nothing.
func Judge(run results.Run, measured []results.Measurement) (*Table, error) {
	if run.Plan == nil || run.Plan.Preset != results.PresetFigures || len(run.Plan.Arms) <= armStorm {
		return nil, ErrNotFigures
	}
	if err := oneRun(run, measured); err != nil {
		return nil, err
	}
	j := judge{arms: run.Plan.Arms, trials: run.Trials, measured: measured, table: &Table{Rows: []Row{}, Contenders: []Contender{}, Broken: []string{}, Unchecked: []string{}}}
	j.bus()
	j.reference()
	j.oneLane()
	j.fairness()
	j.growth()
	j.fresh()
	j.sqlite()
	j.many()
	j.kills()
	j.contenders()
	j.complete(run.Plan)
	return j.table, nil
}

// oneRun refuses records of several runs, binaries or hosts: a ratio of two of
// them says nothing.
func oneRun(run results.Run, measured []results.Measurement) error {
	type origin struct {
		run, sha256 string
		host        results.Environment
	}
	var first *origin
	same := func(of origin) error {
		of.host.LoadBefore = 0
		if first == nil {
			first = &of
		}
		switch {
		case of.run != run.Plan.Run:
			return fmt.Errorf("%w: a record of run %q is among those of %q", ErrNotFigures, of.run, run.Plan.Run)
		case of.sha256 != first.sha256:
			return fmt.Errorf("%w: its records are of two binaries, %.12s and %.12s", ErrNotFigures, first.sha256, of.sha256)
		case of.host != first.host:
			return fmt.Errorf("%w: its records are of two hosts or disks", ErrNotFigures)
		}
		return nil
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		if err := same(origin{t.Run, t.Lab.SHA256, t.Environment}); err != nil {
			return err
		}
	}
	for i := range measured {
		m := &measured[i]
		if err := same(origin{m.Run, m.Lab.SHA256, m.Environment}); err != nil {
			return err
		}
	}
	return nil
}

// complete tells a run that was ended early: whoever ends one may have liked
// what it showed by then.
func (j *judge) complete(p *results.Plan) {
	of := len(p.Order)
	done := of - len(p.Left(j.trials))
	// The last thing that a round measures.
	rounds := len(j.find(results.Contention, results.BySQLite, j.arms[armMany].Factors.Lanes))
	if done < of || rounds < p.Trials {
		j.table.Incomplete = fmt.Sprintf("incomplete: %d of %d trials and %d of %d rounds are recorded", done, of, rounds, p.Trials)
	}
}

func (t *Table) count(s State) (n int) {
	for _, r := range t.Rows {
		if r.State == s {
			n++
		}
	}
	return n
}

// OK tells that the run was whole, that something was measured, that all of it
// reached its target, and that the bus kept its promises meanwhile.
func (t *Table) OK() bool {
	return t.Incomplete == "" && t.count(Reached) > 0 && t.count(Missed) == 0 && len(t.Broken) == 0
}

// Verdict is what the table comes to: a line, and one for each figure that was
// missed or not measured.
func (t *Table) Verdict() []string {
	reached, missed, not := t.count(Reached), t.count(Missed), t.count(NotMeasured)
	sum := fmt.Sprintf("reached %d of %d figures, missed %d, not measured %d", reached, reached+missed+not, missed, not)
	if len(t.Broken) > 0 {
		sum += "; none of it counts, for the bus didn't hold:"
	}
	lines := append([]string{sum}, t.Broken...)
	lines = append(lines, t.Unchecked...)
	if t.Incomplete != "" {
		lines = append(lines, t.Incomplete)
	}
	for _, r := range t.Rows {
		switch r.State {
		case Reached:
			if r.Why != "" {
				lines = append(lines, fmt.Sprintf("reached: %s: %s, but %s", r.Figure, r.here(), r.Why))
			}
		case Missed:
			line := fmt.Sprintf("missed: %s: %s, target %s %s", r.Figure, r.here(), r.Bound, r.show(r.Target))
			if r.Why != "" {
				line += ": " + r.Why
			}
			lines = append(lines, line)
		case NotMeasured:
			lines = append(lines, fmt.Sprintf("not measured: %s: %s", r.Figure, r.Why))
		}
	}
	return lines
}

type judge struct {
	arms     []results.Arm
	trials   []results.Trial
	measured []results.Measurement
	table    *Table
}

// A series is one number a round.
type series map[int]float64

func (s series) values() []float64 {
	var out []float64
	for _, n := range slices.Sorted(maps.Keys(s)) {
		out = append(out, s[n])
	}
	return out
}

func (s series) largest() float64 { return largest(s.values()) }

// largest is 0 for none.
func largest(xs []float64) float64 { return slices.Max(append([]float64{0}, xs...)) }

// over divides round by round: both were measured in turn.
func (s series) over(t series) series {
	out := series{}
	for n, x := range s {
		if y := t[n]; y > 0 {
			out[n] = x / y
		}
	}
	return out
}

// of is one number of an arm's trials.
func (j *judge) of(arm int, number func(*results.Trial) float64) series {
	out := series{}
	for i := range j.trials {
		if t := &j.trials[i]; arm < len(j.arms) && t.Arm == j.arms[arm].Name {
			out[t.Trial] = number(t)
		}
	}
	return out
}

// find are the measurements of one kind, by round.
func (j *judge) find(what, by string, processes int) map[int]*results.Measurement {
	out := map[int]*results.Measurement{}
	for i := range j.measured {
		if m := &j.measured[i]; m.What == what && m.By == by && m.Processes == processes {
			out[m.Round] = m
		}
	}
	return out
}

// A place is a sample's: its round, and its number there.
type place struct{ round, n int }

// samples are all samples of one kind, by their place, and the log they began
// with.
func (j *judge) samples(what string) (out map[place]float64, events int, size int64) {
	out = map[place]float64{}
	found := j.find(what, "", 0)
	for i, round := range slices.Sorted(maps.Keys(found)) {
		m := found[round]
		if i == 0 { // each start adds a record to the log
			events, size = m.Events, m.LogSize
		}
		for n, d := range m.Samples {
			out[place{round, n}] = float64(d)
		}
		for n, b := range m.Bytes {
			out[place{round, n}] = float64(b)
		}
	}
	return out, events, size
}

// inOrder lists samples as they were taken.
func inOrder(samples map[place]float64) (out []float64) {
	for _, p := range slices.SortedFunc(maps.Keys(samples), func(a, b place) int { return cmp.Or(a.round-b.round, a.n-b.n) }) {
		out = append(out, samples[p])
	}
	return out
}

// A figure is a row before it is judged.
type figure struct {
	name    string
	unit    string
	samples []float64
	value   float64 // where it isn't the median
	bound   string
	target  float64
	why     string // where there are no samples
}

const notRecorded = "the run was ended before it was measured"

func (j *judge) add(f figure) {
	row := Row{Figure: f.name, Unit: f.unit, Samples: f.samples, Bound: f.bound, Target: f.target, State: Beside}
	if len(f.samples) == 0 {
		if f.bound == "" {
			return
		}
		row.State, row.Why, row.Samples = NotMeasured, cmp.Or(f.why, notRecorded), []float64{}
		j.table.Rows = append(j.table.Rows, row)
		return
	}
	value := cmp.Or(f.value, results.Median(f.samples))
	row.Value = &value
	switch {
	case f.bound == "":
	case f.bound == "≤" && value <= f.target, f.bound == "≥" && value >= f.target:
		row.State = Reached
	default:
		row.State = Missed
	}
	j.table.Rows = append(j.table.Rows, row)
}

// bus holds the bus's own trials to their promises: a figure of calls that
// failed, or of a log that lost one, is worth nothing. The reference's are its
// own affair.
func (j *judge) bus() {
	ours := slices.DeleteFunc(slices.Clone(j.trials), func(t results.Trial) bool { return len(t.Factors.Servers) > 0 })
	if len(ours) == 0 {
		return
	}
	v := results.Judge(ours)
	for _, line := range v.Lines {
		switch {
		case strings.HasPrefix(line, results.NotChecked):
			j.table.Unchecked = append(j.table.Unchecked, line)
		case !v.OK:
			j.table.Broken = append(j.table.Broken, line)
		}
	}
}

func serviceMedian(t *results.Trial) float64  { return float64(t.ServiceQuantile(.5)) }
func responseMedian(t *results.Trial) float64 { return float64(t.ResponseQuantile(.5)) }
func worst(t *results.Trial) float64          { return float64(t.WorstWait()) }

func (j *judge) reference() {
	f := j.arms[armFew].Factors
	ours, theirs := j.of(armFew, (*results.Trial).CallsPerSecond), j.of(armReference, (*results.Trial).CallsPerSecond)
	why := "name its command with --reference"
	if len(j.arms) > armReference {
		why = ""
	}
	// A server that answers a few calls and fails the rest is slow in no way
	// that a ratio could tell.
	for n, failures := range j.of(armReference, func(t *results.Trial) float64 { return float64(t.Failures() + t.Dropped) }) {
		if failures > 0 {
			delete(theirs, n)
			why = "calls of the reference failed"
		}
	}
	j.add(figure{name: fmt.Sprintf("%d lanes / the reference, %s events", f.Lanes, thousands(f.Prefill)), unit: "×",
		samples: ours.over(theirs).values(), bound: "≥", target: referenceRatio, why: why})
	j.add(figure{name: "gaia, calls/s", unit: "calls/s", samples: ours.values()})
	j.add(figure{name: "the reference, calls/s", unit: "calls/s", samples: theirs.values()})
}

func (j *judge) oneLane() {
	events := thousands(j.arms[armOne].Factors.Prefill)
	floors := j.of(armOne, (*results.Trial).FloorRatio)
	maps.DeleteFunc(floors, func(_ int, x float64) bool { return x == 0 })
	j.add(figure{name: "a call / a bare commit, " + events + " events", unit: "×", samples: floors.values(), bound: "≤", target: floorRatio})
	medians := func(what string) series {
		out := series{}
		for n, m := range j.find(what, "", 0) {
			out[n] = median(m.Samples)
		}
		return out
	}
	j.add(figure{name: "the log's commit alone / bare commit", unit: "×", samples: medians(results.CommitOfLog).over(medians(results.CommitBare)).values()})
}

func (j *judge) fairness() {
	n := j.arms[armLanes].Factors.Lanes
	rate := (*results.Trial).CallsPerSecond
	j.add(figure{name: fmt.Sprintf("%d lanes / one lane, calls/s", n), unit: "×", samples: j.of(armLanes, rate).over(j.of(armOne, rate)).values(), bound: "≥", target: lanesRatio})
	j.add(figure{name: fmt.Sprintf("%d lanes, Jain's index", n), unit: "index", samples: j.of(armLanes, (*results.Trial).Fairness).values(), bound: "≥", target: fairness})
	turns, calls := j.of(armLanes, (*results.Trial).WorstInMedians), j.of(armLanes, worst).over(j.of(armOne, responseMedian))
	j.add(figure{name: fmt.Sprintf("%d lanes, worst wait / their median", n), unit: "×", samples: turns.values(), value: turns.largest(), bound: "≤", target: float64(worstTurns * n)})
	j.add(figure{name: "the same / one lane's median", unit: "×", samples: calls.values(), value: calls.largest()})
}

func (j *judge) growth() {
	large, small := j.arms[armLarge].Factors.Prefill, j.arms[armSmall].Factors.Prefill
	j.add(figure{name: fmt.Sprintf("a call at %s events / at %s", thousands(large), thousands(small)), unit: "×",
		samples: j.of(armLarge, serviceMedian).over(j.of(armSmall, serviceMedian)).values(), bound: "≤", target: growthRatio})
}

func (j *judge) fresh() {
	first, events, size := j.samples(results.FirstCall)
	validate, _, _ := j.samples(results.ValidateLog)
	on := ""
	if events > 0 {
		on = fmt.Sprintf(" at %s events", thousands(events))
	}
	j.add(figure{name: "first call" + on + " / IsValid", unit: "×", samples: pairwise(first, validate), bound: "≤", target: validateRatio})
	j.add(figure{name: "that call", unit: "ns", samples: inOrder(first)})
	j.add(figure{name: "IsValid over its " + results.FormatBytes(size), unit: "ns", samples: inOrder(validate)})
	// A server that read the log before its first call would pass the figure above.
	initialize, _, _ := j.samples(results.InitializeLog)
	empty, _, _ := j.samples(results.InitializeEmpty)
	more := map[place]float64{}
	for p, x := range initialize {
		if y, ok := empty[p]; ok {
			more[p] = x - y
		}
	}
	j.add(figure{name: "initialize reading the log / IsValid", unit: "×", samples: pairwise(more, validate), bound: "≤", target: initializeMore})
	j.add(figure{name: "initialize on no log", unit: "ns", samples: inOrder(empty)})
	sizes, _, _ := j.samples(results.PrivateMemory)
	memory := inOrder(sizes)
	why := ""
	for _, m := range j.find(results.PrivateMemory, "", 0) {
		why = m.Missing
	}
	j.add(figure{name: "private memory" + on, unit: "bytes", samples: memory, value: largest(memory), bound: "≤", target: privateMemory, why: why})
}

// pairwise divides samples that were taken in turn.
func pairwise(a, b map[place]float64) []float64 {
	out := map[place]float64{}
	for p, x := range a {
		if y := b[p]; y > 0 {
			out[p] = x / y
		}
	}
	return inOrder(out)
}

func (j *judge) sqlite() {
	for _, arm := range []int{armLanes, armMany} {
		lanes := j.arms[arm].Factors.Lanes
		rates, longest, why := series{}, series{}, ""
		for n, m := range j.find(results.Contention, results.BySQLite, lanes) {
			if m.Missing != "" {
				why = m.Missing
				continue
			}
			rates[n], longest[n] = m.Trial().CallsPerSecond(), worst(m.Trial())
		}
		// Every call is one commit.
		j.add(figure{name: fmt.Sprintf("%d lanes / SQLite, commits/s", lanes), unit: "×", samples: j.of(arm, (*results.Trial).CallsPerSecond).over(rates).values(),
			bound: "≥", target: sqliteRatio, why: why})
		// The worst of all rounds over the worst of all: a longest wait is one
		// event, and a round in which SQLite had luck says little.
		ours := j.of(arm, worst)
		both := ours.over(longest)
		f := figure{name: fmt.Sprintf("%d lanes / SQLite, worst wait", lanes), unit: "×", samples: both.values(), bound: "≤", target: sqliteWorst, why: why}
		if len(both) > 0 {
			f.value = ours.largest() / longest.largest()
		}
		j.add(f)
	}
}

func (j *judge) many() {
	f := j.arms[armMany].Factors
	j.add(figure{name: fmt.Sprintf("%d lanes, calls/s, %s events", f.Lanes, thousands(f.Prefill)), unit: "calls/s",
		samples: j.of(armMany, (*results.Trial).CallsPerSecond).values(), bound: "≥", target: manyCalls})
	j.add(figure{name: fmt.Sprintf("%d lanes, p99", f.Lanes), unit: "ns",
		samples: j.of(armMany, func(t *results.Trial) float64 { return float64(t.ResponseQuantile(.99)) }).values(), bound: "≤", target: float64(manyP99)})
}

// kills counts those that a bus went on after, in trials that held every
// promise: getting through is one. Too few show nothing in either way.
func (j *judge) kills() {
	row := Row{Figure: "servers killed, the bus went on", Unit: "kills", Bound: "≥", Target: manyKills, Samples: []float64{}}
	var sum, locks float64
	var adopted []float64
	trials, torn := 0, 0
	for _, t := range j.trials {
		if t.Arm != j.arms[armStorm].Name || t.Outage == nil {
			continue
		}
		trials++
		if t.Outage.Torn {
			torn++
		}
		if len(t.Broken()) > 0 {
			row.State, row.Why = Missed, "a trial broke a promise"
		} else if len(t.Unchecked()) == 0 {
			row.Samples = append(row.Samples, float64(t.Outage.Injected))
			sum += float64(t.Outage.Injected)
			adopted = append(adopted, float64(t.Outage.Adopted))
			locks += float64(t.Outage.Adopted)
		}
	}
	switch {
	case row.State == Missed:
		row.Value = &sum
	case sum >= manyKills:
		row.State, row.Value = Reached, &sum
	case trials > 0:
		row.State, row.Why = NotMeasured, fmt.Sprintf("only %s kills; take more with --trials", thousands(int(sum)))
	default:
		row.State, row.Why = NotMeasured, notRecorded
	}
	if torn > 0 {
		tears := fmt.Sprintf("in %d of %d trials a death tore the log's last line, at which the bus stops by design; their kills are left out", torn, trials)
		row.Why = strings.TrimPrefix(row.Why+"; "+tears, "; ")
	}
	j.table.Rows = append(j.table.Rows, row)
	j.add(figure{name: "locks of the dead, adopted", unit: "locks", samples: adopted, value: locks})
}

// contenders sums up all that contended, the bus first.
func (j *judge) contenders() {
	add := func(name string, processes int, trials []results.Trial) {
		if len(trials) == 0 {
			return
		}
		c := Contender{Name: name, Processes: processes, N: len(trials),
			CallsPerSecond: results.Median(results.Of(trials, (*results.Trial).CallsPerSecond)), Jain: results.Median(results.Of(trials, (*results.Trial).Fairness)),
			MedianMs: results.Median(results.Of(trials, responseMedian)) / 1e6}
		for i := range trials {
			c.WorstMs = max(c.WorstMs, worst(&trials[i])/1e6)
			c.WorstInMedians = max(c.WorstInMedians, trials[i].WorstInMedians())
		}
		j.table.Contenders = append(j.table.Contenders, c)
	}
	for _, arm := range []int{armOne, armLanes, armMany} {
		add("gaia, all of MCP", j.arms[arm].Factors.Lanes, slices.DeleteFunc(slices.Clone(j.trials), func(t results.Trial) bool { return t.Arm != j.arms[arm].Name }))
	}
	type key struct {
		by, version string
		processes   int
	}
	var order []key
	by := map[key][]results.Trial{}
	for i := range j.measured {
		if m := &j.measured[i]; m.What == results.Contention && m.Missing == "" {
			k := key{m.By, m.Version, m.Processes}
			if by[k] == nil {
				order = append(order, k)
			}
			by[k] = append(by[k], *m.Trial())
		}
	}
	for _, k := range order {
		name := "bare " + k.by
		if k.by == results.BySQLite {
			name = strings.TrimSpace(k.by+" "+k.version) + ", WAL, FULL"
		}
		add(name, k.processes, by[k])
	}
}

func median(samples []time.Duration) float64 {
	xs := make([]float64, len(samples))
	for i, d := range samples {
		xs[i] = float64(d)
	}
	return results.Median(xs)
}

// thousands prints 10000 as 10,000.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
