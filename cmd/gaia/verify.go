package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/cmd/gaia/internal/verify"
	"gaia/core"
	"gaia/eventlog"
)

func newVerifyCommand(a *app) *cobra.Command {
	var evidence string
	var require bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the bus and its log: 37 checks in eight sections",
		Long: `Verify checks what this binary ships and what the log says. Checks of authority
and integrity gate always. Five ask whether the log is a real exchange of
several parties; an empty bus rightly is not, so they gate only where the log
is claimed as evidence, with --evidence or --require-evidence. It proves shape,
not provenance.`,
		Example: "  gaia verify\n  gaia verify --require-evidence\n  gaia verify --evidence review/events.jsonl --pretty",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context(), evidence, require) },
	}
	cmd.Flags().StringVar(&evidence, "evidence", "", "verify this `log` (a file or a data directory) as evidence")
	cmd.Flags().BoolVar(&require, "require-evidence", false, "verify the bus's own log as evidence")
	return cmd
}

func (a *app) verify(ctx context.Context, evidence string, require bool) error {
	log, options, err := a.log()
	if err != nil {
		return err
	}
	lanes, _ := a.laneEvidence(log.Dir()) // doctor tells what is wrong with it
	subject := verify.Subject{Log: log.Path(), Gates: require || evidence != "", Tools: a.tools, Evidence: lanes, Options: options}
	if evidence != "" {
		subject.Log, subject.Lines, err = readEvidence(ctx, evidence, options)
	} else {
		subject.Lines, err = linesOf(ctx, log)
	}
	if err != nil {
		return a.failed(err)
	}
	report := verify.Run(ctx, subject)
	if ctx.Err() != nil {
		return errInterrupted // a check that was cut short proves nothing
	}
	ans := answer{body: report, text: func(p *text.Page) { printVerify(p, report) }}
	if !report.OK {
		ans.code = exitNo
	}
	return a.print(ans)
}

func linesOf(ctx context.Context, log *eventlog.Log) (lines [][]byte, err error) {
	err = log.Lines(ctx, func(l eventlog.Line) error {
		lines = append(lines, bytes.Clone(l.Bytes))
		return nil
	})
	return lines, err
}

// readEvidence reads a log that somebody names: a data directory, or a file
// of any name, which is nobody's to write to and so has no lock.
func readEvidence(ctx context.Context, path string, o eventlog.Options) (string, [][]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return path, nil, err
	}
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, usagef("--evidence: there is no %s", path)
	}
	if err != nil {
		return path, nil, &eventlog.IOError{Op: "look at", Path: path, Err: err}
	}
	if fi.IsDir() {
		log := eventlog.Open(path, o)
		lines, err := linesOf(ctx, log)
		return log.Path(), lines, err
	}
	if !fi.Mode().IsRegular() { // a read of it may never end
		return path, nil, usagef("--evidence: %s is neither a file nor a folder; name a copy", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return path, nil, &eventlog.IOError{Op: "read", Path: path, Err: err}
	}
	lines, err := splitLog(path, data)
	return path, lines, err
}

// splitLog holds a file against the rules of a log.
func splitLog(path string, data []byte) (lines [][]byte, err error) {
	s, offset := core.NewState(), int64(0)
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		reason := ""
		if !whole {
			reason = "the last line is unfinished"
		} else if len(line) == 0 {
			reason = "a blank line"
		} else if err := core.FoldLine(s, line); errors.Is(err, core.ErrUnreplayable) {
			return nil, &eventlog.UnreplayableError{Path: path, Line: len(lines) + 1, Offset: offset, Err: err}
		} else if err != nil {
			reason = err.Error()
		}
		if reason != "" {
			return nil, &eventlog.CorruptError{Path: path, Line: len(lines) + 1, Offset: offset, Reason: reason}
		}
		lines, data = append(lines, line), rest
		offset += int64(len(line)) + 1
	}
	return lines, nil
}

func printVerify(p *text.Page, r verify.Report) {
	for _, s := range r.Sections {
		p.Heading("%s", s.Section)
		for _, c := range s.Checks {
			style, mark := text.Good, "ok   "
			if !c.OK {
				style, mark = text.Bad, "FAIL "
			}
			p.Mark(style, mark, "%s  —  %s", c.Name, c.Detail)
		}
		p.Blank()
	}
	verdict, style := "verified ", text.Good
	if !r.OK {
		verdict, style = "NOT VERIFIED ", text.Bad
	}
	p.Mark(style, verdict, "%d passed, %d failed", r.Passed, r.Failed)
	if r.OK && r.Failed > 0 {
		p.Line("What failed asks whether this log is a real exchange of several parties. It gates only with --require-evidence or --evidence.")
	}
	p.Line("It proves %s.", r.Proves)
}
