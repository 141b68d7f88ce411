package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gaia/bench"
	"gaia/harness"
	"gaia/results"
)

// Folders in a run's folder that hold no records.
const (
	workDir   = "work"   // while it runs
	failedDir = "failed" // of trials that broke a promise
)

// Options are what a run needs beside its plan.
type Options struct {
	Out     string   // the run's folder
	Servers []string // command lines, as many as the plan has names
	Client  string   // command line, where the plan has a client
	Self    []string // the gaia binary's command; empty: the running executable
	// Each is told of every trial as it is recorded, before the next starts.
	Each func(t *results.Trial, done, of int)
	// Round, if not nil, is called after each round of trials, before the next
	// starts: for what is to be measured in turn with them. Its error stops
	// the run. It may work in the folder given, which goes when the run ends.
	Round func(ctx context.Context, n int, work string) error
	// Preparing is told what is being made before the first trial; may be nil.
	Preparing func(what string)
}

// An Outcome is what a run came to.
type Outcome struct {
	Plan        *results.Plan
	Trials      []results.Trial // all that are recorded, of earlier sittings too
	Kept        []string        // folders of trials that broke a promise, or whose log was torn
	Interrupted bool
}

// floorSamples are taken beside every trial, so that a disk that changes while
// a run goes on is seen to; they take tens of milliseconds.
const floorSamples = 100

// Prepare makes the run's folder and writes the plan. The folder must be empty
// or not exist. Undo removes what was made, for a run that couldn't start.
func Prepare(out string, p *results.Plan) (undo func(), err error) {
	made, err := makeEmpty(out)
	if err != nil {
		return nil, err
	}
	undo = func() {
		// Only what this run put there.
		for _, name := range []string{results.PlanFile, results.TrialsFile, workDir} {
			_ = os.RemoveAll(filepath.Join(out, name))
		}
		for _, dir := range made {
			_ = os.Remove(dir) // not empty: it is somebody's
		}
	}
	if err := results.WritePlan(out, p); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// makeEmpty makes dir and lists the folders it had to make, innermost first.
func makeEmpty(dir string) (made []string, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		if p, err := results.ReadPlan(dir); err == nil && p.Preset != results.PresetFigures {
			return nil, usagef("%s isn't empty; name a new folder, or go on with gaia lab run --resume %s", dir, dir)
		}
		return nil, usagef("%s isn't empty; name a new folder", dir)
	case err == nil:
		return nil, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		made = append(made, d)
	}
	return made, os.MkdirAll(dir, 0o755)
}

// Resume reads an interrupted run's folder and says what is done. Servers must
// be given again where the plan has them.
func Resume(dir string, names []string) (*results.Plan, []results.Trial, error) {
	run, err := results.ReadRunDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		// Interrupted before its first trial was recorded.
		run.Plan, err = results.ReadPlan(dir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if run.Plan == nil {
		return nil, nil, usagef("%s has no %s, so there is no run to go on with", dir, results.PlanFile)
	}
	if run.Plan.Preset == results.PresetFigures {
		return nil, nil, usagef("%s is a run of gaia lab figures, which can't be gone on with; gaia lab figures --from %s shows what there is of it", dir, dir)
	}
	if fmt.Sprint(names) != fmt.Sprint(run.Plan.Servers) {
		return nil, nil, usagef("the run in %s measures the servers %q and not %q; give the same --server again", dir, run.Plan.Servers, names)
	}
	return run.Plan, run.Trials, nil
}

// Run runs what p has left after done, in p's order. An error other than the
// interruption says why it stopped; what is recorded stays. When ctx is done it
// stops within the trial, which is discarded.
func Run(ctx context.Context, p *results.Plan, done []results.Trial, o Options) (out Outcome, err error) {
	out = Outcome{Plan: p, Trials: done}
	work := filepath.Join(o.Out, workDir)
	// Left by a sitting that was killed: nothing in it was recorded.
	if err := os.RemoveAll(work); err != nil {
		return out, err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	records, err := results.AppendTrials(o.Out)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, records.Close()) }()

	logs := logStore{dir: work, seed: p.Seed, preparing: o.Preparing}
	for _, at := range p.Left(done) {
		t, kept, err := runTrial(ctx, p, at, work, &logs, o)
		if ctx.Err() != nil {
			out.Interrupted = true
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if err := records.Write(&t); err != nil {
			return out, fmt.Errorf("recording a trial: %w", err)
		}
		out.Trials = append(out.Trials, t)
		if kept != "" {
			out.Kept = append(out.Kept, kept)
		}
		if o.Each != nil {
			o.Each(&t, len(out.Trials), len(p.Order))
		}
		if o.Round != nil && (at+1)%len(p.Arms) == 0 {
			err := o.Round(ctx, p.Order[at].Trial, work)
			if ctx.Err() != nil {
				out.Interrupted = true
				return out, nil
			}
			if err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func runTrial(ctx context.Context, p *results.Plan, at int, work string, logs *logStore, o Options) (t results.Trial, kept string, err error) {
	slot := p.Order[at]
	arm := p.Arms[slot.Arm]
	place := filepath.Join(work, fmt.Sprintf("trial-%04d", at+1))
	spec := harness.TrialSpec{
		Run: p.Run, Arm: arm.Name, Trial: slot.Trial, Order: at + 1, Seed: slot.Seed, Factors: arm.Factors,
		Client: o.Client, Self: o.Self, Dir: filepath.Join(place, "data"), Work: filepath.Join(place, "lanes"),
	}
	if len(arm.Factors.Servers) > 0 { // else gaia's own, whatever other arms measure
		spec.Servers = o.Servers
	}
	if err := logs.place(ctx, arm.Factors, spec.Dir); err != nil {
		return t, "", fmt.Errorf("making the log to start from: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()
	floor, err := bench.Floor(ctx, work, floorSamples)
	if err != nil {
		return t, "", fmt.Errorf("measuring the disk's floor: %w", err)
	}
	if t, err = harness.RunTrial(ctx, spec); err != nil {
		return t, "", err
	}
	t.Floor = &floor
	if len(t.Broken()) == 0 && (t.Outage == nil || !t.Outage.Torn) {
		return t, "", nil
	}
	kept = filepath.Join(o.Out, failedDir, filepath.Base(place))
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return t, "", err
	}
	return t, kept, os.Rename(place, kept)
}

// logStore makes each log that arms start from once.
type logStore struct {
	dir       string
	seed      uint64
	preparing func(string)
}

func (s *logStore) place(ctx context.Context, f results.Factors, to string) error {
	if f.Prefill == 0 {
		return os.MkdirAll(to, 0o700)
	}
	from := filepath.Join(s.dir, fmt.Sprintf("log-%d-%d-%d", f.Prefill, f.Actors, f.MessageBytes))
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		if s.preparing != nil {
			s.preparing(fmt.Sprintf("a log of %d events and %d actors", f.Prefill, f.Actors))
		}
		filling := bench.Filling{Events: f.Prefill, Actors: f.Actors, MessageBytes: f.MessageBytes, Seed: s.seed}
		if err := bench.Prefill(ctx, from, filling); err != nil {
			return errors.Join(err, os.RemoveAll(from))
		}
	} else if err != nil {
		return err
	}
	return bench.CopyLog(from, to)
}

// RunID names a run by its start and seed.
func RunID(start time.Time, seed uint64) string {
	return fmt.Sprintf("%s-%d", start.UTC().Format("20060102-150405"), seed)
}
