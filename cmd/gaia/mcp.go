package main

import (
	"io"

	"github.com/spf13/cobra"

	"gaia/mcp"
)

func newMCPCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve the bus over MCP on standard input and output",
		Long: `Mcp is the server that a client starts, one for each session; all of them share
the data directory. It ends with its input. It starts and answers even when the
log is busy or damaged: each call then says what a person must do.`,
		Example: "  claude mcp add gaia-interagent -- gaia mcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, _, err := a.log()
			if err != nil {
				return err
			}
			s := mcp.NewServer(mcp.Config{Log: log, Clock: a.now, Version: buildVersion(), Stderr: a.diagnostics})
			err = s.Serve(cmd.Context(), a.stdin, keepOpen{a.stdout})
			if cmd.Context().Err() != nil {
				return nil // told to end, and did
			}
			return err
		},
	}
}

// keepOpen leaves standard output open to the process's end.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
