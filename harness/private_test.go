package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Records are given to others: no folder of this machine is in them, whatever
// a process said, and however a command was quoted.
func TestRecordsHoldNoFolderOfThisMachine(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home folder to hide: ", err)
	}
	base := t.TempDir()
	tr := &trial{TrialSpec: TrialSpec{Dir: filepath.Join(base, "work", "data"), Work: filepath.Join(base, "work", "lanes"), Self: []string{filepath.Join(base, "bin", "gaia")}}}
	said := strings.Join([]string{tr.Dir, filepath.Join(tr.Work, "replay-1", "events.jsonl"), tr.Self[0], filepath.Join(home, "x")}, " and ")
	got := tr.private().Replace("the log " + said + " is damaged")
	if strings.Contains(got, base) || len(home) > 1 && strings.Contains(got, home) {
		t.Error(got)
	}
	for _, kept := range []string{"the log DATA and ", "events.jsonl", "gaia", " is damaged"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone: %s", kept, got)
		}
	}
	program := filepath.Join(base, "Some One", "gaia")
	words, err := Words(`"` + program + `" mcp --log=` + filepath.Join(base, "log"))
	if err != nil || len(words) != 3 || words[0] != "gaia" || strings.Contains(strings.Join(words, " "), base) {
		t.Errorf("%q %v", words, err)
	}
}
