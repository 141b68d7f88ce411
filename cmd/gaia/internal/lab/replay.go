package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaia/bench"
	"gaia/harness"
	"gaia/results"
)

// A ReplayConfig is what gaia lab replay is asked for.
type ReplayConfig struct {
	bench.ReplayGrid
	Out string
	Lab results.Binary
	// Each is told of every measurement as it is recorded.
	Each func(t *results.ReplayTrial, done, of int)
}

// Check refuses grids that can't be.
func (c ReplayConfig) Check() error {
	switch {
	case len(c.Events) == 0 || len(c.Actors) == 0:
		return usagef("no cells; give for example --events 1000,2000,5000 --actors 2,20,200")
	case c.Trials < 1:
		return usagef("%d trials; at least 1", c.Trials)
	case slices.Min(c.Actors) < 1:
		return usagef("%d actors; at least 1", slices.Min(c.Actors))
	case slices.Min(c.Events) < slices.Max(c.Actors):
		return usagef("a log of %d events can't have %d actors", slices.Min(c.Events), slices.Max(c.Actors))
	}
	return nil
}

// Replay measures the grid into c.Out, which must be empty or not exist, and
// returns what is recorded; interrupted, what was until then.
func Replay(ctx context.Context, run string, c ReplayConfig) (trials []results.ReplayTrial, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if _, err := makeEmpty(c.Out); err != nil {
		return nil, err
	}
	work := filepath.Join(c.Out, workDir)
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	w, err := results.CreateReplay(c.Out)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	environment := harness.Fingerprint(work)
	of := len(c.Events) * len(c.Actors) * len(bench.Operations()) * c.Trials
	err = bench.MeasureReplay(ctx, work, c.ReplayGrid, func(t results.ReplayTrial) error {
		t.Run, t.Lab, t.Environment = run, c.Lab, environment
		if err := w.Write(&t); err != nil {
			return err
		}
		trials = append(trials, t)
		if c.Each != nil {
			c.Each(&t, len(trials), of)
		}
		return nil
	})
	return trials, err
}

// ReplayID names a replay run.
func ReplayID(start time.Time, seed uint64) string { return RunID(start, seed) + "-replay" }
