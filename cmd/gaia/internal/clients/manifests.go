// Package clients holds what MCP clients are told about the bus: the manifests
// that the repository ships, and the configuration files that gaia writes.
// All of them name the bare command gaia, found on the PATH, so that none
// carries a path of the machine it was made on.
package clients

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"

	"gaia/core"
)

// The manifests as the repository has them at its root. The binary carries
// them, so that it can check what it ships with.
var (
	//go:embed carried/mcp.json
	mcpManifest []byte
	//go:embed carried/claude-plugin.json
	claudePlugin []byte
	//go:embed carried/codex-plugin.json
	codexPlugin []byte
)

// A Manifest is one shipped file.
type Manifest struct {
	Path string // from the repository's root
	Data []byte
}

// Manifests are the shipped files: the MCP manifest, then the plugins of
// Claude Code and of Codex.
func Manifests() []Manifest {
	return []Manifest{
		{".mcp.json", mcpManifest},
		{".claude-plugin/plugin.json", claudePlugin},
		{".codex-plugin/plugin.json", codexPlugin},
	}
}

// mcpConfig is .mcp.json.
type mcpConfig struct {
	Servers map[string]mcpServer `json:"mcpServers"`
}

type mcpServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// plugin is what we use of either client's plugin manifest.
type plugin struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	MCPServers  string `json:"mcpServers"`
}

// CheckMCP says what is wrong with an MCP manifest; nil when it names this
// bus's server by the bare command and nothing else.
func CheckMCP(m Manifest) error {
	var c mcpConfig
	if err := json.Unmarshal(m.Data, &c); err != nil {
		return fmt.Errorf("%s: %w", m.Path, err)
	}
	s, ok := c.Servers[core.ClientKey]
	switch {
	case !ok || len(c.Servers) != 1:
		return fmt.Errorf("%s: want exactly the server %s", m.Path, core.ClientKey)
	case s.Command != "gaia" || !slices.Equal(s.Args, []string{"mcp"}):
		return fmt.Errorf("%s: want the command gaia mcp, found %q %q", m.Path, s.Command, s.Args)
	}
	return nil
}

// CheckPlugin says what is wrong with a plugin's manifest; nil when it names
// this bus and leads to the MCP manifest.
func CheckPlugin(m Manifest) error {
	p, err := parsePlugin(m)
	switch {
	case err != nil:
		return err
	case p.Name != core.ClientKey:
		return fmt.Errorf("%s: want the name %s, found %q", m.Path, core.ClientKey, p.Name)
	case p.Version == "" || p.Description == "":
		return fmt.Errorf("%s: version or description is missing", m.Path)
	case p.MCPServers != "./.mcp.json":
		return fmt.Errorf("%s: want mcpServers ./.mcp.json, found %q", m.Path, p.MCPServers)
	}
	return nil
}

// CheckSameVersion says whether two plugins part.
func CheckSameVersion(a, b Manifest) (version string, err error) {
	p, err := parsePlugin(a)
	if err != nil {
		return "", err
	}
	q, err := parsePlugin(b)
	if err == nil && p.Version != q.Version {
		err = fmt.Errorf("%s says version %q, %s %q", a.Path, p.Version, b.Path, q.Version)
	}
	return p.Version, err
}

func parsePlugin(m Manifest) (p plugin, err error) {
	if err = json.Unmarshal(m.Data, &p); err != nil {
		err = fmt.Errorf("%s: %w", m.Path, err)
	}
	return p, err
}

// absolute finds a path that starts at a root: /x, ~/x, C:\x, \\host.
var absolute = regexp.MustCompile(`(^|["'\s=,(\[])(/[A-Za-z0-9._-]|~[/\\]|[A-Za-z]:[/\\]|\\{2,}[A-Za-z0-9?.])`)

// AbsolutePath finds an absolute path in a text; "" when there is none.
func AbsolutePath(data []byte) string { return string(absolute.Find(data)) }
