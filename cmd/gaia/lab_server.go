package main

import (
	"github.com/spf13/cobra"

	"gaia/eventlog"
	"gaia/harness"
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
			log, err := a.serverLog(path, func(s eventlog.Step) error {
				hook(string(s))
				return nil
			})
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), log)
		},
	}
	cmd.Flags().StringVar(&fault, "fault", "", "STEP:N, the N-th time at a step of the commit")
	addPathFlag(cmd, &path)
	cobra.CheckErr(cmd.MarkFlagRequired("fault"))
	return cmd
}
