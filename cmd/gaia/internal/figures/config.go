// Package figures measures the figures that gaia is to reach, all in one run
// on one machine, and judges them. What is measured goes to the run's folder
// first: trials through package lab, whatever is no trial of a bus into
// [results.FiguresFile] beside them. The table is a pure function of the two.
package figures

import (
	"time"

	"gaia/cmd/gaia/internal/lab"
	"gaia/harness"
	"gaia/results"
)

// A Config says what is measured, and how much of it.
type Config struct {
	Trials        int // of each arm, and rounds of what is measured in turn with them
	Seed          uint64
	Reference     string   // command line of the server to be held against; may be empty
	ReferenceName string   // for the records
	Self          []string // the gaia binary's command; empty: the running executable

	Lanes, Many             int // lanes that work at once: the usual contention, and a large one
	OneCalls, LanesCalls    int // of each lane
	ManyCalls               int
	ReferenceCalls          int // fewer: the one known needs a second for ten
	StormCalls              int // many: a server is killed in every second of them on a busy machine, in every third on a quiet one
	Small, Few, Some, Large int // events in the log: the smallest, the reference's, the usual, the largest
	Unacked                 int // events of the log that a fresh server reads
	Commits                 int // pairs a round: the log's own, and a bare one
	Starts                  int // fresh servers a round
	Window                  time.Duration
}

// Default is what the figures are stated for.
func Default() Config {
	return Config{
		Trials: 3, Seed: 1, Lanes: 8, Many: 30, OneCalls: 1500, LanesCalls: 800, ManyCalls: 600, ReferenceCalls: 50, StormCalls: 1400,
		Small: 100, Few: 1000, Some: 10_000, Large: 1_000_000, Unacked: 100_000, Commits: 200, Starts: 3, Window: 2 * time.Second,
	}
}

// The arms of a plan, by their place in it. The last is there where a
// reference was named.
const (
	armOne   = iota // one lane on the usual log
	armSmall        // one lane on the small one
	armLarge        // one lane on the largest
	armLanes
	armMany
	armFew       // on the reference's log
	armStorm     // there too: servers killed again and again
	armReference // as armFew, by the reference
)

// Plan makes the arms and draws their order.
func (c Config) Plan(start time.Time) *results.Plan {
	p := &results.Plan{Schema: results.Schema, Run: lab.RunID(start, c.Seed), Preset: results.PresetFigures, Seed: c.Seed, Start: start.UTC(), Trials: c.Trials}
	add := func(lanes, events, calls int, fault string, servers []string) {
		f := results.Factors{Lanes: lanes, CallsPerLane: calls, Prefill: events, Actors: results.DefaultActors, Path: results.PathTail,
			Load: results.LoadClosed, MessageBytes: results.DefaultMessageBytes, Fault: fault, Class: results.ClassIdentical, Servers: servers}
		p.Arms = append(p.Arms, results.Arm{Name: results.ArmName(f), Factors: f})
	}
	add(1, c.Some, c.OneCalls, results.NoFault, nil)
	add(1, c.Small, c.OneCalls, results.NoFault, nil)
	add(1, c.Large, c.OneCalls, results.NoFault, nil)
	add(c.Lanes, c.Some, c.LanesCalls, results.NoFault, nil)
	add(c.Many, c.Some, c.ManyCalls, results.NoFault, nil)
	add(c.Lanes, c.Few, c.ReferenceCalls, results.NoFault, nil)
	add(c.Lanes, c.Few, c.StormCalls, harness.FaultKillStorm, nil)
	if c.Reference != "" {
		p.Servers = []string{c.ReferenceName}
		add(c.Lanes, c.Few, c.ReferenceCalls, results.NoFault, p.Servers)
	}
	p.Draw()
	return p
}
