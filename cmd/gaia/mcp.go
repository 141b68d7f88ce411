package main

import (
	"context"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"gaia/eventlog"
	"gaia/mcp"
	"gaia/results"
)

func newMCPCommand(a *app) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the bus over MCP on standard input and output",
		Long: `Mcp is the server that a client starts, one for each session; all of them share
the data directory. It ends with its input. It starts and answers even when the
log is busy or damaged: each call then says what a person must do.`,
		Example: "  claude mcp add gaia-interagent -- gaia mcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.serverLog(path, nil)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), log)
		},
	}
	addPathFlag(cmd, &path)
	return cmd
}

func addPathFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "path", results.PathTail, "how each call reads the log: tail (what is new) or replay (all of it)")
}

// serverLog is the log as a server reads it, by its --path; hook may be nil.
func (a *app) serverLog(path string, hook func(eventlog.Step) error) (*eventlog.Log, error) {
	if path != results.PathTail && path != results.PathReplay {
		return nil, usagef("--path %q; there are %s and %s", path, results.PathTail, results.PathReplay)
	}
	log, o, err := a.log()
	if err != nil {
		return nil, err
	}
	o.ReplayEachCall, o.Hook = path == results.PathReplay, hook
	return eventlog.Open(log.Dir(), o), nil
}

// serve speaks MCP on the standard streams until its input or ctx ends.
func (a *app) serve(ctx context.Context, log *eventlog.Log) error {
	in, ok := polled(a.stdin)
	if ok {
		oneProcessor(a.getenv)
	}
	s := mcp.NewServer(mcp.Config{Log: log, Clock: a.now, Version: buildVersion(), Stderr: a.diagnostics})
	err := s.Serve(ctx, in, keepOpen{a.stdout})
	if ctx.Err() != nil {
		return nil // told to end, and did
	}
	return err
}

// oneProcessor is for a process that does one thing at a time and has many
// like it beside it: with more, Go wakes a thread at every hand-over and every
// system call, a quarter of the processor time of a call with eight lanes on
// two cores. GOMAXPROCS in the environment overrides it. It is no gain where
// reading the input takes that one.
func oneProcessor(getenv func(string) string) {
	if getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// keepOpen leaves standard output open to the process's end.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
