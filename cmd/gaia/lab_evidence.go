package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gaia/harness"
	"gaia/lanes"
)

func newLabEvidenceCommand(a *app) *cobra.Command {
	var adopt bool
	cmd := &cobra.Command{
		Use:   "evidence [RUN]",
		Short: "Say which lane counts trials support, and what the next lacks",
		Long: `Without a run it answers from the records that this gaia ships and those adopted
on this host; with one, from that run alone. --adopt copies the run into your
configuration directory, where it wins over shipped records on this host.`,
		Example: "  gaia lab evidence\n  gaia lab evidence lab-runs/20260102-030405-1 --adopt",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			config, err := os.UserConfigDir()
			if err != nil {
				config = ""
			}
			host := harness.Fingerprint(".")
			if len(args) == 0 {
				if adopt {
					return usagef("--adopt needs a run's folder")
				}
				e, err := lanes.Current(config, host)
				if err != nil {
					fmt.Fprintf(a.stderr, "gaia: warning: %v\n", err)
				}
				return a.printLab(labEvidence{true, "lab evidence", e, nil}, evidenceText(e))
			}
			run, err := readRun(args[0])
			if err != nil {
				return err
			}
			// Whatever platform the run is of: it is asked what it shows there.
			e := lanes.Evidence([]lanes.RunEvidence{lanes.Summarize(run)}, run.Trials[0].Environment)
			if e.Provenance != nil {
				e.Provenance.Source = "the records in " + filepath.Base(args[0])
			}
			answer, page := labEvidence{true, "lab evidence", e, nil}, evidenceText(e)
			if adopt {
				if config == "" {
					return &exitError{exitFailClosed, errors.New("there is no configuration directory of yours to adopt it into")}
				}
				dest, err := lanes.Adopt(config, run, args[0])
				if err != nil {
					return &exitError{exitNo, err}
				}
				answer.Adopted, page = &dest, page+"adopted: "+dest+"\n"
			}
			return a.printLab(answer, page)
		},
	}
	cmd.Flags().BoolVar(&adopt, "adopt", false, "copy the run to your configuration directory")
	return cmd
}

// labEvidence is the answer as JSON.
type labEvidence struct {
	OK       bool               `json:"ok"`
	Command  string             `json:"command"`
	Evidence lanes.LaneEvidence `json:"laneEvidence"`
	Adopted  *string            `json:"adopted"`
}

// evidenceText is the evidence for a person.
func evidenceText(e lanes.LaneEvidence) string {
	var b strings.Builder
	count := func(n *int) string {
		if n == nil {
			return "none"
		}
		return fmt.Sprint(*n)
	}
	fmt.Fprintf(&b, "supported lanes             %d (%s)\n", e.Supported, e.Policy)
	fmt.Fprintf(&b, "highest rung measured       %s\n", count(e.Measured))
	fmt.Fprintf(&b, "next validation target      %s\n", count(e.NextValidationTarget))
	fmt.Fprintf(&b, "unproven with real clients  %s\n", count(e.UnprovenWithRealClients))
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, "missing for %s:\n", count(e.NextValidationTarget))
		for _, m := range e.Missing {
			fmt.Fprintf(&b, "  - %s\n", m)
		}
	}
	if p := e.Provenance; p != nil {
		fmt.Fprintf(&b, "measured at %d lanes: %.1f calls/s, p50 %.3g ms, worst p99 %.3g ms, %d trials on a log of %d events\n",
			p.Lanes, p.CallsPerSecond, p.P50Ms, p.P99Ms, p.Trials, p.LogEvents)
		held := "every promise held"
		if !p.PromisesHeld {
			held = "NOT every promise held"
		}
		fmt.Fprintf(&b, "  %s; %s, %s, %s, revision %.12s\n", held, p.Class, p.Platform, p.Date, p.Revision)
		fmt.Fprintf(&b, "  %s; %s, digest %.12s\n", p.Host, p.Source, p.Digest)
	} else {
		b.WriteString("no recorded trials count as evidence for this platform\n")
	}
	return b.String()
}
