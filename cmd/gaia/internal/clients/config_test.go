package clients

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestConfigurationIsRefusedInGlobalFoldersHoweverTheyAreSpelled(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	for _, dir := range []string{home, filepath.Join(home, ".claude", "sub"), filepath.Join(home, "project", ".codex")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	places := PlacesOf(func(k string) string {
		switch k {
		case "HOME", "USERPROFILE":
			return home
		case "CODEX_HOME":
			return filepath.Join(root, "elsewhere", "codex")
		}
		return ""
	})
	links := true
	for name, to := range map[string]string{"to-home": home, "to-claude": filepath.Join(home, ".claude"), "nowhere": filepath.Join(home, ".codex")} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			links = false // Windows without the privilege
		}
	}
	type c struct {
		dir     string
		refused bool
	}
	cases := []c{
		{home, true},
		{filepath.Join(home, "."), true},
		{home + string(filepath.Separator) + "project" + string(filepath.Separator) + "..", true},
		{filepath.Join(home, ".claude"), true},
		{filepath.Join(home, ".claude", "sub"), true},
		{filepath.Join(home, ".claude", "new", "deep"), true},
		{filepath.Join(home, ".codex"), true}, // doesn't exist
		{filepath.Join(home, ".CODEX"), true}, // would be the same where case is ignored
		{filepath.Join(home, ".codex."), true},
		{filepath.Join(home, ".codex", "x"), true},
		{filepath.Join(root, "elsewhere", "codex"), true},
		{filepath.Join(root, "elsewhere", "codex", "x"), true},
		{filepath.Join(root, "elsewhere"), false},
		{filepath.Join(home, "project"), false},
		{filepath.Join(home, "project", ".codex"), false},
		{filepath.Join(home, "project", "new"), false},
		{filepath.Join(home, "new"), false},
		{root, false},
	}
	if links {
		cases = append(cases,
			c{filepath.Join(root, "to-home"), true},
			c{filepath.Join(root, "to-home", ".codex"), true},
			c{filepath.Join(root, "to-claude"), true},
			c{filepath.Join(root, "to-claude", "new"), true},
			c{filepath.Join(root, "nowhere"), true},
			c{filepath.Join(root, "to-home", "project"), false})
	}
	if runtime.GOOS == "windows" {
		cases = append(cases, c{`\\?\` + filepath.Join(home, ".claude"), true}, c{`\\?\` + home, true}, c{strings.ToUpper(home), true})
	}
	for _, client := range []Client{Codex, Claude} {
		m, err := Template(client, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if _, err := Plan(c.dir, m, places); errors.Is(err, ErrRefused) != c.refused || !c.refused && err != nil {
				t.Errorf("%s into %s: %v", client, c.dir, err)
			}
		}
	}
}

func TestAFileIsReplacedOnlyByForceAndALinkIsNeverFollowed(t *testing.T) {
	dir, m := t.TempDir(), Manifest{"config.toml", []byte("ours\n")}
	plan := func() Target {
		t.Helper()
		target, err := Plan(dir, m, Places{})
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	path := filepath.Join(dir, "config.toml")
	if err := Write(plan(), m, false); err != nil {
		t.Fatal(err)
	}
	if target := plan(); !target.Same || Write(target, m, false) != nil {
		t.Errorf("the same file again: %+v", target)
	}
	if err := os.WriteFile(path, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(plan(), m, false); !errors.Is(err, ErrRefused) {
		t.Errorf("without force: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "theirs\n" {
		t.Errorf("without force it became %q", got)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Link(path, other); err == nil {
		if err := Write(plan(), m, true); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(other); string(got) != "theirs\n" {
			t.Errorf("a hard link elsewhere became %q", got)
		}
	}
	os.Remove(path)
	if err := os.Symlink(other, path); err == nil {
		if _, err := Plan(dir, m, Places{}); !errors.Is(err, ErrRefused) {
			t.Errorf("a symbolic link: %v", err)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) > 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestStartupTimeoutIsNeverTheLockDeadline(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, 10 * time.Second, 24 * time.Hour} {
		if s := StartupTimeout(d); s < 2*d+5*time.Second || s >= 2*d+6*time.Second || s%time.Second != 0 {
			t.Errorf("%v: %v", d, s)
		}
	}
}

var busVariable = regexp.MustCompile(`"(GAIA_INTERAGENT_[A-Z_]+|XDG_[A-Z_]+)"`)

// lacks names the variables in a source that a configuration doesn't pass on.
func lacks(config, source string) (names []string) {
	for _, m := range busVariable.FindAllStringSubmatch(source, -1) {
		if !strings.Contains(config, m[0]) {
			names = append(names, m[1])
		}
	}
	return names
}

func TestCodexPassesOnEveryVariableThatTheBusReads(t *testing.T) {
	m, err := Template(Codex, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "eventlog", "options.go"))
	if err != nil {
		t.Fatal(err)
	}
	if found := busVariable.FindAll(source, -1); len(found) < 7 {
		t.Errorf("only %q were found: is the source still read rightly?", found)
	}
	if names := lacks(string(m.Data), string(source)); len(names) > 0 {
		t.Errorf("%q are not passed on:\n%s", names, m.Data)
	}
	if lacks(string(m.Data), string(source)+`"GAIA_INTERAGENT_NEW"`) == nil {
		t.Error("a variable that is not passed on went unnoticed")
	}
}
