package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/demo"
	"gaia/cmd/gaia/internal/text"
	"gaia/cmd/gaia/internal/verify"
	"gaia/eventlog"
)

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch three servers exchange messages, and verify",
		Long: `Demo starts three server processes on a temporary data directory, plays an
exchange of three actors through them, tells it step by step, and verifies the
log as evidence. Your own data directory isn't touched, and nothing is kept.`,
		Example: "  gaia demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

var errDemoInterrupted = &exitError{exitNo, errors.New("interrupted; nothing of the demo is kept")}

func (a *app) demo(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "gaia-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir, work := filepath.Join(tmp, "bus"), filepath.Join(tmp, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	told := 0
	steps, err := demo.Run(ctx, []string{self, "mcp"}, work, dir, a.diagnostics, func(s demo.Step) error {
		told++
		return a.tell(told, s)
	})
	if err != nil && ctx.Err() != nil {
		return errDemoInterrupted
	}
	if err != nil {
		return fmt.Errorf("the demo stopped: %w", err)
	}

	options, err := eventlog.OptionsFromEnv(a.getenv)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	log := eventlog.Open(dir, options)
	lines, err := linesOf(ctx, log)
	if err != nil && ctx.Err() != nil {
		return errDemoInterrupted
	}
	if err != nil {
		return a.failed(err)
	}
	evidence, _ := a.laneEvidence(dir) // doctor tells what is wrong with it
	report := verify.Run(ctx, verify.Subject{
		Log: log.Path(), Lines: lines, Gates: true, Tools: a.tools, Evidence: evidence, Options: options,
	})
	if ctx.Err() != nil {
		return errDemoInterrupted
	}
	report.Log = "" // it goes with the demo
	ans := answer{text: func(p *text.Page) {
		p.Heading("The log: %s. gaia verify --require-evidence says of it:", text.Count(len(lines), "record"))
		p.Blank()
		printVerify(p, report)
	}}
	ans.body = struct {
		OK      bool          `json:"ok"`
		Command string        `json:"command"`
		Steps   []demo.Step   `json:"steps"`
		Events  int           `json:"events"`
		Verify  verify.Report `json:"verify"`
	}{report.OK, "demo", steps, len(lines), report}
	if !report.OK {
		ans.code = exitNo
	}
	return a.print(ans)
}

// tell prints one step of the story as it happens.
func (a *app) tell(n int, s demo.Step) error {
	if a.json() {
		return nil
	}
	p := a.page()
	p.Heading("%d. %s", n, s.Tale)
	p.Line("%s calls %s", s.Actor, s.Verb)
	for name, value := range members(s.Args) {
		p.Field("  "+name, "%s", value)
	}
	p.Line("and is answered")
	printResult(p, s.Verb, s.Envelope.Result)
	p.Blank()
	return a.write(p.Bytes())
}

// members walks an object's members in their order.
func members(object jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := d.ReadValue()
			if err != nil || !yield(key, value) {
				return
			}
		}
	}
}
