package main

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
)

func newStateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "state",
		Short: "Print the state that the log replays to",
		Long: `State replays the whole log and prints all of what it comes to. The same log
gives the same bytes, in any process, at any time.`,
		Example: "  gaia state --pretty\n  gaia state --quiet | sha256sum",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, _, err := a.log()
			if err != nil {
				return err
			}
			var snapshot core.Snapshot
			if err := log.View(cmd.Context(), func(s *core.State) error { snapshot = s.Snapshot(); return nil }); err != nil {
				return a.failed(err)
			}
			result, err := encode(snapshot)
			if err != nil {
				return err
			}
			body := struct {
				OK     bool           `json:"ok"`
				Result jsontext.Value `json:"result"`
			}{true, result}
			// A person, too, wants the state itself here; status is for reading.
			return a.print(answer{body: body, result: result, text: func(p *text.Page) {
				indented, _ := pretty(result) // result was just encoded
				for line := range strings.SplitSeq(string(indented), "\n") {
					p.Line("%s", line)
				}
			}})
		},
	}
}
