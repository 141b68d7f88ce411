//go:build unix

package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A sqlite3 that can't do what is asked is no reason to lose a run, and what it
// says goes to records without the paths that it names.
func TestASQLiteThatFailsIsNotMeasuredAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ script, why string }{
		"at once":              {"echo \"no library '/home/somebody/lib.so'\" >&2; exit 3", "no library 'lib.so'"},
		"without WAL":          {"echo delete", "no database in WAL mode"},
		"before it is ready":   {`[ -e "$0.once" ] && exit 3; touch "$0.once"; cat >/dev/null; echo wal`, "ended before it began"},
		"in its second commit": {`[ -e "$0.once" ] && { echo ready 3; read a; read b; read c; read d; echo 1; exit 3; }; touch "$0.once"; cat >/dev/null; echo wal`, "in the middle of its commits"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "sqlite3")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			_, err := ContendSQLite(t.Context(), Contest{Processes: 2, Window: 200 * time.Millisecond, Dir: t.TempDir()})
			if !errors.Is(err, ErrNoSQLite) || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "/") {
				t.Error(err)
			}
		})
	}
}
