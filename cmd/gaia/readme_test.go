package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-shellwords"

	"gaia/cmd/gaia/internal/clients"
	"gaia/core"
)

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var inCode = regexp.MustCompile("`(gaia [^`]+)`")

// commandsIn finds the command lines that a text shows.
func commandsIn(text string) []string {
	var found []string
	for _, m := range inCode.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	for line := range strings.Lines(text) {
		code, isCode := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !isCode {
			continue
		}
		code, _, _ = strings.Cut(strings.TrimSpace(code), " #")
		for _, lead := range []string{"$ gaia ", "gaia ", "go run ./cmd/gaia ", "claude mcp add gaia-interagent -- gaia "} {
			if rest, ok := strings.CutPrefix(code, lead); ok {
				found = append(found, "gaia "+strings.TrimSuffix(rest, " \\"))
				break
			}
		}
	}
	return found
}

// unknownIn says what of a command line the command doesn't know.
func unknownIn(t *testing.T, line string) error {
	words, err := shellwords.Parse(line)
	if err != nil {
		return err
	}
	var began bool
	cmd, rest, err := newRootCommand(testApp(t, t.TempDir(), 0), &began).Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestEveryCommandThatTheReadmeShowsExists(t *testing.T) {
	shown := commandsIn(readme(t))
	if len(shown) < 3 {
		t.Errorf("only %q were found in the README: is it still read rightly?", shown)
	}
	for _, line := range shown {
		if err := unknownIn(t, line); err != nil {
			t.Errorf("README: %s: %v", line, err)
		}
	}
	for _, forged := range commandsIn("`gaia merge` and `gaia status --force`\n\n    gaia unlock --now\n") {
		if unknownIn(t, forged) == nil {
			t.Errorf("%s: not rejected", forged)
		}
	}
}

func TestTheReadmesConfigurationIsTheOneThatIsWritten(t *testing.T) {
	m, err := clients.Template(clients.Codex, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var block strings.Builder
	for line := range strings.Lines(string(m.Data)) {
		block.WriteString("    " + line)
	}
	if !strings.Contains(readme(t), "\n\n"+block.String()+"\n") {
		t.Errorf("the README doesn't show, as one block, what config writes:\n%s", m.Data)
	}
}

func TestTheReadmeNamesTheVerbsAndTheExitCodes(t *testing.T) {
	text := readme(t)
	for _, v := range core.Verbs() {
		if !strings.Contains(text, "`"+string(v)+"`") {
			t.Errorf("the README doesn't name %s", v)
		}
	}
	for _, code := range []string{"| 0 |", "| 1 |", "| 2 |", "| 3 |"} {
		if !strings.Contains(text, code) {
			t.Errorf("the README's table lacks %s", code)
		}
	}
}
