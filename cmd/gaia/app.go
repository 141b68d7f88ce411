package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"gaia/cmd/gaia/internal/text"
	"gaia/eventlog"
	"gaia/mcp"
)

// An app is one run of the command: all that it reads from and writes to.
type app struct {
	stdin          io.ReadCloser
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	width          int // columns of the terminal that stdout is; 0: it is none

	// diagnostics takes warnings without ever blocking: nobody may read them,
	// and a commit must not wait for a reader.
	diagnostics *mcp.Stderr
	flags       globals
}

// globals are the flags that every command has.
type globals struct {
	dataDir string
	output  outputFormat
	pretty  bool
	quiet   bool
}

func newApp() *app {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		a.width = 80
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			a.width = min(w, 80)
		}
	}
	return a
}

// The exit codes of every command.
const (
	exitOK         = 0
	exitNo         = 1 // the answer was no: a refusal, or an unhealthy verdict
	exitUsage      = 2 // nothing was read or written
	exitFailClosed = 3 // no retry helps, fetch a human
)

// An exitError ends a command with a code. A nil err means that everything
// was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit %d: %v", e.code, e.err) }
func (e *exitError) Unwrap() error { return e.err }

// errNo ends a command whose answer, already printed, was no.
var errNo = &exitError{code: exitNo}

// errInterrupted ends a command that was told to end before it had an answer
// and before it wrote anything: no verdict, and nothing for a human to mend.
var errInterrupted = &exitError{exitNo, errors.New("interrupted; nothing was written")}

// interrupted is errInterrupted in the place of what a command that only
// reads, or writes at its very end, fails with once ctx is done.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// readInput reads all of r, or its first limit bytes, unless ctx ends first:
// what is read may never end. The read itself is then left behind.
func readInput(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	var data []byte
	var err error
	done := make(chan struct{})
	go func() {
		data, err = io.ReadAll(io.LimitReader(r, limit))
		close(done)
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

// usagef reports that the command line is wrong.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run runs one command line and returns its exit code. This is the one place
// where errors become codes: what the command line's parser says is usage,
// and what a command fails with unexpectedly is input and output.
func (a *app) run(ctx context.Context, args []string) int {
	a.diagnostics = mcp.NewStderr(a.stderr)
	began := false
	root := newRootCommand(a, &began)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	a.diagnostics.Close() // before the last word
	if err == nil {
		return exitOK
	}
	var e *exitError
	switch {
	case errors.As(err, &e):
	case began:
		e = &exitError{exitFailClosed, err}
	default:
		e = &exitError{exitUsage, err}
	}
	if e.err != nil {
		fmt.Fprintf(a.stderr, "gaia: error: %s\n", text.Escape(strings.TrimRight(e.err.Error(), "\n")))
	}
	if e.code == exitUsage {
		fmt.Fprintf(a.stderr, "gaia: hint: see `%s --help`\n", cmd.CommandPath())
	}
	return e.code
}

// log opens the log that the flags and the environment name. It touches
// nothing; what is wrong with them is usage.
func (a *app) log() (*eventlog.Log, eventlog.Options, error) {
	o, err := eventlog.OptionsFromEnv(a.getenv)
	if err != nil {
		return nil, o, &exitError{exitUsage, err}
	}
	o.Stderr = a.diagnostics
	dir, _, err := eventlog.DataDir(a.flags.dataDir, a.getenv)
	if err != nil {
		return nil, o, &exitError{exitUsage, err}
	}
	return eventlog.Open(dir, o), o, nil
}
