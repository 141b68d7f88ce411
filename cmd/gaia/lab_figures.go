package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/figures"
	"gaia/cmd/gaia/internal/lab"
	"gaia/harness"
	"gaia/results"
)

func newLabFiguresCommand(a *app) *cobra.Command {
	c := figures.Default()
	var out, from string
	cmd := &cobra.Command{
		Use:   "figures",
		Short: "Measure the figures to reach, and judge them",
		Long: `Measures, in one run on this machine, each figure that gaia is to reach, and
prints it beside its target: ✓ reached, ✗ missed, – not measured here, which is
never counted as reached. Most are ratios of two measures taken in turn: to a
bare commit on this disk, to SQLite (where a sqlite3 program is found), to
another bus (--reference). With three trials it takes about twenty minutes and
two gigabytes of disk.

The records go to the run's folder first; --from prints them again.

Exit codes: 0 all that was measured is reached, 1 a figure was missed, a promise
broke or the run was interrupted, 2 usage, 3 a server can't start or the
machinery failed.`,
		Example: `  gaia lab figures
  gaia lab figures --reference 'node mcp-server.mjs' --trials 5
  gaia lab figures --from lab-runs/20260102-030405-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from != "" {
				for _, name := range []string{"trials", "reference", "out"} {
					if cmd.Flags().Changed(name) {
						return usagef("--from prints a run that is measured; leave out --%s", name)
					}
				}
				return printFigures(a, from)
			}
			if c.Trials < 1 || c.Trials > mostFigures {
				return usagef("--trials %d; 1 to %d", c.Trials, mostFigures)
			}
			if cmd.Flags().Changed("reference") {
				// Now, and not at its first trial, minutes from here.
				if err := harness.FindCommand(c.Reference); err != nil {
					return labError(err)
				}
				c.ReferenceName = serverNames([]string{c.Reference})[0]
			}
			return measureFigures(cmd, a, c, out)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Trials, "trials", c.Trials, "trials of each arm, and rounds of the rest")
	f.StringVar(&c.Reference, "reference", "", "command of a stdio MCP server with the six verbs to be held against")
	f.StringVar(&out, "out", "", "the run's folder, new or empty (default lab-runs/<run>)")
	f.StringVar(&from, "from", "", "print the figures of the run in this folder; measure nothing")
	return cmd
}

// mostFigures bounds a run, a trial of which takes minutes.
const mostFigures = 100

func measureFigures(cmd *cobra.Command, a *app, c figures.Config, dir string) error {
	plan := c.Plan(time.Now())
	plan.Args = []string{"gaia", "lab", "figures", "--trials", fmt.Sprint(c.Trials)}
	if c.Reference != "" {
		plan.Args = append(plan.Args, "--reference", c.ReferenceName)
	}
	if dir == "" {
		dir = filepath.Join("lab-runs", plan.Run)
	}
	undo, err := lab.Prepare(dir, plan)
	if err != nil {
		return labError(err)
	}
	show := newLabScreen(a, len(plan.Order), 0)
	show.line("run %s: %d arms, %d trials of each, in %s", plan.Run, len(plan.Arms), plan.Trials, dir)
	done, err := figures.Run(cmd.Context(), c, plan, figures.Options{Out: dir, Each: show.trial, Preparing: show.preparing,
		Measured: func(m *results.Measurement) { show.line("%s", figures.Line(m)) }})
	show.end()
	n, of := len(done.Trials), len(plan.Order)
	switch {
	case n == 0:
		undo()
		if err == nil {
			return &exitError{exitNo, errors.New("interrupted before anything was measured; nothing is left of it")}
		}
		return labError(err)
	case err != nil:
		return labError(fmt.Errorf("stopped after %d of %d trials: %w; what is recorded shows: gaia lab figures --from %s", n, of, err, shellWord(dir)))
	case done.Interrupted:
		return &exitError{exitNo, fmt.Errorf("interrupted: %d of %d trials are recorded, and what was measured between them; it shows: gaia lab figures --from %s", n, of, shellWord(dir))}
	}
	return printFigures(a, dir)
}

// labFigures is the answer as JSON.
type labFigures struct {
	OK      bool   `json:"ok"`
	Command string `json:"command"`
	Run     string `json:"run"`
	Dir     string `json:"dir"`
	*figures.Table
	Verdict []string `json:"verdict"`
}

// printFigures prints what the records in dir say, and ends with 1 where a
// figure was missed.
func printFigures(a *app, dir string) error {
	t, run, err := figures.Read(dir)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("%w; name a folder that gaia lab figures made", err)}
	}
	code := exitOK
	if !t.OK() {
		code = exitNo
	}
	if a.labJSON() {
		return a.print(answer{body: labFigures{t.OK(), "lab figures", run.Plan.Run, dir, t, t.Verdict()}, code: code})
	}
	records := filepath.Join(dir, results.TrialsFile)
	if more := filepath.Join(dir, results.FiguresFile); !missing(more) {
		records += ", " + more
	}
	if err := a.write([]byte(escaped(fmt.Sprintf("\n%s\nrecords: %s\n", t, records)))); err != nil || code == exitOK {
		return err
	}
	return errNo // its lines said what was missed
}
