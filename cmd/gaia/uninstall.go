package main

import (
	"os"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
	"gaia/lanes"
)

func newUninstallPreviewCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall-preview",
		Short: "List what uninstalling would remove, and what stays",
		Long: `Uninstall-preview removes nothing; no command of gaia does. What a client's
configuration says is removed with the client's own command.`,
		Example: "  gaia uninstall-preview",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.uninstallPreview() },
	}
}

// item is a thing on this machine that is gaia's.
type item struct {
	What   string `json:"what"`
	Path   string `json:"path,omitzero"`
	Exists *bool  `json:"exists,omitzero"`
	How    string `json:"how"`
}

func (a *app) uninstallPreview() error {
	log, _, err := a.log()
	if err != nil {
		return err
	}
	at := func(what, path, how string) item {
		exists := !missing(path)
		return item{what, path, &exists, how}
	}
	out := struct {
		OK          bool   `json:"ok"`
		Command     string `json:"command"`
		Mode        string `json:"mode"`
		Destructive bool   `json:"destructive"`
		WouldGo     []item `json:"wouldGo"`
		Stays       []item `json:"stays"`
		Note        string `json:"note"`
	}{true, "uninstall-preview", "preview", false, nil, nil, "nothing was removed, and no command of gaia removes any of this"}
	if binary, err := os.Executable(); err == nil {
		out.WouldGo = append(out.WouldGo, at("the command", binary, "delete the file"))
	}
	out.WouldGo = append(out.WouldGo,
		item{What: "Claude Code's entry", How: "claude mcp remove " + core.ClientKey},
		item{What: "Codex's entry", How: "codex mcp remove " + core.ClientKey})
	out.Stays = append(out.Stays, at("the log: the only account of what was asked, seen, refused and handed over", log.Path(), "delete it only if nobody will ask"))
	if config, err := os.UserConfigDir(); err == nil {
		out.Stays = append(out.Stays, at("lane evidence that you adopted", lanes.AdoptDir(config), "delete the folder if you don't want it"))
	}
	return a.print(answer{body: out, text: func(p *text.Page) {
		list := func(title string, items []item) {
			p.Heading("%s", title)
			for _, i := range items {
				where := i.Path
				if i.Exists != nil && !*i.Exists {
					where += " (not there)"
				}
				p.Mark(text.Plain, "  - ", "%s", i.What)
				if where != "" {
					p.Mark(text.Plain, "    ", "%s", where)
				}
				p.Mark(text.Plain, "    ", "to remove: %s", i.How)
			}
			p.Blank()
		}
		list("Would go", out.WouldGo)
		list("Stays", out.Stays)
		p.Line("%s", out.Note)
	}})
}
