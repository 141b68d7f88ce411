package clients

import (
	"os"
	"path/filepath"
	"testing"
)

func TestShippedManifestsAreTheOnesTheBinaryCarries(t *testing.T) {
	for _, m := range Manifests() {
		onDisk, err := os.ReadFile(filepath.Join("..", "..", "..", "..", filepath.FromSlash(m.Path)))
		if err != nil {
			t.Fatal(err)
		}
		if string(onDisk) != string(m.Data) {
			t.Errorf("%s differs from the copy in carried/", m.Path)
		}
	}
}

func TestShippedManifestsPassTheirChecksAndForgedOnesDoNot(t *testing.T) {
	all := Manifests()
	if err := CheckMCP(all[0]); err != nil {
		t.Error(err)
	}
	for _, m := range all[1:] {
		if err := CheckPlugin(m); err != nil {
			t.Error(err)
		}
	}
	for name, forged := range map[string]string{
		"not JSON":        `{`,
		"no server":       `{"mcpServers":{}}`,
		"another command": `{"mcpServers":{"gaia-interagent":{"command":"/usr/bin/gaia","args":["mcp"]}}}`,
		"one more server": `{"mcpServers":{"gaia-interagent":{"command":"gaia","args":["mcp"]},"x":{"command":"sh"}}}`,
		"other arguments": `{"mcpServers":{"gaia-interagent":{"command":"gaia","args":["mcp","--x"]}}}`,
	} {
		if CheckMCP(Manifest{"x", []byte(forged)}) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, forged := range map[string]string{
		"another name": `{"name":"x","version":"1","description":"d","mcpServers":"./.mcp.json"}`,
		"no version":   `{"name":"gaia-interagent","description":"d","mcpServers":"./.mcp.json"}`,
		"elsewhere":    `{"name":"gaia-interagent","version":"1","description":"d","mcpServers":"../.mcp.json"}`,
	} {
		if CheckPlugin(Manifest{"x", []byte(forged)}) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := CheckSameVersion(all[1], Manifest{"x", []byte(`{"version":"9"}`)}); err == nil {
		t.Error("plugins of two versions: accepted")
	}
}

func TestAbsolutePathsAreSeen(t *testing.T) {
	for _, text := range []string{`"/home/x"`, `"C:\\x"`, `"c:/x"`, `"~/x"`, `"\\\\host\\x"`, `cmd=/opt/gaia`, `"\\\\?\\C:\\x"`} {
		if AbsolutePath([]byte(text)) == "" {
			t.Errorf("%s: not seen", text)
		}
	}
	for _, text := range []string{`"./.mcp.json"`, `"gaia"`, `"a/b"`, `"https://example.org/x"`, "cwd=<your checkout>"} {
		if p := AbsolutePath([]byte(text)); p != "" {
			t.Errorf("%s: %q", text, p)
		}
	}
}
