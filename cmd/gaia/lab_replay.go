package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaia/bench"
	"gaia/cmd/gaia/internal/lab"
	"gaia/cmd/gaia/internal/report"
	"gaia/harness"
	"gaia/results"
)

func newLabReplayCommand(a *app) *cobra.Command {
	events, actors := intList{1000, 2000, 5000, 10_000}, intList{2, 20, 200}
	var trials int
	var seed uint64
	var out string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Measure what the log's size costs, and why",
		Long: `Replays logs of every size with every number of actors: by the reference fold,
which ages every actor at every event, and by the bus's own; and measures what a
call spends on reading, on both read paths. Each cost is then explained by
nothing, E, E·A or E² (E events, A actors).`,
		Example: "  gaia lab replay\n  gaia lab replay --events 1000,10000,100000 --actors 10,100 --trials 10",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			run := lab.ReplayID(start, seed)
			self, err := harness.Lab(nil)
			if err != nil {
				return labError(err)
			}
			self.Version = buildVersion()
			c := lab.ReplayConfig{ReplayGrid: bench.ReplayGrid{Events: events, Actors: actors, Trials: trials, Seed: seed}, Out: out, Lab: self}
			if err := c.Check(); err != nil {
				return labError(err)
			}
			if c.Out == "" {
				c.Out = filepath.Join("lab-runs", run)
			}
			show := newLabScreen(a, len(events)*len(actors)*len(bench.Operations())*trials, 0)
			show.line("run %s: %d log sizes, %d actor counts, %d operations, %d trials of each, in %s",
				run, len(events), len(actors), len(bench.Operations()), trials, c.Out)
			c.Each = show.step
			done, err := lab.Replay(cmd.Context(), run, c)
			show.end()
			if cmd.Context().Err() != nil {
				return &exitError{exitNo, fmt.Errorf("interrupted: %d measurements are in %s", len(done), filepath.Join(c.Out, results.ReplayFile))}
			}
			if err != nil {
				return labError(err)
			}
			words := []string{"gaia", "lab", "replay"}
			for _, name := range []string{"events", "actors", "trials", "seed"} {
				words = append(words, "--"+name, cmd.Flags().Lookup(name).Value.String())
			}
			r, err := report.Replay(done, strings.Join(words, " "))
			if err != nil {
				return err
			}
			var page, text bytes.Buffer
			if err := r.WriteHTML(&page); err != nil {
				return err
			}
			if err := r.WriteText(&text); err != nil {
				return err
			}
			for name, b := range map[string][]byte{reportHTML: page.Bytes(), reportText: text.Bytes()} {
				if err := os.WriteFile(filepath.Join(c.Out, name), b, 0o644); err != nil {
					return err
				}
			}
			if a.labJSON() {
				return a.print(answer{body: labReplay{true, "lab replay", run, c.Out, len(done), r.Verdict}})
			}
			return a.write([]byte(escaped(fmt.Sprintf("\n%s\nreport: %s\nrecords: %s\n", text.String(), filepath.Join(c.Out, reportHTML), filepath.Join(c.Out, results.ReplayFile)))))
		},
	}
	f := cmd.Flags()
	f.Var(&events, "events", "log sizes, at least three")
	f.Var(&actors, "actors", "actor counts, at least two")
	f.IntVar(&trials, "trials", 5, "trials of each cell and operation")
	f.Uint64Var(&seed, "seed", 1, "the same seed gives the same logs in the same order")
	f.StringVar(&out, "out", "", "the run's folder, new or empty (default lab-runs/<run>)")
	return cmd
}

// labReplay is the answer as JSON.
type labReplay struct {
	OK           bool     `json:"ok"`
	Command      string   `json:"command"`
	Run          string   `json:"run"`
	Dir          string   `json:"dir"`
	Measurements int      `json:"measurements"`
	Verdict      []string `json:"verdict"`
}
