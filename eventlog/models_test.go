package eventlog

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the exhaustive check of each candidate must say. The unsafe ones are
// the negative controls: a checker that lets them pass proves nothing of E3.
const (
	holds      = "errors: 0"
	twoWriters = "assertion violated (incs==1)"
	garbled    = "assertion violated  !(garbled)"
	wedges     = "invalid end state"
)

var modelChecks = []struct {
	name, model, flags string
	liveness           bool // a wedge counts
	want               string
}{
	{"A never breaks", "A_seed", "-DGU=3 -DCRASHES=1", false, holds},
	{"A wedges at one death", "A_seed", "-DGU=3 -DCRASHES=1", true, wedges},
	{"B breaks by age with a perfect oracle", "B_age", "-DGU=3 -DCRASHES=1", false, twoWriters},
	{"B breaks by age with a slow owner", "B_age", "-DGU=2 -DCRASHES=0 -DSLOW", false, twoWriters},
	{"C re-checks and breaks", "C_recheck", "-DGU=3 -DCRASHES=1", false, twoWriters},
	{"C moves aside and re-checks", "C_recheck", "-DGU=4 -DOPS=1 -DCRASHES=1 -DRENAMEAWAY", false, twoWriters},
	{"D adopts, all alike", "D_turnstile", "-DADOPT -DGU=3 -DCRASHES=2", true, holds},
	{"D with a mkdir-only peer", "D_turnstile", "-DADOPT -DGU=2 -DLG=1 -DCRASHES=1", false, twoWriters},
	{"E2J with a mkdir-only peer", "E2J_intent", "-DGU=2 -DLG=1 -DCRASHES=1", false, twoWriters},
	{"E2 with a mkdir-only peer", "E2_marker", "-DGU=2 -DLG=1 -DCRASHES=1", false, holds},
	{"E2 wedges between mkdir and marker", "E2_marker", "-DGU=3 -DCRASHES=1", true, wedges},
	{"E3, all alike", "E3_atomic", "-DGU=3 -DCRASHES=2", true, holds},
	{"E3 with a waiter that gives up", "E3_atomic", "-DGU=3 -DCRASHES=1 -DTIMEOUT", true, holds},
	{"E3 with a mkdir-only peer", "E3_atomic", "-DGU=2 -DLG=1 -DCRASHES=1", false, holds},
	{"E3 with a mkdir-only peer and an idle sweep", "E3_atomic", "-DGU=2 -DLG=1 -DCRASHES=1 -DSWEEP", true, holds},
	{"E3 on two hosts", "E3_atomic", "-DGU=2 -DHOSTS=2 -DCRASHES=1", false, holds},
	{"E3 that ignores the domain", "E3_atomic", "-DGU=2 -DHOSTS=2 -DCRASHES=1 -DNODOM", false, twoWriters},
	{"E3 with a rename that replaces", "E3_atomic", "-DGU=2 -DLG=1 -DCRASHES=1 -DPLAINRENAME", false, twoWriters},
	{"E3 that appends to a torn tail", "E3_atomic", "-DGU=2 -DCRASHES=1 -DFNAIVE", false, garbled},
}

func TestModelsSayWhichLocksAreSafe(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the models need spin and gcc: %v", err)
		}
	}
	files, err := filepath.Glob("models/*")
	must(t, err)
	for _, c := range modelChecks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range files {
				data, err := os.ReadFile(f)
				must(t, err)
				must(t, os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o600))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			run := func(name string, args ...string) string {
				cmd := exec.CommandContext(ctx, name, args...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, out)
				}
				return string(out)
			}
			run("spin", append(strings.Fields(c.flags), "-a", c.model+".pml")...)
			run("gcc", "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c")
			args := []string{"-m1000000", "-w22"}
			if !c.liveness {
				args = append(args, "-E")
			}
			out := run("./pan", args...)
			if !strings.Contains(out, c.want) || strings.Contains(out, "max search depth too small") {
				t.Errorf("want %q of the search, which said:\n%s", c.want, out)
			}
		})
	}
}
