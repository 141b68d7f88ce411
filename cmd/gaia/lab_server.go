package main

import (
	"github.com/spf13/cobra"

	"gaia/eventlog"
	"gaia/harness"
	"gaia/mcp"
	"gaia/results"
)

// newLabServerCommand is gaia's server with a failpoint: the lab catches it in
// the middle of a commit. The shipped server has none.
func newLabServerCommand(a *app) *cobra.Command {
	var fault, path string
	cmd := &cobra.Command{
		Use:     "server",
		Short:   "The server with a failpoint, started by gaia lab run",
		Example: "  gaia lab server --fault append:12",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hook, err := harness.Failpoint(fault, a.stderr)
			if err != nil {
				return labError(err)
			}
			if path != results.PathTail && path != results.PathReplay {
				return usagef("read path %q; there are tail and replay", path)
			}
			log, o, err := a.log()
			if err != nil {
				return err
			}
			o.ReplayEachCall = path == results.PathReplay
			o.Hook = func(s eventlog.Step) error {
				hook(string(s))
				return nil
			}
			s := mcp.NewServer(mcp.Config{Log: eventlog.Open(log.Dir(), o), Clock: a.now, Version: buildVersion(), Stderr: a.diagnostics})
			err = s.Serve(cmd.Context(), a.stdin, keepOpen{a.stdout})
			if cmd.Context().Err() != nil {
				return nil // told to end, and did
			}
			return err
		},
	}
	cmd.Flags().StringVar(&fault, "fault", "", "STEP:N, the N-th time at a step of the commit")
	cmd.Flags().StringVar(&path, "path", results.PathTail, "how it reads the log: tail or replay")
	cobra.CheckErr(cmd.MarkFlagRequired("fault"))
	return cmd
}
