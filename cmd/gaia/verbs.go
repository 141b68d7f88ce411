package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
	"gaia/mcp"
)

// newVerbCommand makes one verb's command out of the bus's own description of
// it, so that a flag can't exist that the bus doesn't know, nor lack.
func newVerbCommand(a *app, spec core.VerbSpec) *cobra.Command {
	help := verbHelp[spec.Verb]
	cmd := &cobra.Command{
		Use:     string(spec.Verb),
		Short:   help.short,
		Long:    help.long,
		Example: help.example,
		Args:    cobra.NoArgs,
	}
	flags := make([]*argFlag, len(spec.Args))
	for i, arg := range spec.Args {
		flags[i] = &argFlag{spec: arg}
		f := cmd.Flags().VarPF(flags[i], arg.Name, "", arg.Doc)
		if arg.Type == core.BoolArg {
			f.NoOptDefVal = "true"
		}
		if arg.Required {
			cobra.CheckErr(cmd.MarkFlagRequired(arg.Name))
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		args, err := encodeArgs(cmd.Context(), flags, a.stdin)
		if err != nil {
			return err
		}
		return a.verb(cmd.Context(), spec.Verb, args)
	}
	return cmd
}

// verb makes one call through the MCP server and prints what it answered.
func (a *app) verb(ctx context.Context, verb core.Verb, args jsontext.Value) error {
	client, err := a.connect(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	e, err := client.Call(ctx, string(verb), args)
	closeErr := client.Close()
	if err != nil && ctx.Err() != nil && !errors.Is(err, mcp.ErrNotWritten) {
		return &exitError{exitNo, fmt.Errorf("interrupted, and whether the call was carried out is unknown (%w); look with `gaia events` before you call again", err)}
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	if closeErr != nil && ctx.Err() == nil { // told to end, it has answered all the same
		return closeErr
	}
	switch {
	case e.FailClosed:
		return a.failClosed(e)
	case !e.OK:
		return a.refused(e)
	}
	return a.print(answer{body: e, result: e.Result, text: func(p *text.Page) { printResult(p, verb, e.Result) }})
}

// refused prints a refusal's envelope with isError as its last member.
func (a *app) refused(e mcp.Envelope) error {
	body, err := encode(e)
	if err != nil {
		return err
	}
	body = append(body[:len(body)-1], `,"isError":true}`...)
	return a.print(answer{body: body, code: exitNo, text: func(p *text.Page) {
		p.Mark(text.Bad, "REFUSED ", "%s", deref(e.Error))
	}})
}

// connect starts the MCP server in this process: verbs have no other door.
func (a *app) connect(ctx context.Context) (*mcp.Client, error) {
	log, _, err := a.log()
	if err != nil {
		return nil, err
	}
	return mcp.NewServer(mcp.Config{Log: log, Clock: a.now, Version: buildVersion(), Stderr: a.diagnostics}).Connect(ctx)
}

// An argFlag collects one argument. Whether its value makes sense is for the
// bus to say, and to record.
type argFlag struct {
	spec core.ArgSpec
	set  bool
	text string
	list []string
	flag bool
}

func (f *argFlag) String() string   { return "" }
func (f *argFlag) IsBoolFlag() bool { return f.spec.Type == core.BoolArg }

func (f *argFlag) Type() string {
	switch f.spec.Type {
	case core.BoolArg:
		return "bool"
	case core.StringsArg:
		return "a,b"
	}
	return "string"
}

func (f *argFlag) Set(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the value is not valid UTF-8")
	}
	f.set = true
	switch f.spec.Type {
	case core.BoolArg:
		if s != "true" && s != "false" {
			return errors.New("want true or false")
		}
		f.flag = s == "true"
	case core.StringsArg:
		if s != "" {
			f.list = append(f.list, strings.Split(s, ",")...)
		}
	default:
		f.text = s
	}
	return nil
}

// maxBody bounds what is read of standard input; the bus takes less.
const maxBody = 16 << 20

// encodeArgs makes the call's arguments from the flags that were given.
func encodeArgs(ctx context.Context, flags []*argFlag, stdin io.Reader) (jsontext.Value, error) {
	args := make([]string, 0, len(flags))
	for _, f := range flags {
		if !f.set {
			continue
		}
		var value any
		switch f.spec.Type {
		case core.BoolArg:
			value = f.flag
		case core.StringsArg:
			value = f.list
		default:
			value = f.text
			if f.text == "-" && (f.spec.Name == "text" || f.spec.Name == "summary") {
				body, err := readInput(ctx, stdin, maxBody+1)
				switch {
				case err == errInterrupted:
					return nil, err
				case err != nil:
					return nil, fmt.Errorf("read standard input: %w", err)
				case len(body) > maxBody:
					return nil, usagef("standard input holds more than %d bytes", maxBody)
				case !utf8.Valid(body):
					return nil, usagef("standard input is not valid UTF-8")
				}
				value = string(body)
			}
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		args = append(args, fmt.Sprintf("%q:%s", f.spec.Name, encoded))
	}
	return jsontext.Value("{" + strings.Join(args, ",") + "}"), nil
}
