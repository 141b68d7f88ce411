package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
)

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the actors, their mail, and shared checkouts",
		Long: `Status reports; it refuses and locks nothing. An actor is online while it was
seen (register, inbox, ack, heartbeat) within 30 s before the newest record.
Online actors that declare the same cwd= are grouped: two sessions in one
checkout. Declarations aren't checked.`,
		Example: "  gaia status\n  gaia status | jq .workspaceCollisions",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, _, err := a.log()
			if err != nil {
				return err
			}
			evidence, _ := a.laneEvidence(log.Dir()) // doctor tells what is wrong with it
			st := status{OK: true, Command: "status", SupportedMaxLiveLanes: evidence.Supported, DataDir: log.Dir()}
			err = log.View(cmd.Context(), func(s *core.State) error {
				st.read(s)
				return nil
			})
			if err != nil {
				return a.failed(err)
			}
			return a.print(answer{body: st, text: st.print})
		},
	}
}

// status is the JSON of status.
type status struct {
	OK                     bool             `json:"ok"`
	Command                string           `json:"command"`
	LiveActors             int              `json:"liveActors"`
	StaleActors            int              `json:"staleActors"`
	SupportedMaxLiveLanes  int              `json:"supportedMaxLiveLanes"`
	OverSupportedLaneLimit bool             `json:"overSupportedLaneLimit"` // a report: nothing is refused
	WorkspaceCollisions    []core.Collision `json:"workspaceCollisions"`
	DataDir                string           `json:"dataDir"`
	Events                 int              `json:"events"`
	Actors                 []core.ActorView `json:"actors"` // pending: the messages that wait for each
}

func (st *status) read(s *core.State) {
	st.Events, st.Actors, st.WorkspaceCollisions = s.Events(), s.Actors(), s.Collisions()
	for _, actor := range st.Actors {
		if actor.Status == "online" {
			st.LiveActors++
		} else {
			st.StaleActors++
		}
	}
	st.OverSupportedLaneLimit = st.LiveActors > st.SupportedMaxLiveLanes
}

func (st *status) print(p *text.Page) {
	p.Heading("%d online, %d stale, %s", st.LiveActors, st.StaleActors, text.Count(st.Events, "event"))
	if st.OverSupportedLaneLimit {
		p.Mark(text.Warn, "warning: ", "more actors are online than the %d lanes supported; see gaia lanes", st.SupportedMaxLiveLanes)
	}
	if len(st.Actors) > 0 {
		p.Blank()
		var rows [][]string
		for _, x := range st.Actors {
			rows = append(rows, []string{x.Ref, x.Name, x.Kind, x.Status, x.LastSeenAt, fmt.Sprint(len(x.Pending))})
		}
		p.Table([]string{"REF", "NAME", "KIND", "STATUS", "LAST SEEN", "WAITING"}, rows)
	}
	for _, c := range st.WorkspaceCollisions {
		p.Blank()
		p.Mark(text.Warn, "shared checkout: ", "%s: %s", c.CWD, strings.Join(c.Refs, ", "))
		if len(c.Branches) > 1 {
			p.Line("on different branches: %s", strings.Join(c.Branches, ", "))
		}
	}
}
