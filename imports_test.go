package gaia_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaia"
)

// rule says what one package's shipped files may import.
type rule struct {
	ours   []string // of this module, besides its own subpackages
	banned []string // of everything else, exact import paths
}

// The table of the architecture. A folder that isn't in it fails the test, so
// a new package is a decision and not an accident.
var table = map[string]rule{
	".": {},
	"core": {banned: []string{
		"os", "os/exec", "os/signal", "net", "net/http", "sync", "sync/atomic", "log", "log/slog", "math/rand", "math/rand/v2",
		"crypto/rand", "syscall", "io/fs", "path/filepath", "golang.org/x/sys/unix", "golang.org/x/sys/windows", "golang.org/x/sync/errgroup",
	}},
	"eventlog": {ours: []string{"gaia/core"}, banned: []string{"net", "net/http", "os/exec"}},
	"mcp":      {ours: []string{"gaia/core", "gaia/eventlog"}, banned: []string{"net", "net/http", "os/exec"}},
	"results":  {banned: []string{"net", "net/http", "os/exec"}},
	"lanes":    {ours: []string{"gaia/results"}, banned: []string{"net", "net/http", "os/exec"}},
	"harness":  {ours: []string{"gaia/results"}, banned: []string{"net", "net/http"}},
	"bench":    {ours: []string{"gaia/core", "gaia/eventlog", "gaia/results"}, banned: []string{"net", "net/http", "os/exec"}},
	"cmd/gaia": {ours: []string{"gaia", "gaia/core", "gaia/eventlog", "gaia/mcp", "gaia/results", "gaia/lanes", "gaia/harness", "gaia/bench"},
		banned: []string{"net", "net/http", "os/exec"}},
}

// pkgOf names the row of the table that a file falls under.
func pkgOf(file string) string {
	if strings.HasPrefix(file, "cmd/gaia/") {
		return "cmd/gaia"
	}
	if first, _, found := strings.Cut(file, "/"); found {
		return first
	}
	return "."
}

// violations holds a file's imports against the table.
func violations(file, src string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		return []string{err.Error()}
	}
	pkg := pkgOf(file)
	r, ok := table[pkg]
	if !ok {
		return []string{file + ": package " + pkg + " is not in the architecture's table"}
	}
	var bad []string
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		own := "gaia/" + pkg
		switch {
		case imp == own || strings.HasPrefix(imp, own+"/"):
		case imp == "gaia" || strings.HasPrefix(imp, "gaia/"):
			if !slices.Contains(r.ours, imp) {
				bad = append(bad, file+": "+pkg+" may not import "+imp)
			}
		case slices.Contains(r.banned, imp):
			bad = append(bad, file+": "+pkg+" may not import "+imp)
		}
	}
	// The reducer may know instants but not read the clock, and has no goroutine.
	if pkg == "core" {
		for _, word := range []string{"time.Now(", "time.Since(", "time.Until(", "time.After(", "time.Sleep(", "\tgo func", "\tgo "} {
			if strings.Contains(src, word) {
				bad = append(bad, file+": core may not use "+strings.TrimSpace(word))
			}
		}
	}
	return bad
}

// shipped lists the module's Go files on disk, tests left out.
func shipped(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "lab-runs") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	for _, file := range shipped(t) {
		src, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range violations(file, string(src)) {
			t.Error(v)
		}
	}
}

func TestImportCheckRejectsForgedFiles(t *testing.T) {
	for name, forged := range map[string]struct{ file, src string }{
		"the reducer reads a file":        {"core/x.go", "package core\nimport _ \"os\"\n"},
		"the reducer reads the clock":     {"core/x.go", "package core\nimport \"time\"\nvar now = time.Now()\n"},
		"the reducer starts a goroutine":  {"core/x.go", "package core\nfunc f() {\n\tgo f()\n}\n"},
		"the checker shares the reducer":  {"harness/x.go", "package harness\nimport _ \"gaia/core\"\n"},
		"the checker shares the log":      {"harness/x.go", "package harness\nimport _ \"gaia/eventlog\"\n"},
		"the log listens":                 {"eventlog/x.go", "package eventlog\nimport _ \"net\"\n"},
		"the log knows the server":        {"eventlog/x.go", "package eventlog\nimport _ \"gaia/mcp\"\n"},
		"the server starts a process":     {"mcp/x.go", "package mcp\nimport _ \"os/exec\"\n"},
		"a package nobody decided about":  {"helpers/x.go", "package helpers\n"},
		"a file that isn't Go":            {"core/x.go", "pakage core"},
		"an internal package listens too": {"cmd/gaia/internal/a/x.go", "package a\nimport _ \"net/http\"\n"},
	} {
		if len(violations(forged.file, forged.src)) == 0 {
			t.Errorf("%s: not rejected", name)
		}
	}
}

// The binary must carry every file it is built from, or verify's scan would
// be of something else.
func TestSourcesHoldEveryShippedFile(t *testing.T) {
	for _, file := range shipped(t) {
		on, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		in, err := gaia.Sources.ReadFile(file)
		if err != nil {
			t.Errorf("%s: not embedded; add a pattern for %s to gaia.go", file, path.Dir(file))
		} else if string(in) != string(on) {
			t.Errorf("%s: embedded text differs from the file", file)
		}
	}
}
