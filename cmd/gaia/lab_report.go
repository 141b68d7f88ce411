package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/report"
	"gaia/results"
)

// The files that are made from a run's records.
const (
	reportHTML = "report.html"
	reportText = "report.txt"
)

func newLabReportCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "report RUN",
		Short: "Make a run's report, and print it",
		Long: `Makes report.html, report.txt and bench.txt in the run's folder anew from its
records, and prints the text. The HTML needs no network and no other file.`,
		Example: "  gaia lab report lab-runs/20260102-030405-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := readRun(args[0]); err != nil {
				return err
			}
			if err := writeLabFiles(args[0]); err != nil {
				return labError(err)
			}
			text, err := os.ReadFile(filepath.Join(args[0], reportText))
			if err != nil {
				return err
			}
			return a.printLab(labReport{true, "lab report", filepath.Join(args[0], reportHTML), filepath.Join(args[0], reportText)}, string(text))
		},
	}
}

type labReport struct {
	OK      bool   `json:"ok"`
	Command string `json:"command"`
	HTML    string `json:"html"`
	Text    string `json:"text"`
}

// writeLabFiles makes the files that are made from the records in dir.
func writeLabFiles(dir string) error {
	run, err := results.ReadRunDir(dir)
	if err != nil {
		return err
	}
	ok, lines, err := judgeThresholds(run)
	if err != nil {
		return err
	}
	r, err := report.Run(run, ok, lines)
	if err != nil {
		return err
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		reportHTML:        func(b *bytes.Buffer) error { return r.WriteHTML(b) },
		reportText:        func(b *bytes.Buffer) error { return r.WriteText(b) },
		results.BenchFile: func(b *bytes.Buffer) error { return results.WriteBench(b, run.Trials) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// judgeThresholds holds a run against the thresholds that its plan has.
func judgeThresholds(run results.Run) (ok bool, lines []string, err error) {
	if run.Plan == nil || run.Plan.Require == "" {
		return true, nil, nil
	}
	ths, err := results.ParseThresholds(run.Plan.Require)
	if err != nil {
		return false, nil, err
	}
	ok, lines = results.Require(ths, run.Trials, run.Plan.ArmNames())
	return ok, lines, nil
}
