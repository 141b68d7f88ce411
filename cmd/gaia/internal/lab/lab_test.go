package lab_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaia/cmd/gaia/internal/lab"
	"gaia/lanes"
	"gaia/results"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func plan(t *testing.T, preset string) *results.Plan {
	t.Helper()
	c, err := lab.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan("run", start, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestQuickRunsTheLaddersCounts(t *testing.T) {
	var counts []int
	for _, a := range plan(t, "quick").Arms {
		counts = append(counts, a.Factors.Lanes)
	}
	if !slices.Equal(counts, []int{1, 2, 4, 6, 8}) {
		t.Errorf("lanes %v", counts)
	}
}

// The evidence run must be able to show what the rules ask for; what it can't
// are real clients, which are not ours to start.
func TestLadderCanShowWhatEvidenceAsksFor(t *testing.T) {
	for _, preset := range []string{"ladder", "full"} {
		p := plan(t, preset)
		if p.Trials < lanes.MinTrials {
			t.Errorf("%s: %d trials", preset, p.Trials)
		}
		levels := make(map[int]bool)
		small, killed := false, make(map[int]bool)
		names := make(map[string]bool)
		for _, a := range p.Arms {
			f := a.Factors
			if names[a.Name] {
				t.Errorf("%s: two arms are named %s", preset, a.Name)
			}
			names[a.Name] = true
			if f.Fault == results.NoFault && f.Prefill == lanes.MinLog && f.Path == results.PathTail && f.MessageBytes == results.DefaultMessageBytes {
				levels[f.Lanes] = true
			}
			small = small || f.Prefill*lanes.GrowthSpan <= lanes.MinLog && f.Lanes == 1
			if strings.HasPrefix(f.Fault, "kill-holder") {
				killed[f.Lanes] = true
			}
		}
		for _, rung := range lanes.Rungs() {
			if !levels[rung] || rung > lanes.Inherited && !killed[rung] {
				t.Errorf("%s: rung %d isn't measured, or no holder dies at it", preset, rung)
			}
		}
		if !small || !levels[1] || len(levels) < 6 {
			t.Errorf("%s: small log %v, %d levels", preset, small, len(levels))
		}
	}
}

func TestEveryCombinationOfLevelsIsAnArmOnce(t *testing.T) {
	c, _ := lab.Preset("quick")
	c.Lanes, c.Events, c.Paths, c.Faults = []int{2, 3, 2}, []int{0, 100}, []string{"tail", "replay"}, []string{"none", "kill-client"}
	p, err := c.Plan("run", start, []string{"a", "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Arms) != 16 || len(p.Order) != 48 {
		t.Errorf("%d arms, %d trials", len(p.Arms), len(p.Order))
	}
	for _, a := range p.Arms {
		if a.Factors.Class != results.ClassMixed || !strings.Contains(a.Name, "servers=a+b") {
			t.Errorf("%s is of class %s", a.Name, a.Factors.Class)
		}
	}
}

func TestFullHasBothStormsAndAnyServerMayFaceOne(t *testing.T) {
	faults := map[string]int{}
	for _, a := range plan(t, "full").Arms {
		faults[a.Factors.Fault]++
	}
	if faults["kill-storm"] != 1 || faults["kill-storm:mkdir-peer"] != 1 {
		t.Errorf("arms by fault: %v", faults)
	}
	c, _ := lab.Preset("quick")
	c.Lanes, c.Faults, c.Servers = []int{2}, []string{"kill-storm"}, []string{"x"}
	if _, err := c.Plan("run", start, []string{"x"}, ""); err != nil {
		t.Error(err)
	}
}

func TestWhatCantBeMeantIsUsageAndWritesNothing(t *testing.T) {
	for name, change := range map[string]func(*lab.Config){
		"no lanes":          func(c *lab.Config) { c.Lanes = nil },
		"too many lanes":    func(c *lab.Config) { c.Lanes = []int{1000} },
		"no calls":          func(c *lab.Config) { c.Calls = 0 },
		"no trials":         func(c *lab.Config) { c.Trials = 0 },
		"too small a log":   func(c *lab.Config) { c.Events = []int{3} },
		"no actors":         func(c *lab.Config) { c.Actors = 0 },
		"no message":        func(c *lab.Config) { c.Bytes = []int{0} },
		"a path":            func(c *lab.Config) { c.Paths = []string{"x"} },
		"a load":            func(c *lab.Config) { c.Load = "x" },
		"open, no rate":     func(c *lab.Config) { c.Load = "open" },
		"a rate, closed":    func(c *lab.Config) { c.Rate = 5 },
		"a threshold":       func(c *lab.Config) { c.Require = "p99" },
		"a fault":           func(c *lab.Config) { c.Faults = []string{"x"} },
		"a step":            func(c *lab.Config) { c.Lanes, c.Faults = []int{2}, []string{"kill-client:sync"} },
		"a storm's variant": func(c *lab.Config) { c.Lanes, c.Faults = []int{2}, []string{"kill-storm:sync"} },
		"a lonely storm":    func(c *lab.Config) { c.Lanes, c.Faults = []int{1}, []string{"kill-storm"} },
		"an open storm":     func(c *lab.Config) { c.Lanes, c.Faults, c.Load, c.Rate = []int{2}, []string{"kill-storm"}, "open", 5 },
		"a foreign peer": func(c *lab.Config) {
			c.Lanes, c.Faults, c.Servers = []int{2}, []string{"kill-storm:mkdir-peer"}, []string{"x"}
		},
		"a foreign holder":  func(c *lab.Config) { c.Lanes, c.Faults, c.Servers = []int{2}, []string{"kill-holder"}, []string{"x"} },
		"an unclassified":   func(c *lab.Config) { c.Client = "x" },
		"a blank client":    func(c *lab.Config) { c.Client, c.Class = " ", results.ClassScriptedModel },
		"no client, live":   func(c *lab.Config) { c.Class = results.ClassLiveModel },
		"no client, class":  func(c *lab.Config) { c.Class = results.ClassScriptedModel },
		"an endless run":    func(c *lab.Config) { c.Trials = 1 << 40 },
		"no number":         func(c *lab.Config) { c.Load, c.Rate = "open", math.NaN() },
		"an endless rate":   func(c *lab.Config) { c.Load, c.Rate = "open", math.Inf(1) },
		"open and thinking": func(c *lab.Config) { c.Load, c.Rate, c.Think = "open", 5, time.Second },
		"negative think":    func(c *lab.Config) { c.Think = -1 },
	} {
		c, _ := lab.Preset("quick")
		change(&c)
		if _, err := c.Plan("run", start, nil, ""); !errors.Is(err, lab.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := lab.Preset("x"); !errors.Is(err, lab.ErrUsage) {
		t.Error(err)
	}
}

func TestPrepareTakesOnlyAnEmptyFolderAndCanBeUndone(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a", "b")
	undo, err := lab.Prepare(out, plan(t, "quick"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Prepare(out, plan(t, "quick")); !errors.Is(err, lab.ErrUsage) {
		t.Errorf("a folder with a run was taken: %v", err)
	}
	p, done, err := lab.Resume(out, nil)
	if err != nil || len(done) != 0 || len(p.Order) != 15 {
		t.Errorf("a run without trials can't be resumed: %v", err)
	}
	if _, _, err := lab.Resume(out, []string{"other"}); !errors.Is(err, lab.ErrUsage) || !strings.Contains(err.Error(), "--server") {
		t.Errorf("resumed with other servers: %v", err)
	}
	undo()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// What was there before stays.
	keep := filepath.Join(dir, "mine")
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	if undo, err = lab.Prepare(filepath.Join(keep, "run"), plan(t, "quick")); err != nil {
		t.Fatal(err)
	}
	undo()
	if _, err := os.Stat(keep); err != nil {
		t.Error("a folder that was there is gone")
	}
}

// What it measures between its trials would be missing.
func TestARunOfFiguresIsNotResumed(t *testing.T) {
	dir := t.TempDir()
	p := plan(t, "quick")
	p.Preset = results.PresetFigures
	if err := results.WritePlan(dir, p); err != nil {
		t.Fatal(err)
	}
	if _, _, err := lab.Resume(dir, nil); !errors.Is(err, lab.ErrUsage) || !strings.Contains(err.Error(), "--from") {
		t.Error(err)
	}
	if _, err := lab.Prepare(dir, p); !errors.Is(err, lab.ErrUsage) || strings.Contains(err.Error(), "--resume") {
		t.Error(err)
	}
}

func TestANewerPlanIsRefusedByItsNumber(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, results.PlanFile), []byte(`{"schema":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := lab.Resume(dir, nil); !errors.Is(err, results.ErrSchema) || !strings.Contains(err.Error(), "plan.json: unknown schema 9") {
		t.Error(err)
	}
}
