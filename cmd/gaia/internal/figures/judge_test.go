package figures_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gaia/cmd/gaia/internal/figures"
	"gaia/results"
)

// records are a run's, in which every figure is well within its target.
type records struct {
	run      results.Run
	measured []results.Measurement
}

const ms = time.Millisecond

// trial sets all trials of an arm alike: a rate, the median, p99 and worst
// response, and the floor that was measured beside it.
func trial(arm results.Arm, n int, rate float64, median, p99, worst, floor time.Duration) results.Trial {
	h := results.NewHistogram()
	for i := range 1000 {
		switch {
		case i < 980:
			h.Record(median)
		case i < 999:
			h.Record(p99)
		default:
			h.Record(worst)
		}
	}
	t := results.Trial{Schema: results.Schema, Arm: arm.Name, Trial: n, Factors: arm.Factors, Wall: time.Second, Calls: int64(rate),
		Response: map[string]string{"all": h.String()}, Service: map[string]string{"all": h.String()},
		Promises: []results.Promise{{Name: "whole lines", OK: true}}, Floor: &results.Floor{N: 1, Median: floor}}
	for i := range arm.Factors.Lanes {
		t.Lanes = append(t.Lanes, results.Lane{Lane: i + 1, Calls: int64(rate) / int64(arm.Factors.Lanes), Elapsed: time.Second, Max: worst})
	}
	return t
}

func storm(t results.Trial, kills int) results.Trial {
	t.Outage = &results.Outage{Injected: kills}
	return t
}

func sqlite(n, processes int, rate float64, worst time.Duration) results.Measurement {
	t := trial(results.Arm{Factors: results.Factors{Lanes: processes}}, n, rate, ms, ms, worst, ms)
	return results.Measurement{What: results.Contention, By: results.BySQLite, Processes: processes, Round: n, Wall: t.Wall, Lanes: t.Lanes, Response: t.Response["all"]}
}

func good() *records {
	c := figures.Default()
	c.Trials, c.Reference, c.ReferenceName = 2, "node x.mjs", "node x.mjs"
	r := &records{run: results.Run{Plan: c.Plan(time.Unix(0, 0))}}
	arms := r.run.Plan.Arms
	for n := 1; n <= 2; n++ {
		r.run.Trials = append(r.run.Trials,
			trial(arms[0], n, 1000, ms, 2*ms, 3*ms, ms),
			trial(arms[1], n, 1000, ms, 2*ms, 3*ms, ms),
			trial(arms[2], n, 1000, ms, 2*ms, 3*ms, ms),
			trial(arms[3], n, 1600, 5*ms, 8*ms, 10*ms, ms),
			trial(arms[4], n, 3000, 20*ms, 50*ms, 60*ms, ms),
			trial(arms[5], n, 1600, 5*ms, 8*ms, 10*ms, ms),
			storm(trial(arms[6], n, 70, 30*ms, 150*ms, 300*ms, ms), 6000),
			trial(arms[7], n, 8, 500*ms, 700*ms, 800*ms, ms))
		r.measured = append(r.measured,
			results.Measurement{What: results.CommitOfLog, Round: n, Events: 10_000, Samples: []time.Duration{ms, ms}},
			results.Measurement{What: results.CommitBare, Round: n, Samples: []time.Duration{ms, ms}},
			results.Measurement{What: results.InitializeEmpty, Round: n, Samples: []time.Duration{ms}},
			results.Measurement{What: results.InitializeLog, Round: n, Events: 100_000, Samples: []time.Duration{ms}},
			results.Measurement{What: results.FirstCall, Round: n, Events: 100_000, LogSize: 36 << 20, Samples: []time.Duration{100 * ms}},
			results.Measurement{What: results.ValidateLog, Round: n, Events: 100_000, LogSize: 36 << 20, Samples: []time.Duration{50 * ms}},
			results.Measurement{What: results.PrivateMemory, Round: n, Events: 100_000, Bytes: []int64{50 << 20}},
			sqlite(n, 8, 1200, 1500*ms), sqlite(n, 30, 1680, 5000*ms))
	}
	return r
}

// set changes all trials of an arm, or one of them.
func (r *records) set(arm, only int, rate float64, median, p99, worst, floor time.Duration) {
	for i := range r.run.Trials {
		if t := &r.run.Trials[i]; t.Arm == r.run.Plan.Arms[arm].Name && (only == 0 || only == t.Trial) {
			*t = trial(r.run.Plan.Arms[arm], t.Trial, rate, median, p99, worst, floor)
		}
	}
}

func (r *records) measure(what string, change func(*results.Measurement)) {
	for i := range r.measured {
		if r.measured[i].What == what {
			change(&r.measured[i])
		}
	}
}

func (r *records) judge(t *testing.T) *figures.Table {
	t.Helper()
	for i := range r.run.Trials {
		r.run.Trials[i].Run = r.run.Plan.Run
	}
	for i := range r.measured {
		r.measured[i].Run = r.run.Plan.Run
	}
	table, err := figures.Judge(r.run, r.measured)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rows(table *figures.Table, s figures.State) (names []string) {
	for _, r := range table.Rows {
		if r.State == s {
			names = append(names, r.Figure)
		}
	}
	return names
}

const figuresInAll = 16

func TestAllReachedIsOK(t *testing.T) {
	table := good().judge(t)
	if !table.OK() || len(rows(table, figures.Reached)) != figuresInAll || table.Verdict()[0] != "reached 16 of 16 figures, missed 0, not measured 0" {
		t.Errorf("%s", table)
	}
	for line := range strings.Lines(table.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("%d columns: %s", len([]rune(line))-1, line)
		}
	}
}

// Every figure just within its target is reached, and just beyond it is the
// one that is missed.
func TestAFigureJustBeyondItsTargetIsMissedAndJustWithinIsReached(t *testing.T) {
	const beyond, within = 1.01, 0.99
	for figure, change := range map[string]func(r *records, x float64){
		"8 lanes / the reference, 1,000 events": func(r *records, x float64) {
			r.set(5, 0, 10_000, 5*ms, 8*ms, 10*ms, ms)
			r.set(7, 0, 100*x, 500*ms, 700*ms, 800*ms, ms)
		},
		"a call / a bare commit, 10,000 events": func(r *records, x float64) { r.set(0, 0, 1000, scaled(1500*time.Microsecond, x), 2*ms, 3*ms, ms) },
		"8 lanes / one lane, calls/s":           func(r *records, x float64) { r.set(0, 0, 1600/.9*x, ms, 2*ms, 3*ms, ms) },
		"8 lanes, Jain's index": func(r *records, x float64) {
			for i := range r.run.Trials {
				if tr := &r.run.Trials[i]; tr.Arm == r.run.Plan.Arms[3].Name {
					// Two of the eight at another pace: an index of 0.951, or of 0.945.
					pace := map[float64]int64{within: 320, beyond: 330}[x]
					tr.Lanes[0].Calls, tr.Lanes[1].Calls = pace, pace
				}
			}
		},
		// In one trial alone: the worst is the worst.
		"8 lanes, worst wait / their median":  func(r *records, x float64) { r.set(3, 2, 1600, 2*ms, 8*ms, scaled(64*ms, x), ms) },
		"a call at 1,000,000 events / at 100": func(r *records, x float64) { r.set(2, 0, 1000, scaled(1200*time.Microsecond, x), 2*ms, 3*ms, ms) },
		"first call at 100,000 events / IsValid": func(r *records, x float64) {
			r.measure(results.FirstCall, func(m *results.Measurement) { m.Samples[0] = scaled(150*ms, x) })
		},
		"initialize reading the log / IsValid": func(r *records, x float64) {
			r.measure(results.InitializeLog, func(m *results.Measurement) { m.Samples[0] = ms + scaled(5*ms, x) })
		},
		"private memory at 100,000 events": func(r *records, x float64) {
			r.measure(results.PrivateMemory, func(m *results.Measurement) { m.Bytes[0] = int64(x * (64 << 20)) })
		},
		"8 lanes / SQLite, commits/s":   func(r *records, x float64) { r.replace(8, 1600*x, 1500*ms) },
		"8 lanes / SQLite, worst wait":  func(r *records, x float64) { r.replace(8, 1200, scaled(100*ms, 1/x)) },
		"30 lanes / SQLite, commits/s":  func(r *records, x float64) { r.replace(30, 3000*x, 5000*ms) },
		"30 lanes / SQLite, worst wait": func(r *records, x float64) { r.replace(30, 1680, scaled(600*ms, 1/x)) },
		"30 lanes, calls/s, 10,000 events": func(r *records, x float64) {
			r.set(4, 0, 1000/x, 20*ms, 50*ms, 60*ms, ms)
			r.replace(30, 500, 5000*ms)
		},
		"30 lanes, p99": func(r *records, x float64) { r.set(4, 0, 3000, 20*ms, scaled(100*ms, x), 120*ms, ms) },
	} {
		r := good()
		change(r, within)
		if table := r.judge(t); !table.OK() || len(rows(table, figures.Reached)) != figuresInAll {
			t.Errorf("%s, just within: %s", figure, table)
		}
		r = good()
		change(r, beyond)
		table := r.judge(t)
		if missed := rows(table, figures.Missed); table.OK() || !slices.Equal(missed, []string{figure}) {
			t.Errorf("%s, just beyond: missed %q", figure, missed)
		}
		if s := table.String(); strings.Count(s, "✗") != 1 || !strings.Contains(s, "✗ "+figure) || !strings.Contains(s, "missed: "+figure+": ") {
			t.Errorf("%s, just beyond: %s", figure, s)
		}
	}
}

func scaled(d time.Duration, x float64) time.Duration { return time.Duration(float64(d) * x) }

// replace changes SQLite's contentions of so many processes.
func (r *records) replace(processes int, rate float64, worst time.Duration) {
	for i := range r.measured {
		if m := &r.measured[i]; m.By == results.BySQLite && m.Processes == processes {
			*m = sqlite(m.Round, processes, rate, worst)
		}
	}
}

// What can't be measured says why, and neither counts as reached nor as missed.
func TestWhatIsNotMeasuredSaysWhyAndIsNeverReached(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*records)
		not    int
		why    string
	}{
		"no reference named": {func(r *records) {
			r.run.Plan.Arms = r.run.Plan.Arms[:7]
			r.run.Plan.Draw()
		}, 1, "name its command with --reference"},
		"a reference that fails": {func(r *records) {
			for i := range r.run.Trials {
				if tr := &r.run.Trials[i]; tr.Arm == r.run.Plan.Arms[7].Name {
					tr.Calls, tr.Errors = 1, map[string]int64{"transport": 8}
				}
			}
		}, 1, "calls of the reference failed"},
		"no sqlite3": {func(r *records) {
			r.measure(results.Contention, func(m *results.Measurement) {
				*m = results.Measurement{What: m.What, By: m.By, Processes: m.Processes, Round: m.Round, Missing: "no sqlite3 program was found"}
			})
		}, 4, "no sqlite3 program was found"},
		"memory not known": {func(r *records) {
			r.measure(results.PrivateMemory, func(m *results.Measurement) { m.Bytes, m.Missing = nil, "not known on this system" })
		}, 1, "not known on this system"},
		"no kills": {func(r *records) {
			for i := range r.run.Trials {
				if o := r.run.Trials[i].Outage; o != nil {
					o.Injected = 0
				}
			}
		}, 1, "only 0 kills; take more with --trials"},
		"too few kills": {func(r *records) { r.run.Trials[6].Outage.Injected = 3999 }, 1, "only 9,999 kills; take more with --trials"},
		"a torn log": {func(r *records) {
			tear(&r.run.Trials[6])
		}, 1, "only 6,000 kills; take more with --trials; in 1 of 2 trials a death tore the log"},
		"no floor beside a trial": {func(r *records) {
			for i := range r.run.Trials {
				r.run.Trials[i].Floor = nil
			}
		}, 1, "before it was measured"},
	} {
		r := good()
		c.change(r)
		table := r.judge(t)
		if not := rows(table, figures.NotMeasured); !table.OK() || len(not) != c.not || len(rows(table, figures.Reached)) != figuresInAll-c.not {
			t.Errorf("%s: not measured %q: %s", name, not, table)
		}
		if s := table.String(); strings.Count(s, "\n– ") != c.not || strings.Count(s, c.why) != c.not {
			t.Errorf("%s: %s", name, s)
		}
	}
	r := good()
	r.run.Trials, r.measured = nil, nil
	if table := r.judge(t); table.OK() {
		t.Errorf("nothing was measured, and that is OK: %s", table)
	}
}

func tear(t *results.Trial) {
	t.Promises = append(t.Promises, results.Promise{Name: "every lane got through", Skipped: true})
	t.Outage.Torn = true
}

// However many were killed in other trials.
func TestATornLogIsToldOfKillsThatAreEnoughWithoutItsOwn(t *testing.T) {
	r := good()
	r.run.Trials[14].Outage.Injected = 10_000
	tear(&r.run.Trials[6])
	if table := r.judge(t); !table.OK() || !strings.Contains(table.String(), "reached: servers killed, the bus went on: 10,000, but in 1 of 2 trials a death tore the log") {
		t.Errorf("%s", table)
	}
}

// A run that is ended once its numbers please proves nothing.
func TestARunThatIsNotWholeIsNeverOK(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*records)
		not    int
		told   string
	}{
		"in its first round": {func(r *records) { r.measured, r.run.Trials = nil, r.run.Trials[:1] }, 15, "incomplete: 1 of 16 trials and 0 of 2 rounds are recorded"},
		"after a round":      {func(r *records) { r.measured, r.run.Trials = r.measured[:9], r.run.Trials[:8] }, 1, "incomplete: 8 of 16 trials and 1 of 2 rounds are recorded"},
		"at its last word":   {func(r *records) { r.measured = r.measured[:len(r.measured)-1] }, 0, "incomplete: 16 of 16 trials and 1 of 2 rounds are recorded"},
	} {
		r := good()
		c.change(r)
		table := r.judge(t)
		if not := rows(table, figures.NotMeasured); table.OK() || len(not) != c.not || len(rows(table, figures.Missed)) > 0 || !strings.Contains(table.String(), c.told) {
			t.Errorf("%s: not measured %q: %s", name, not, table)
		}
	}
}

// A ratio of what two machines, two days or two builds measured says nothing.
func TestRecordsOfAnotherRunAreRefused(t *testing.T) {
	for told, change := range map[string]func(run *string, by *results.Binary, on *results.Environment){
		`run "another"`:       func(run *string, _ *results.Binary, _ *results.Environment) { *run = "another" },
		"two binaries":        func(_ *string, by *results.Binary, _ *results.Environment) { by.SHA256 = "another" },
		"two hosts or disks":  func(_ *string, _ *results.Binary, on *results.Environment) { on.Kernel = "another" },
		"of two hosts or dis": func(_ *string, _ *results.Binary, on *results.Environment) { on.Filesystem = "another" },
	} {
		for name, spoil := range map[string]func(*records){
			"a trial":       func(r *records) { change(&r.run.Trials[3].Run, &r.run.Trials[3].Lab, &r.run.Trials[3].Environment) },
			"a measurement": func(r *records) { change(&r.measured[3].Run, &r.measured[3].Lab, &r.measured[3].Environment) },
		} {
			r := good()
			r.run.Trials[1].Environment.LoadBefore = 1 // which says nothing of a host
			r.judge(t)                                 // whole as it stands
			spoil(r)
			if _, err := figures.Judge(r.run, r.measured); !errors.Is(err, figures.ErrNotFigures) || !strings.Contains(err.Error(), told) {
				t.Errorf("%s, %s: %v", name, told, err)
			}
		}
	}
}

// A number that was missed by less than is printed isn't printed as its target.
func TestAMissNeverLooksLikeItsTarget(t *testing.T) {
	line := regexp.MustCompile(`missed: .*: (.*), target [≤≥] (.*)`)
	for figure, change := range map[string]func(*records){
		"a call / a bare commit, 10,000 events": func(r *records) { r.set(0, 0, 1000, 1502*time.Microsecond, 2*ms, 3*ms, ms) },
		"30 lanes, p99":                         func(r *records) { r.set(4, 0, 3000, 20*ms, scaled(100*ms, 1.002), 120*ms, ms) },
		"private memory at 100,000 events": func(r *records) {
			r.measure(results.PrivateMemory, func(m *results.Measurement) { m.Bytes[0] = 64<<20 + 1 })
		},
		"30 lanes, calls/s, 10,000 events": func(r *records) {
			r.set(4, 0, 1000, 20*ms, 50*ms, 60*ms, ms)
			for i := range r.run.Trials {
				r.run.Trials[i].Wall += 100 * time.Microsecond
			}
			r.replace(30, 500, 5000*ms)
		},
	} {
		r := good()
		change(r)
		table := r.judge(t)
		said := line.FindStringSubmatch(table.String())
		if missed := rows(table, figures.Missed); !slices.Equal(missed, []string{figure}) || said == nil || said[1] == said[2] {
			t.Errorf("%s: missed %q: %q: %s", figure, missed, said, table)
			continue
		}
		if n := strings.Count(table.String(), said[1]); n < 2 {
			t.Errorf("%s: %q is not in the table: %s", figure, said[1], table)
		}
	}
}

func TestWhatCouldNotBeCheckedIsTold(t *testing.T) {
	r := good()
	r.run.Trials[2].Promises = append(r.run.Trials[2].Promises, results.Promise{Name: "no lane starved", Skipped: true, Detail: "too short"})
	r.run.Trials[4].Promises[0].OK = false
	table := r.judge(t)
	if s := table.String(); strings.Count(s, "\nnot checked: no lane starved: too short") != 1 || len(table.Broken) == 0 {
		t.Errorf("%s", s)
	}
}

// However many were killed in other trials.
func TestOneWedgeIsAMissedFigure(t *testing.T) {
	r := good()
	r.run.Trials[6].Outage.Injected = 50_000
	r.run.Trials[14].Promises[0].OK = false
	table := r.judge(t)
	if missed := rows(table, figures.Missed); table.OK() || len(missed) != 1 || !strings.Contains(table.String(), "✗ servers killed") {
		t.Errorf("%s", table)
	}
}

// Fast and wrong is no figure.
func TestFiguresOfABusThatBrokeAPromiseDontCount(t *testing.T) {
	for name, change := range map[string]func(*results.Trial){
		"a promise": func(tr *results.Trial) { tr.Promises[0].OK = false },
		"a call":    func(tr *results.Trial) { tr.Errors = map[string]int64{"transport": 1} },
	} {
		r := good()
		change(&r.run.Trials[0])
		if table := r.judge(t); table.OK() || !strings.Contains(table.String(), "none of it counts") {
			t.Errorf("%s: %s", name, table)
		}
		r = good()
		change(&r.run.Trials[7]) // the reference's
		if table := r.judge(t); !table.OK() {
			t.Errorf("the reference broke %s: %s", name, table)
		}
	}
}

func TestAnotherKindOfRunIsRefused(t *testing.T) {
	for _, r := range []results.Run{{}, {Plan: &results.Plan{Preset: "quick"}}, {Plan: &results.Plan{Preset: results.PresetFigures}}} {
		if _, err := figures.Judge(r, nil); !errors.Is(err, figures.ErrNotFigures) {
			t.Errorf("%+v: %v", r.Plan, err)
		}
	}
}
