package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what it was built from",
		Example: "  gaia version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				OK       bool   `json:"ok"`
				Command  string `json:"command"`
				Version  string `json:"version"`
				Revision string `json:"revision"` // "" where the build doesn't know
				Dirty    bool   `json:"dirty"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
				Protocol string `json:"protocol"`
			}{true, "version", buildVersion(), setting("vcs.revision"), setting("vcs.modified") == "true",
				runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, core.Protocol}
			return a.print(answer{body: v, text: func(p *text.Page) {
				p.Line("gaia %s", v.Version)
				if v.Revision != "" {
					p.Field("revision", "%s", v.Revision)
				}
				p.Field("built with", "%s for %s", v.Go, v.Platform)
				p.Field("protocol", "%s", v.Protocol)
			}})
		},
	}
}

// buildVersion is the module's version as the toolchain stamped it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
