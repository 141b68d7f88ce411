package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaia/cmd/gaia/internal/clients"
	"gaia/cmd/gaia/internal/ecosystem"
	"gaia/core"
	"gaia/lanes"
)

func manifest() []Check {
	m := clients.Manifests()
	mcp, claude, codex := m[0], m[1], m[2]
	version, versionErr := clients.CheckSameVersion(claude, codex)
	return []Check{
		check(".mcp.json names the one server by the bare command", core.ClientKey+": gaia mcp", clients.CheckMCP(mcp)),
		noAbsolutePath(mcp, `["mcp"]`),
		check(".claude-plugin/plugin.json leads to .mcp.json", core.ClientKey, clients.CheckPlugin(claude)),
		noAbsolutePath(claude, "./.mcp.json"),
		check(".codex-plugin/plugin.json leads to .mcp.json", core.ClientKey, clients.CheckPlugin(codex)),
		noAbsolutePath(codex, "./.mcp.json"),
		check("both plugin manifests say the same version", version, versionErr),
	}
}

func noAbsolutePath(m clients.Manifest, detail string) Check {
	name := m.Path + " has no absolute developer path"
	if path := clients.AbsolutePath(m.Data); path != "" {
		return Check{name, false, fmt.Sprintf("found %q", path)}
	}
	return Check{name, true, detail}
}

func templates() []Check {
	var found error
	for _, t := range clients.Templates() {
		if path := clients.AbsolutePath(t.Data); path != "" {
			found = errors.Join(found, fmt.Errorf("%s: found %q", t.Path, path))
		}
	}
	return []Check{check("generated-config templates contain no absolute developer path", "placeholders only", found)}
}

func ladder(e lanes.LaneEvidence) []Check {
	source := "inherited policy"
	if e.Supported > lanes.Inherited {
		source = "validated by recorded trials"
	}
	supported := e.Supported == lanes.Inherited || e.Supported > lanes.Inherited && e.Measured != nil && *e.Measured >= e.Supported && e.Provenance != nil
	next := -1 // the rung above what is supported, -1 where there is none
	for _, rung := range lanes.Rungs() {
		if rung > e.Supported {
			next = rung
			break
		}
	}
	quoted := e.NextValidationTarget == nil && next < 0 || e.NextValidationTarget != nil && *e.NextValidationTarget == next
	refusal := lanes.Allow(e, e.Supported+1, false)
	beyond := lanes.Allow(e, max(e.HighestMeasured, e.Supported)+1, true)
	return []Check{
		holds("the supported lane count is inherited policy or backed by recorded trials", supported, "%d, %s", e.Supported, source),
		holds("the next validation target is the rung above it", quoted, "next %s", number(e.NextValidationTarget)),
		holds("more lanes than the limit are refused, never clamped", refusal != nil && beyond != nil,
			"%d refused, %d refused with --experimental-lanes too", e.Supported+1, max(e.HighestMeasured, e.Supported)+1),
	}
}

func number(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

func startupTimeout(lock time.Duration) []Check {
	startup := clients.StartupTimeout(lock)
	return []Check{
		holds("Codex's startup timeout is twice the lock deadline plus 5 s", startup >= 2*lock+5*time.Second && startup < 2*lock+6*time.Second,
			"%v for a deadline of %v", startup, lock),
		holds("the startup timeout never equals the lock deadline", startup != lock, "%v is not %v", startup, lock),
	}
}

func neighbours() []Check {
	want := []struct {
		name     string
		decision ecosystem.Decision
		may      ecosystem.Action // "" for nothing
	}{
		{"GA", ecosystem.AdapterOnly, ecosystem.ReadFiles},
		{"TARS", ecosystem.AdapterOnly, ecosystem.MountServer},
		{"Hari", ecosystem.Rejected, ""},
		{"IX", ecosystem.Deferred, ""},
	}
	var checks []Check
	for _, w := range want {
		v, _ := ecosystem.Find(w.name)
		ok := v.Decision == w.decision
		for _, do := range []ecosystem.Action{ecosystem.ReadFiles, ecosystem.WriteFiles, ecosystem.MountServer} {
			ok = ok && (ecosystem.May(w.name, do) == nil) == (do == w.may)
		}
		checks = append(checks, holds(fmt.Sprintf("%s is %s", w.name, w.decision), ok, "%s", v.Reason))
	}
	return checks
}

func toolSurface(ctx context.Context, tools func(context.Context) ([]string, error)) []Check {
	names, err := tools(ctx)
	exact := slices.EqualFunc(names, core.Verbs(), func(n string, v core.Verb) bool { return n == string(v) })
	if err == nil && !exact {
		err = fmt.Errorf("the server offers %q", names)
	}
	privileged := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(core.NeverGrantable(), func(word string) bool {
			return strings.Contains(strings.ToLower(name), strings.Split(word, "-")[0])
		})
	})
	return []Check{
		check("tool surface: the six verbs and no seventh, asked of the running server", strings.Join(names, " "), err),
		holds("no tool is named for what is never grantable", len(names) > 0 && len(privileged) == 0, "%d of %d named so", len(privileged), len(names)),
	}
}
