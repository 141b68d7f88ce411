package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata/*.txtar")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gaia": main})
}

// TestScript runs the real main. Each script has a data directory of its own,
// $BUS, which doesn't exist yet.
func TestScript(t *testing.T) {
	example, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("BUS", filepath.Join(e.WorkDir, "bus"))
			e.Setenv("GAIA_INTERAGENT_DATA_DIR", filepath.Join(e.WorkDir, "bus"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "home", "config"))
			e.Setenv("APPDATA", filepath.Join(e.WorkDir, "home", "config"))
			e.Setenv("EXAMPLES", example)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":      cmdExit,
			"absent":    cmdAbsent,
			"same-log":  cmdSameLog,
			"bytes":     cmdBytes,
			"age":       cmdAge,
			"unescape":  cmdUnescape,
			"same-tree": cmdSameTree,
			"files":     cmdFiles,
		},
	})
}

// cmdExit runs a command and wants its exit code: exit 3 gaia doctor.
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit code command [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// cmdAbsent wants that a path doesn't exist.
func cmdAbsent(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if _, err := os.Lstat(ts.MkAbs(name)); (err == nil) != neg {
			ts.Fatalf("%s: exists %v", name, err == nil)
		}
	}
}

// cmdFiles wants that a directory holds just these: files dir name...
func cmdFiles(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, args[1:]) {
		ts.Fatalf("%s holds %q, want %q", args[0], names, args[1:])
	}
}

var stamp = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ"`)

// cmdSameLog compares two logs but for their timestamps.
func cmdSameLog(ts *testscript.TestScript, neg bool, args []string) {
	a := stamp.ReplaceAll([]byte(ts.ReadFile(args[0])), []byte(`"T"`))
	b := stamp.ReplaceAll([]byte(ts.ReadFile(args[1])), []byte(`"T"`))
	if bytes.Equal(a, b) == neg {
		ts.Fatalf("%s and %s: equal %v", args[0], args[1], !neg)
	}
}

// cmdBytes wants a file's size: bytes 3617 file.
func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	if got := ts.ReadFile(args[1]); len(got) != atoi(ts, args[0]) {
		ts.Fatalf("%s holds %d bytes, want %s", args[1], len(got), args[0])
	}
}

func atoi(ts *testscript.TestScript, s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			ts.Fatalf("%q is no number", s)
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// cmdAge sets a path's modification time an hour back.
func cmdAge(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		hourAgo := time.Now().Add(-time.Hour)
		ts.Check(os.Chtimes(ts.MkAbs(name), hourAgo, hourAgo))
	}
}

// cmdUnescape rewrites a file whose text spells bytes as \x00 and drops its
// last newline with \c.
func cmdUnescape(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		s := ts.ReadFile(name)
		if cut, found := strings.CutSuffix(strings.TrimRight(s, "\n"), `\c`); found {
			s = cut
		}
		s = strings.NewReplacer(`\x00`, "\x00", `\xef\xbb\xbf`, "\xef\xbb\xbf", `\xff`, "\xff", `\e`, "\x1b").Replace(s)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(s), 0o600))
	}
}

// cmdSameTree compares two listings made by it: same-tree file dir writes the
// first, and compares where the file is there.
func cmdSameTree(ts *testscript.TestScript, neg bool, args []string) {
	var b strings.Builder
	root := ts.MkAbs(args[1])
	ts.Check(filepath.Walk(root, func(path string, fi os.FileInfo, err error) error {
		if err != nil || path == ts.MkAbs(args[0]) || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		data := []byte("directory")
		if fi.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		b.WriteString(rel + " " + fi.Mode().String() + " " + string(data) + "\n")
		return nil
	}))
	before, err := os.ReadFile(ts.MkAbs(args[0]))
	if err != nil {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
		return
	}
	if (b.String() == string(before)) == neg {
		ts.Fatalf("the tree changed from\n%s\nto\n%s", before, b.String())
	}
}
