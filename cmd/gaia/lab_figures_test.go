package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaia/cmd/gaia/internal/figures"
	"gaia/cmd/gaia/internal/lab"
	"gaia/harness"
	"gaia/results"
)

// tinyFigures measures each figure at levels that take no time and say nothing.
func tinyFigures(t *testing.T) figures.Config {
	t.Helper()
	bin, err := exec.LookPath("gaia") // put on the PATH by testscript
	if err != nil {
		t.Skip("run with the package's TestMain")
	}
	return figures.Config{Trials: 2, Seed: 1, Self: []string{bin}, Reference: bin + " mcp --path replay", ReferenceName: "gaia mcp --path replay",
		Lanes: 2, Many: 3, OneCalls: 20, LanesCalls: 10, ManyCalls: 10, ReferenceCalls: 5, StormCalls: 10,
		Small: 10, Few: 20, Some: 30, Large: 60, Unacked: 50, Commits: 5, Starts: 2, Window: 50 * time.Millisecond}
}

func runFigures(t *testing.T, ctx context.Context, c figures.Config, each func(*results.Trial, int, int)) (string, lab.Outcome) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	plan := c.Plan(time.Now())
	if _, err := lab.Prepare(dir, plan); err != nil {
		t.Fatal(err)
	}
	out, err := figures.Run(ctx, c, plan, figures.Options{Out: dir, Each: each})
	if err != nil {
		t.Fatal(err)
	}
	return dir, out
}

func TestOneRunMeasuresEveryFigureIntoItsRecords(t *testing.T) {
	dir, out := runFigures(t, t.Context(), tinyFigures(t), nil)
	if len(out.Trials) != 16 || out.Interrupted {
		t.Errorf("%d trials, interrupted %v", len(out.Trials), out.Interrupted)
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("in the run's folder: %v", left)
	}
	measured, err := results.ReadMeasurements(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, results.FiguresFile))
	if err != nil || strings.Contains(string(text), t.TempDir()) || strings.Contains(string(text), os.TempDir()) {
		t.Errorf("the records name a path: %v %s", err, text)
	}
	got, want := map[string]int{}, map[string]int{}
	for _, m := range measured {
		key := m.What
		if m.What == results.Contention {
			key += " by " + m.By
		}
		got[key]++
		if m.Missing == "" && len(m.Samples)+len(m.Bytes)+len(m.Lanes) == 0 {
			t.Errorf("%s says nothing", key)
		}
		if m.Missing == "" && m.What == results.Contention && (len(m.Lanes) != m.Processes || m.Trial().Calls == 0 || m.Trial().WorstWait() == 0) {
			t.Errorf("%s: %+v", key, m.Lanes)
		}
	}
	for _, what := range []string{results.CommitOfLog, results.CommitBare, results.InitializeEmpty, results.InitializeLog, results.FirstCall, results.PrivateMemory, results.ValidateLog} {
		want[what] = 2 // rounds
	}
	for _, by := range append(harness.BareLocks(), results.BySQLite) {
		want[results.Contention+" by "+by] = 4 // two counts in each
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	table, _, err := figures.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		if r.State == figures.NotMeasured && !strings.Contains(r.Why, "sqlite3") && !strings.Contains(r.Why, "on this system") && !strings.Contains(r.Why, "kills") {
			t.Errorf("%s: not measured: %s", r.Figure, r.Why)
		}
	}
	if len(table.Broken) > 0 {
		t.Errorf("%q", table.Broken)
	}
	// What the command prints of it, and its code, are the table's.
	code := exitOK
	if !table.OK() {
		code = exitNo
	}
	r := runIn(t, t.TempDir(), 0, "lab", "figures", "--from", dir)
	if r.code != code || !strings.Contains(r.stdout, table.Verdict()[0]) || !strings.Contains(r.stdout, results.FiguresFile) {
		t.Errorf("exit %d, want %d: %s%s", r.code, code, r.stdout, r.stderr)
	}
	if r = runIn(t, t.TempDir(), 0, "lab", "figures", "--from", dir, "--output", "json"); r.code != code || !strings.HasPrefix(r.stdout, `{"ok":`) {
		t.Errorf("exit %d, want %d: %s%s", r.code, code, r.stdout, r.stderr)
	}
}

// A hundred times the calls a second of a server that is as fast can't be had.
func TestAMissedFigureIsToldAndEndsWithOne(t *testing.T) {
	c := tinyFigures(t)
	c.Trials = 1
	dir, _ := runFigures(t, t.Context(), c, nil)
	r := runIn(t, t.TempDir(), 0, "lab", "figures", "--from", dir)
	if r.code != exitNo || !strings.Contains(r.stdout, "✗ 2 lanes / the reference, 20 events") || !strings.Contains(r.stdout, "missed: 2 lanes / the reference, 20 events: ") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

func TestInterruptedFiguresKeepWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir, out := runFigures(t, ctx, tinyFigures(t), func(_ *results.Trial, done, _ int) {
		if done == 9 { // the first of the second round
			cancel()
		}
	})
	measured, err := results.ReadMeasurements(dir)
	if !out.Interrupted || len(out.Trials) != 9 || len(measured) != 13 || err != nil {
		t.Errorf("interrupted %v, %d trials, %d measurements, %v", out.Interrupted, len(out.Trials), len(measured), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "work")); err == nil {
		t.Error("its work folder is left")
	}
}

func TestFiguresThatCantBeMeantAreUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--trials", "0"}, {"--trials", "101"}, {"--from", dir}, {"--from", dir, "--trials", "2"}, {"--from", dir, "--reference", "x"}, {"extra"},
		{"--reference", ""}, {"--reference", " "}, {"--reference", "no-such-program mcp"}, {"--reference", "A=b"}, {"--reference", "'"},
	} {
		if r := runIn(t, dir, 0, append([]string{"lab", "figures"}, args...)...); r.code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
}
