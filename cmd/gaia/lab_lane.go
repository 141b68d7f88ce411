package main

import (
	"github.com/spf13/cobra"

	"gaia/harness"
)

// newLabLaneCommand is one lane of a trial, a process of its own that the lab
// starts and speaks with over stdio.
func newLabLaneCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "lane",
		Short:   "One lane of a trial, started by gaia lab run",
		Example: "  gaia lab lane",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			oneProcessor(a.getenv)
			return labError(harness.Lane(cmd.Context(), a.stdin, a.stdout))
		},
	}
}
