package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/clients"
	"gaia/cmd/gaia/internal/ecosystem"
	"gaia/cmd/gaia/internal/text"
)

func newConfigCommand(a *app) *cobra.Command {
	var client, dir string
	var write, force bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show or write a client's MCP configuration",
		Long: `Config shows the configuration that makes a client start this bus's server; with
--write it writes it into the folder that you name: config.toml for Codex (a
project's .codex), .mcp.json for Claude Code (a project's root). It refuses the
home directory and the clients' own global folders, however they are spelled.`,
		Example: "  gaia config --client codex --out .codex\n  gaia config --client claude --out . --write",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if force && !write {
				return usagef("--force means nothing without --write")
			}
			return a.config(client, dir, write, force)
		},
	}
	cmd.Flags().StringVar(&client, "client", "", "codex or claude")
	cmd.Flags().StringVar(&dir, "out", "", "the `folder` that the client reads its configuration from")
	cmd.Flags().BoolVar(&write, "write", false, "write the file; without, it is only shown")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that holds something else")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("client", oneOf(string(clients.Codex), string(clients.Claude))))
	for _, name := range []string{"client", "out"} {
		cobra.CheckErr(cmd.MarkFlagRequired(name))
	}
	return cmd
}

// configured is the JSON of config.
type configured struct {
	OK       bool   `json:"ok"`
	Command  string `json:"command"`
	Client   string `json:"client"`
	Mode     string `json:"mode"` // "dry-run" or "write"
	Path     string `json:"path,omitzero"`
	Exists   bool   `json:"exists"`
	Same     bool   `json:"same"` // the file holds this content already
	Written  bool   `json:"written"`
	Content  string `json:"content,omitzero"`
	Required string `json:"required,omitzero"`
	Error    string `json:"error,omitzero"`
}

func (a *app) config(client, dir string, write, force bool) error {
	out := configured{OK: true, Command: "config", Client: client, Mode: "dry-run"}
	if _, neighbour := ecosystem.Find(client); neighbour {
		if err := ecosystem.May(client, ecosystem.WriteFiles); err != nil {
			return a.printConfigured(out, err)
		}
	}
	_, options, err := a.log()
	if err != nil {
		return err
	}
	m, err := clients.Template(clients.Client(client), options.LockTimeout)
	if err != nil {
		return usagef("--client: %w", err)
	}
	target, err := clients.Plan(dir, m, clients.PlacesOf(a.getenv))
	out.Path, out.Exists, out.Same, out.Content = target.Path, target.Exists, target.Same, string(m.Data)
	if write {
		out.Mode = "write"
	} else if !target.Same {
		out.Required = "--write"
	}
	if err == nil && write {
		err = clients.Write(target, m, force)
		out.Written = err == nil && !target.Same
	}
	return a.printConfigured(out, err)
}

func (a *app) printConfigured(out configured, err error) error {
	ans := answer{}
	if err != nil {
		out.OK, out.Error, out.Required = false, err.Error(), ""
		ans.code = exitNo
	}
	ans.body, ans.text = out, func(p *text.Page) {
		switch {
		case !out.OK:
			p.Mark(text.Bad, "REFUSED ", "%s", strings.TrimPrefix(out.Error, clients.ErrRefused.Error()+": "))
			return
		case out.Written:
			p.Mark(text.Good, "written ", "%s", out.Path)
		case out.Same:
			p.Mark(text.Good, "nothing to do ", "%s holds it already", out.Path)
		default:
			p.Mark(text.Head, "dry run ", "would write %s", out.Path)
			if out.Exists {
				p.Line("which holds something else now: --force is needed, and replaces the whole file")
			}
		}
		p.Blank()
		p.Body(out.Content)
		if out.Required != "" {
			p.Blank()
			p.Line("To do it, add %s.", out.Required)
		}
	}
	printErr := a.print(ans)
	if err != nil && !errors.Is(err, clients.ErrRefused) && out.Content != "" {
		return &exitError{exitFailClosed, err} // the disk said no, and not we
	}
	return printErr
}
