package main

import (
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/lanes"
)

func newLanesCommand(a *app) *cobra.Command {
	var max int
	var experimental bool
	cmd := &cobra.Command{
		Use:   "lanes",
		Short: "Say how many lanes one data directory is known to carry",
		Long: `Lanes quotes the ladder and the recorded trials behind it. With --max-lanes it
answers a request: more than the limit is refused, never clamped, and
--experimental-lanes, which accepts an unproven count, makes no evidence.`,
		Example: "  gaia lanes\n  gaia lanes --max-lanes 6\n  gaia lanes --max-lanes 6 --experimental-lanes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := cmd.Flags().Changed("max-lanes")
			switch {
			case asked && max < 1:
				return usagef("--max-lanes %d: want 1 or more", max)
			case experimental && !asked:
				return usagef("--experimental-lanes means nothing without --max-lanes")
			}
			return a.lanes(max, experimental)
		},
	}
	cmd.Flags().IntVar(&max, "max-lanes", 0, "ask whether so many lanes may run")
	cmd.Flags().BoolVar(&experimental, "experimental-lanes", false, "accept a count that was measured but isn't supported")
	return cmd
}

// ladder is the JSON of lanes.
type ladder struct {
	OK                    bool               `json:"ok"`
	Command               string             `json:"command"`
	SupportedMaxLiveLanes int                `json:"supportedMaxLiveLanes"`
	MaxLanes              int                `json:"maxLanes,omitzero"` // the count that was asked for and allowed
	Experimental          bool               `json:"experimental,omitzero"`
	Error                 string             `json:"error,omitzero"`
	LaneEvidence          lanes.LaneEvidence `json:"laneEvidence"`
	Warning               string             `json:"warning,omitzero"`
}

func (a *app) lanes(max int, experimental bool) error {
	log, _, err := a.log()
	if err != nil {
		return err
	}
	e, warning := a.laneEvidence(log.Dir())
	out := ladder{OK: true, Command: "lanes", SupportedMaxLiveLanes: e.Supported, LaneEvidence: e}
	if warning != nil {
		out.Warning = warning.Error()
	}
	if max > 0 {
		if err := lanes.Allow(e, max, experimental); err != nil {
			out.OK, out.Error = false, err.Error()
		} else {
			out.MaxLanes, out.Experimental = max, experimental && max > e.Supported
		}
	}
	ans := answer{body: out, text: func(p *text.Page) {
		switch {
		case !out.OK:
			p.Mark(text.Bad, "REFUSED ", "%s", out.Error)
			p.Blank()
		case out.Experimental:
			p.Mark(text.Warn, "allowed ", "%d lanes, an unproven count that you accepted; running them makes no evidence", max)
			p.Blank()
		case max > 0:
			p.Mark(text.Good, "allowed ", "%d lanes", max)
			p.Blank()
		}
		printLanes(p, e)
		for _, m := range e.Missing {
			p.Field("missing", "%s", m)
		}
		if out.Warning != "" {
			p.Mark(text.Warn, "warning: ", "%s", out.Warning)
		}
	}}
	if !out.OK {
		ans.code = exitNo
	}
	return a.print(ans)
}
