package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
)

func newToolsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "tools",
		Short:   "List what the MCP server offers, as it answers tools/list",
		Long:    "Tools asks the MCP server itself. Six verbs are the whole surface; there is no\nseventh.",
		Example: "  gaia tools --pretty",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := a.tools(cmd.Context())
			if err != nil {
				return err
			}
			result, err := encode(names)
			if err != nil {
				return err
			}
			body := struct {
				OK     bool     `json:"ok"`
				Result []string `json:"result"`
				Count  int      `json:"count"`
			}{true, names, len(names)}
			return a.print(answer{body: body, result: result, text: func(p *text.Page) {
				for _, name := range names {
					p.Line("%s", name)
				}
			}})
		},
	}
}

// tools asks the MCP server, in this process, for its tools.
func (a *app) tools(ctx context.Context) ([]string, error) {
	client, err := a.connect(ctx)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	names, err := client.Tools(ctx)
	return names, interrupted(ctx, errors.Join(err, client.Close()))
}
