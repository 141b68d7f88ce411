package main

import (
	"time"

	"github.com/spf13/cobra"

	"gaia/harness"
)

// newLabBareCommand is a process that commits with nothing of the bus: what a
// call is held against.
func newLabBareCommand(a *app) *cobra.Command {
	var lock string
	var window time.Duration
	cmd := &cobra.Command{
		Use:     "bare FILE",
		Short:   "A process that locks, appends and syncs, started by gaia lab figures",
		Example: "  gaia lab bare --lock gate --for 2s log",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return labError(harness.Bare(cmd.Context(), a.stdin, a.stdout, lock, args[0], window))
		},
	}
	cmd.Flags().StringVar(&lock, "lock", harness.BareLocks()[0], "the lock to take")
	cmd.Flags().DurationVar(&window, "for", 2*time.Second, "how long to commit")
	return cmd
}
