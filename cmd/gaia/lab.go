package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/lab"
	"gaia/cmd/gaia/internal/text"
	"gaia/harness"
	"gaia/results"
)

// newLabCommand is the lab: it measures how many lanes one data directory
// carries, checks that the log kept every promise, and makes evidence of it.
func newLabCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Measure how many lanes a directory carries; check the log",
		Long: `The lab spawns real lanes, each a client process with a server process of its
own over stdio, all on one data directory. It measures the lock's contention and
the cost of replay, checks from the log's bytes that every promise was kept, and
turns the recorded trials into the evidence that "gaia doctor" quotes.

It uses data directories of its own, never yours. Its commands print text, line
by line, into a pipe too; JSON is for --output json.`,
		Example: "  gaia lab run\n  gaia lab run --preset ladder --out ladder\n  gaia lab compare old new",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newLabRunCommand(a), newLabReplayCommand(a), newLabCompareCommand(a), newLabReportCommand(a), newLabEvidenceCommand(a),
		newLabFiguresCommand(a), newLabLaneCommand(a), newLabServerCommand(a), newLabTapCommand(a), newLabBareCommand(a))
	return cmd
}

// labError gives an error of the lab its exit code.
func labError(err error) error {
	var start *harness.StartError
	var coded *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return err
	case errors.Is(err, lab.ErrUsage), errors.Is(err, harness.ErrUsage):
		return &exitError{exitUsage, err}
	case errors.As(err, &start):
		return &exitError{exitFailClosed, fmt.Errorf("%w; run it by hand to see why", err)}
	case errors.Is(err, results.ErrSchema), errors.Is(err, os.ErrNotExist):
		return &exitError{exitUsage, err}
	}
	return &exitError{exitFailClosed, err}
}

// readRun reads a run's folder that a person named.
func readRun(dir string) (results.Run, error) {
	run, err := results.ReadRunDir(dir)
	if err != nil {
		return run, &exitError{exitUsage, fmt.Errorf("%w; name a folder that gaia lab run made", err)}
	}
	if len(run.Trials) == 0 {
		return run, usagef("%s holds no trial yet", dir)
	}
	return run, nil
}

// escaped makes lines of text fit for a terminal: records and servers' words
// may come from anywhere.
func escaped(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = text.Escape(l)
	}
	return strings.Join(lines, "\n")
}

// serverNames are the short names of server commands, for records: the words
// of each, paths reduced to their base names, told apart where they are alike.
func serverNames(commands []string) []string {
	names := make([]string, len(commands))
	seen := make(map[string]int)
	for i, c := range commands {
		words, err := harness.Words(c)
		if err != nil {
			words = nil // the plan refuses it
		}
		name := strings.Join(words, " ")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s#%d", name, seen[name])
		}
		names[i] = name
	}
	return names
}

// clientName is a client's program, and its script where it has one: what
// follows is mostly placeholders and a prompt.
func clientName(command string) string {
	words := strings.Fields(serverNames([]string{command})[0])
	if len(words) == 0 {
		return "" // the plan refuses it
	}
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") && !strings.ContainsAny(words[1], "{}") {
		return words[0] + " " + words[1]
	}
	return words[0]
}

// printLab prints what a lab command found: as JSON, or as the text given,
// whose tables keep their shape.
func (a *app) printLab(body any, page string) error {
	if a.json() {
		return a.print(answer{body: body})
	}
	return a.write([]byte(escaped(page)))
}
