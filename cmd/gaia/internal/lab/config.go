package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaia/harness"
	"gaia/results"
)

// ErrUsage is returned when an experiment can't be meant as it was given.
// Nothing was written.
var ErrUsage = errors.New("cannot run this experiment")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
}

// A Config is an experiment as a person asks for it: the factors' levels, of
// which every combination is an arm, and extra arms of the preset.
type Config struct {
	Preset  string
	Lanes   []int
	Events  []int // in the log before the trial
	Actors  int
	Paths   []string
	Load    string
	Rate    float64 // calls a second and lane, open load
	Think   time.Duration
	Bytes   []int // of a message
	Faults  []string
	Trials  int
	Calls   int // of each lane
	Seed    uint64
	Servers []string // command lines
	Client  string   // command line of a real client; empty: our worker
	Class   string   // of evidence; empty: found from the servers
	Require string   // thresholds
	extra   []results.Factors
}

// Presets are the names that [Preset] knows.
func Presets() []string { return []string{"quick", "ladder", "full"} }

// Preset returns a prepared experiment. Quick takes under a minute on two
// cores. Ladder is the evidence run: what a rung's validation and its three
// conditions ask for, as far as workers of our own can show it, and the six
// levels that a fit of the scalability law needs. Full adds larger logs, the
// seed's read path, open load, large messages and every fault.
func Preset(name string) (Config, error) {
	c := Config{Preset: name, Actors: results.DefaultActors, Paths: []string{results.PathTail}, Load: results.LoadClosed,
		Bytes: []int{results.DefaultMessageBytes}, Faults: []string{results.NoFault}}
	switch name {
	case "quick":
		c.Lanes, c.Events, c.Trials, c.Calls = []int{1, 2, 4, 6, 8}, []int{1000}, 3, 100
	case "ladder":
		c.Lanes, c.Events, c.Trials, c.Calls = []int{1, 2, 3, 4, 6, 8, 10}, []int{10_000}, 10, 200
		c.extra = c.ladderArms()
	case "full":
		c.Lanes, c.Events, c.Trials, c.Calls = []int{1, 2, 3, 4, 6, 8, 10, 16}, []int{10_000}, 10, 200
		c.extra = append(c.ladderArms(), c.fullArms()...)
	default:
		return Config{}, usagef("no preset %q; there are %s", name, strings.Join(Presets(), ", "))
	}
	return c, nil
}

// ladderArms are the conditions: a small log beside the large one, and holders
// that die at the steps where it matters.
func (c Config) ladderArms() []results.Factors {
	small := c.base()
	small.Lanes, small.Prefill = 1, 100
	arms := []results.Factors{small}
	for _, lanes := range []int{6, 8} {
		for _, step := range []string{"decide", "append", "sync", "release"} {
			f := c.base()
			f.Lanes, f.Prefill, f.Fault = lanes, 10_000, "kill-holder:"+step
			arms = append(arms, f)
		}
	}
	return arms
}

func (c Config) fullArms() []results.Factors {
	var arms []results.Factors
	add := func(change func(*results.Factors)) {
		f := c.base()
		f.Lanes, f.Prefill = 4, 10_000
		change(&f)
		arms = append(arms, f)
	}
	for _, events := range []int{100, 100_000, 1_000_000} {
		add(func(f *results.Factors) { f.Lanes, f.Prefill = 1, events })
	}
	add(func(f *results.Factors) { f.Lanes, f.Prefill, f.Path = 1, 1000, results.PathReplay })
	add(func(f *results.Factors) { f.Path = results.PathReplay })
	add(func(f *results.Factors) { f.Load, f.Rate = results.LoadOpen, 50 })
	add(func(f *results.Factors) { f.MessageBytes = 8 << 10 })
	add(func(f *results.Factors) { f.Actors = 1000 })
	for _, step := range []string{"acquire", "read", "fold"} {
		add(func(f *results.Factors) { f.Fault = "kill-holder:" + step })
	}
	add(func(f *results.Factors) { f.Fault = "stall-holder" })
	add(func(f *results.Factors) { f.Fault = "kill-client" })
	for _, storm := range []string{"kill-storm", "kill-storm:mkdir-peer"} {
		add(func(f *results.Factors) { f.Lanes, f.Fault = 8, storm })
	}
	// What ladder has already isn't run twice.
	return slices.DeleteFunc(arms, func(f results.Factors) bool { return f.Lanes == 1 && f.Prefill == 100 })
}

// WithoutExtras drops the preset's extra arms, for a person who chose levels.
func (c *Config) WithoutExtras() { c.extra = nil }

func (c Config) base() results.Factors {
	f := results.Factors{CallsPerLane: c.Calls, Actors: c.Actors, Path: results.PathTail, Load: c.Load, Rate: c.Rate, Think: c.Think,
		MessageBytes: results.DefaultMessageBytes, Fault: results.NoFault, Class: c.Class}
	if len(c.Bytes) == 1 {
		f.MessageBytes = c.Bytes[0]
	}
	return f
}

// Plan makes the arms and draws their order. Names are the servers' short
// names, in the order of Servers; client is the client's.
func (c Config) Plan(run string, start time.Time, names []string, client string) (*results.Plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &results.Plan{Schema: results.Schema, Run: run, Preset: c.Preset, Seed: c.Seed, Start: start.UTC(), Servers: names, Client: client, Require: c.Require, Trials: c.Trials}
	add := func(f results.Factors) {
		f.CallsPerLane = c.Calls
		f.Servers, f.Client = names, client
		if f.Class == "" {
			f.Class = results.ClassIdentical
			if len(names) > 1 {
				f.Class = results.ClassMixed
			}
		}
		arm := results.Arm{Name: results.ArmName(f), Factors: f}
		if !slices.ContainsFunc(p.Arms, func(a results.Arm) bool { return a.Name == arm.Name }) {
			p.Arms = append(p.Arms, arm)
		}
	}
	for _, fault := range c.Faults {
		for _, path := range c.Paths {
			for _, bytes := range c.Bytes {
				for _, events := range c.Events {
					for _, lanes := range c.Lanes {
						f := c.base()
						f.Lanes, f.Prefill, f.MessageBytes, f.Path, f.Fault = lanes, events, bytes, path, fault
						add(f)
					}
				}
			}
		}
	}
	for _, f := range c.extra {
		add(f)
	}
	p.Draw()
	return p, nil
}

// mostTrials bounds a run: its order is drawn before the first trial.
const mostTrials = 100_000

// arms is how many there are at most.
func (c Config) arms() int {
	return len(c.Faults)*len(c.Paths)*len(c.Bytes)*len(c.Events)*len(c.Lanes) + len(c.extra)
}

// check refuses levels that can't be, each with its reason.
func (c Config) check() error {
	switch {
	case len(c.Lanes) == 0:
		return usagef("no lanes; give for example --lanes 1,2,4")
	case len(c.Events) == 0:
		return usagef("no log size; give for example --prefill 1000, or 0 for an empty log")
	case len(c.Bytes) == 0 || len(c.Paths) == 0 || len(c.Faults) == 0:
		return usagef("a factor has no level")
	case c.Trials < 1:
		return usagef("%d trials; at least 1", c.Trials)
	case c.Trials > mostTrials/c.arms():
		return usagef("%d trials of %d arms; at most %d in all, or ask for fewer levels", c.Trials, c.arms(), mostTrials)
	case c.Calls < 1:
		return usagef("%d calls a lane; at least 1", c.Calls)
	case c.Actors < 1:
		return usagef("%d actors; at least 1", c.Actors)
	case c.Think < 0:
		return usagef("a think time of %v", c.Think)
	case c.Load != results.LoadClosed && c.Load != results.LoadOpen:
		return usagef("load %q; there are closed and open", c.Load)
	case c.Load == results.LoadOpen && !(c.Rate > 0 && c.Rate <= 1e6):
		return usagef("open load needs --rate, calls a second and lane, above 0 and at most 1000000")
	case c.Load == results.LoadOpen && c.Think != 0:
		return usagef("--think is for --load closed: with open load calls are due at a rate")
	case c.Client != "" && strings.TrimSpace(c.Client) == "":
		return usagef("the client is blank; give its command, or leave --client and --class out")
	case c.Client != "" && c.Class == "":
		return usagef("a client's class must be named: it decides what the trials may claim")
	case c.Client == "" && (c.Class == results.ClassScriptedModel || c.Class == results.ClassLiveModel):
		return usagef("class %q without a client: the lab's own workers are none; give --client its command", c.Class)
	case c.Load == results.LoadClosed && c.Rate != 0:
		return usagef("--rate is for --load open")
	}
	const mostLanes = 256 // two processes each: more only measures the machine's scheduler
	for _, n := range c.Lanes {
		if n < 1 || n > mostLanes {
			return usagef("%d lanes; from 1 to %d", n, mostLanes)
		}
	}
	for _, n := range c.Events {
		if n < 0 || n > 0 && n < c.Actors {
			return usagef("a log of %d events with %d actors; 0, or at least one event an actor", n, c.Actors)
		}
	}
	for _, n := range c.Bytes {
		if n < 1 || n > 1<<20 {
			return usagef("messages of %d bytes; from 1 to %d", n, 1<<20)
		}
	}
	for _, f := range c.Faults {
		if err := c.checkFault(f); err != nil {
			return err
		}
	}
	for _, p := range c.Paths {
		if p != results.PathTail && p != results.PathReplay {
			return usagef("read path %q; there are tail and replay", p)
		}
	}
	if _, err := results.ParseThresholds(c.Require); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

func (c Config) checkFault(fault string) error {
	if fault == results.NoFault {
		return nil
	}
	kind, step, hasStep := strings.Cut(fault, ":")
	inServer := kind == harness.FaultKillHolder || kind == harness.FaultStallHolder
	storm := kind == harness.FaultKillStorm
	switch {
	case !slices.Contains(harness.Faults(), kind):
		return usagef("no fault %q; there are %s", fault, strings.Join(harness.Faults(), ", "))
	case storm && hasStep && step != harness.MkdirPeer:
		return usagef("fault %q: no variant %q; there is %s", fault, step, harness.MkdirPeer)
	case storm && c.Load == results.LoadOpen:
		return usagef("fault %q is for --load closed: a server's start is no call's wait", fault)
	case hasStep && !inServer && !storm:
		return usagef("fault %q has no step", kind)
	case inServer && hasStep && !slices.Contains(harness.FaultSteps(), step):
		return usagef("fault %q: no step %q; there are %s", fault, step, strings.Join(harness.FaultSteps(), ", "))
	case slices.Min(c.Lanes) < 2:
		return usagef("fault %q needs a second lane to see it; leave %d out of --lanes", fault, slices.Min(c.Lanes))
	case (inServer || storm && hasStep) && len(c.Servers) > 0:
		return usagef("fault %q is injected into gaia's own server; leave --server out", fault)
	}
	return nil
}
