package main

import (
	"github.com/spf13/cobra"

	"gaia/results"
)

func newLabCompareCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two runs, arm by arm",
		Long: `Medians with their 95% intervals, and the change between them where the trials
show one: "~" stands where they don't, by the Mann-Whitney test at the 5% level.`,
		Example: "  gaia lab compare lab-runs/20260102-030405-1 lab-runs/20260103-030405-1",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			older, err := readRun(args[0])
			if err != nil {
				return err
			}
			newer, err := readRun(args[1])
			if err != nil {
				return err
			}
			c := results.Compare(older, newer)
			return a.printLab(c.JSON(), c.String())
		},
	}
}
