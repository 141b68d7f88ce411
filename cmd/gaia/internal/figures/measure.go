package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaia/bench"
	"gaia/cmd/gaia/internal/lab"
	"gaia/eventlog"
	"gaia/harness"
	"gaia/results"
)

// Options are what a run needs beside its plan.
type Options struct {
	Out string
	// Each and Preparing are as in [lab.Options].
	Each      func(t *results.Trial, done, of int)
	Preparing func(what string)
	// Measured is told of what was measured beside the trials.
	Measured func(m *results.Measurement)
}

// Run measures p into o.Out, which [lab.Prepare] made. After an error, and
// when ctx is done, what is recorded stays.
func Run(ctx context.Context, c Config, p *results.Plan, o Options) (lab.Outcome, error) {
	self, err := harness.Lab(c.Self)
	if err != nil {
		return lab.Outcome{}, err
	}
	var servers []string
	if c.Reference != "" {
		servers = []string{c.Reference}
	}
	return lab.Run(ctx, p, nil, lab.Options{Out: o.Out, Servers: servers, Self: c.Self, Each: o.Each, Preparing: o.Preparing,
		Round: func(ctx context.Context, n int, work string) error {
			r := round{c: c, o: o, run: p.Run, n: n, work: work, lab: self, environment: harness.Fingerprint(work)}
			return r.measure(ctx)
		}})
}

// A round is what is measured between the trials of one round and the next.
type round struct {
	c           Config
	o           Options
	run         string
	n           int
	work        string
	lab         results.Binary
	environment results.Environment
}

func (r *round) measure(ctx context.Context) error {
	if err := r.commits(ctx); err != nil {
		return fmt.Errorf("timing the log's commits: %w", err)
	}
	if err := r.freshServers(ctx); err != nil {
		return err
	}
	if err := r.contentions(ctx); err != nil {
		return fmt.Errorf("timing a contention: %w", err)
	}
	return nil
}

func (r *round) record(m results.Measurement, start time.Time) error {
	m.Schema, m.Run, m.Round, m.Start, m.Lab, m.Environment = results.Schema, r.run, r.n, start.UTC(), r.lab, r.environment
	if err := results.AppendMeasurement(r.o.Out, &m); err != nil {
		return fmt.Errorf("recording a measurement: %w", err)
	}
	if r.o.Measured != nil {
		r.o.Measured(&m)
	}
	return nil
}

// log makes, once a run, the log that what isn't a trial starts from.
func (r *round) log(ctx context.Context, f bench.Filling) (dir string, err error) {
	dir = filepath.Join(r.work, fmt.Sprintf("figures-%d", f.Events))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	f.Actors, f.MessageBytes, f.Seed = results.DefaultActors, results.DefaultMessageBytes, r.c.Seed
	if err := bench.Prefill(ctx, dir, f); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

func (r *round) commits(ctx context.Context) error {
	dir, err := r.log(ctx, bench.Filling{Events: r.c.Some})
	if err != nil {
		return err
	}
	start := time.Now()
	log, bare, err := bench.Commits(ctx, dir, r.c.Commits)
	if err != nil {
		return err
	}
	return errors.Join(r.record(results.Measurement{What: results.CommitOfLog, Events: r.c.Some, Samples: log}, start),
		r.record(results.Measurement{What: results.CommitBare, Samples: bare}, start))
}

// freshServers starts servers on an empty directory and on the large log in
// turn, and between them validates that log's bytes.
func (r *round) freshServers(ctx context.Context) error {
	dir, err := r.log(ctx, bench.Filling{Events: r.c.Unacked, Unacked: true})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(eventlog.Open(dir, eventlog.Options{}).Path())
	if err != nil {
		return err
	}
	of := func(what string) results.Measurement {
		return results.Measurement{What: what, Events: bytes.Count(text, []byte("\n")), LogSize: int64(len(text))}
	}
	empty := results.Measurement{What: results.InitializeEmpty}
	initialize, first, memory, validate := of(results.InitializeLog), of(results.FirstCall), of(results.PrivateMemory), of(results.ValidateLog)
	start := time.Now()
	for range r.c.Starts {
		none, err := os.MkdirTemp(r.work, "empty-")
		if err != nil {
			return err
		}
		onNone, err := harness.StartFresh(ctx, r.c.Self, none)
		if err := errors.Join(err, os.RemoveAll(none)); err != nil {
			return err
		}
		onLog, err := harness.StartFresh(ctx, r.c.Self, dir)
		if err != nil {
			return err
		}
		took, err := bench.Validate(text)
		if err != nil {
			return err
		}
		empty.Samples = append(empty.Samples, onNone.Initialize)
		initialize.Samples = append(initialize.Samples, onLog.Initialize)
		first.Samples = append(first.Samples, onLog.FirstCall)
		validate.Samples = append(validate.Samples, took)
		if onLog.Private > 0 {
			memory.Bytes = append(memory.Bytes, onLog.Private)
		}
	}
	if len(memory.Bytes) == 0 {
		memory.Missing = "a process's private memory is not known on this system"
	}
	for _, m := range []results.Measurement{empty, initialize, first, memory, validate} {
		if err := r.record(m, start); err != nil {
			return err
		}
	}
	return nil
}

// contentions runs the candidates for the lock, alone and together, and
// SQLite with as many processes as there are lanes.
func (r *round) contentions(ctx context.Context) error {
	contend := func(processes int, do func(harness.Contest) (results.Measurement, error)) error {
		dir, err := os.MkdirTemp(r.work, "contention-")
		if err != nil {
			return err
		}
		start := time.Now()
		m, err := do(harness.Contest{Processes: processes, Window: r.c.Window, Dir: dir, Self: r.c.Self})
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
		return r.record(m, start)
	}
	for _, processes := range []int{1, r.c.Lanes} {
		for _, lock := range harness.BareLocks() {
			if err := contend(processes, func(t harness.Contest) (results.Measurement, error) { return harness.ContendBare(ctx, t, lock) }); err != nil {
				return err
			}
		}
	}
	for _, processes := range []int{r.c.Lanes, r.c.Many} {
		err := contend(processes, func(t harness.Contest) (results.Measurement, error) {
			m, err := harness.ContendSQLite(ctx, t)
			if errors.Is(err, harness.ErrNoSQLite) {
				return results.Measurement{What: results.Contention, By: results.BySQLite, Processes: processes, Missing: err.Error()}, ctx.Err()
			}
			return m, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
