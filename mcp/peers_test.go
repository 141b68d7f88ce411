package mcp

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"gaia/eventlog"
)

// The versions that the exchange was written against.
var peers = []string{"@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/inspector@0.15.0"}

// npmPeers installs the peers into a fresh folder, or skips where that can't
// be: no node, no npm, no network. GAIA_PEERS=1 makes that a failure, and
// GAIA_PEERS=0 skips always.
func npmPeers(t *testing.T) string {
	t.Helper()
	unable := t.Skipf
	switch {
	case os.Getenv("GAIA_PEERS") == "1":
		unable = t.Fatalf
	case os.Getenv("GAIA_PEERS") == "0":
		t.Skip("GAIA_PEERS=0: no peers from npm")
	case testing.Short():
		t.Skip("-short: no peers from npm")
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			unable("no peers from npm: %v", err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"}, peers...)
	if out, err := runIn(t, dir, nil, "npm", args...); err != nil {
		unable("no peers from npm: %v: %s", err, brief(out))
	}
	return dir
}

func runIn(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String() + string(out), errors.Join(err, context.Cause(ctx))
	}
	return string(out), nil
}

// toolResult is what a peer shows of a tools/call's result.
type toolResult struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured jsontext.Value `json:"structuredContent"`
}

func (r toolResult) envelope(t *testing.T) (e Envelope) {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d content items", len(r.Content))
	}
	structured := r.Structured.Clone()
	if err := structured.Compact(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Content[0].Text, string(structured)); d != "" {
		t.Errorf("the two forms differ: %s", d)
	}
	if err := json.Unmarshal([]byte(r.Content[0].Text), &e); err != nil {
		t.Fatal(err)
	}
	if r.IsError == e.OK {
		t.Errorf("isError %v with ok %v", r.IsError, e.OK)
	}
	return e
}

func TestRealPeersListCallAndSeeRefusals(t *testing.T) {
	bin := gaia(t)
	npm := npmPeers(t)
	six := []string{"register", "send", "inbox", "ack", "heartbeat", "handoff"}

	t.Run("TypeScript SDK", func(t *testing.T) {
		script, err := os.ReadFile("testdata/peers/exchange.mjs")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(npm, "exchange.mjs"), script, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		out, err := runIn(t, npm, []string{eventlog.EnvDataDir + "=" + dir}, "node", "exchange.mjs", bin, "mcp")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		said := strings.Split(strings.TrimSpace(out), "\n")
		var names []string
		if err := json.Unmarshal([]byte(said[0]), &names); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(six, names); d != "" {
			t.Error(d)
		}
		wants := []string{"", "", "", `"text":"<` + "\u2028" + `é😀>"`, "", "", "", "refused: nobody", "refused: merge"}
		if len(said) != 1+len(wants) {
			t.Fatalf("%d answers: %s", len(said)-1, out)
		}
		for i, want := range wants {
			var r toolResult
			if err := json.Unmarshal([]byte(said[i+1]), &r); err != nil {
				t.Fatal(err)
			}
			e := r.envelope(t)
			refused, isRefusal := strings.CutPrefix(want, "refused: ")
			if e.OK == isRefusal || isRefusal && !strings.Contains(*e.Error, refused) || !isRefusal && !strings.Contains(string(e.Result), want) {
				t.Errorf("answer %d, want %q: %s", i+1, want, said[i+1])
			}
		}
		mustBeFree(t, dir, 10) // 2 actors, 2 messages, poll, ack, heartbeat, handoff, 2 refusals
	})

	t.Run("Inspector", func(t *testing.T) {
		env := []string{eventlog.EnvDataDir + "=" + filepath.Join(t.TempDir(), "data")}
		inspect := func(args ...string) []byte {
			t.Helper()
			out, err := runIn(t, npm, env, filepath.Join(npm, "node_modules", ".bin", "mcp-inspector"), append([]string{"--cli", bin, "mcp"}, args...)...)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return []byte(out)
		}
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(inspect("--method", "tools/list"), &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if d := cmp.Diff(six, names); d != "" {
			t.Error(d)
		}
		for want, args := range map[string][]string{
			"ok":      {"--tool-name", "register", "--tool-arg", "actorId=inspector"},
			"refused": {"--tool-name", "heartbeat", "--tool-arg", "actorId=nobody"},
		} {
			var r toolResult
			if err := json.Unmarshal(inspect(append([]string{"--method", "tools/call"}, args...)...), &r); err != nil {
				t.Fatal(err)
			}
			if e := r.envelope(t); e.OK != (want == "ok") {
				t.Errorf("want %s: %s", want, r.Content[0].Text)
			}
		}
	})
}
