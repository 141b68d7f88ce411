package main

import (
	"github.com/spf13/cobra"

	"gaia/harness"
)

// newLabTapCommand stands between a real client and its server and writes down
// each call: the lab's view of a client that isn't ours.
func newLabTapCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "tap FILE",
		Short:   "What a real client starts as its server, set up by gaia lab run --client",
		Example: "  gaia lab tap order.json",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := harness.Tap(cmd.Context(), args[0], a.stdin, a.stdout, a.stderr)
			if err != nil {
				return labError(err)
			}
			if code != exitOK {
				return &exitError{code: code} // the server's own, already told
			}
			return nil
		},
	}
}
