package lanes_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaia/lanes"
	"gaia/results"
)

var host = results.Environment{OS: "linux", Arch: "amd64", CPU: "test", Cores: 2, Memory: 1 << 34, Filesystem: "ext4", Virtual: "none"}

// trial is one that holds everything a rung asks at so many lanes.
func trial(lanesN, n int) results.Trial {
	h := results.NewHistogram()
	for range 100 {
		h.Record(5 * time.Millisecond)
	}
	t := results.Trial{
		Schema: results.Schema, Run: "run", Arm: fmt.Sprintf("lanes=%d", lanesN), Trial: n, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Lab: results.Binary{Revision: "abc"}, Servers: []results.Binary{{Revision: "abc"}}, Environment: host, Wall: time.Second, Calls: int64(100 * lanesN),
		Factors:  results.Factors{Lanes: lanesN, Prefill: 10_000, Path: "tail", Load: "closed", Fault: "none", Class: results.ClassIdentical},
		Response: map[string]string{"all": h.String()}, Service: map[string]string{"all": h.String()},
		Promises: []results.Promise{{Name: "whole lines", OK: true}},
	}
	for i := range lanesN {
		t.Lanes = append(t.Lanes, results.Lane{Lane: i, Calls: 100})
	}
	return t
}

func trials(lanesN, n int, change func(*results.Trial)) []results.Trial {
	var out []results.Trial
	for i := 1; i <= n; i++ {
		t := trial(lanesN, i)
		if change != nil {
			change(&t)
		}
		out = append(out, t)
	}
	return out
}

// last changes only the last of ten.
func last(change func(*results.Trial)) func(*results.Trial) {
	return func(t *results.Trial) {
		if t.Trial == 10 {
			change(t)
		}
	}
}

func source(ts ...[]results.Trial) []lanes.RunEvidence {
	return []lanes.RunEvidence{lanes.Summarize(results.Run{Name: "r", Trials: slices.Concat(ts...), Digest: "d"})}
}

// conditions are trials that meet all three conditions at so many lanes.
func conditions(n int) []results.Trial {
	return slices.Concat(
		trials(n, 10, func(t *results.Trial) {
			t.Factors.Class, t.Factors.Client, t.Arm = results.ClassScriptedModel, "client", "real"
		}),
		trials(1, 3, func(t *results.Trial) { t.Factors.Prefill = 100 }),
		trials(1, 3, nil),
		trials(n, 1, func(t *results.Trial) {
			t.Factors.Fault, t.Arm = "kill-holder:sync", "kill"
			t.Outage = &results.Outage{Injected: 3}
		}),
	)
}

func num(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

func TestRungIsValidatedOnlyByWhatTheRulesAsk(t *testing.T) {
	slow := results.NewHistogram()
	slow.Record(2 * time.Second)
	for name, c := range map[string]struct {
		trials   []results.Trial
		measured int
	}{
		"ten good trials":                        {trials(6, 10, nil), 6},
		"more lanes validate fewer":              {trials(8, 10, nil), 8},
		"five lanes validate four":               {trials(5, 10, nil), 4},
		"no trials":                              {nil, 0},
		"nine trials":                            {trials(6, 9, nil), 0},
		"a log of 9,999 events":                  {trials(6, 10, func(t *results.Trial) { t.Factors.Prefill = 9_999 }), 0},
		"the replay path":                        {trials(6, 10, func(t *results.Trial) { t.Factors.Path = "replay" }), 0},
		"a dirty tree":                           {trials(6, 10, func(t *results.Trial) { t.Lab.Dirty = true }), 0},
		"no revision":                            {trials(6, 10, func(t *results.Trial) { t.Lab.Revision = "" }), 0},
		"one broken promise":                     {trials(6, 10, last(func(t *results.Trial) { t.Promises[0].OK = false })), 0},
		"one unchecked promise":                  {trials(6, 10, last(func(t *results.Trial) { t.Promises[0] = results.Promise{Name: "x", Skipped: true} })), 0},
		"no promises at all":                     {trials(6, 10, last(func(t *results.Trial) { t.Promises = nil })), 0},
		"one error":                              {trials(6, 10, last(func(t *results.Trial) { t.Errors = map[string]int64{"transport": 1} })), 0},
		"one failed closed":                      {trials(6, 10, last(func(t *results.Trial) { t.Errors = map[string]int64{"GAIA_LOCK_TIMEOUT": 1} })), 0},
		"one lane under half the mean":           {trials(6, 10, last(func(t *results.Trial) { t.Lanes[2].Calls = 40 })), 0},
		"a lane without a row":                   {trials(6, 10, last(func(t *results.Trial) { t.Lanes = t.Lanes[1:] })), 0},
		"a slow p99":                             {trials(6, 10, last(func(t *results.Trial) { t.Response["all"] = slow.String() })), 0},
		"no latencies":                           {trials(6, 10, last(func(t *results.Trial) { t.Response = nil })), 0},
		"another platform":                       {trials(6, 10, func(t *results.Trial) { t.Environment.OS = "windows" }), 0},
		"the same system under Wine":             {trials(6, 10, func(t *results.Trial) { t.Environment.Virtual = "Wine" }), 0},
		"six that failed and eight that held":    {slices.Concat(trials(6, 10, last(func(t *results.Trial) { t.Promises[0].OK = false })), trials(8, 10, nil)), 0},
		"four held, six failed, eight held":      {slices.Concat(trials(4, 10, nil), trials(6, 10, last(func(t *results.Trial) { t.Promises[0].OK = false })), trials(8, 10, nil)), 4},
		"eight that failed and six that held":    {slices.Concat(trials(8, 10, last(func(t *results.Trial) { t.Promises[0].OK = false })), trials(6, 10, nil)), 6},
		"ten that held and one more that failed": {slices.Concat(trials(6, 10, nil), trials(6, 1, func(t *results.Trial) { t.Promises[0].OK = false })), 0},
	} {
		if got := num(lanes.Evidence(source(c.trials), host).Measured); got != c.measured {
			t.Errorf("%s: measured %d, want %d", name, got, c.measured)
		}
	}
}

func TestOnlyTrialsOfOurOwnServerAreEvidence(t *testing.T) {
	own, older, foreign := results.Binary{Revision: "abc"}, results.Binary{Revision: "older"}, results.Binary{Argv: []string{"node", "mcp-server.mjs"}}
	dirty := own
	dirty.Dirty = true
	for name, c := range map[string]struct {
		servers  []results.Binary
		measured int
	}{
		"our own":                                {[]results.Binary{own}, 6},
		"our own beside an older build":          {[]results.Binary{older, own}, 6},
		"another of no revision":                 {[]results.Binary{foreign}, 0},
		"another of its own revision":            {[]results.Binary{older}, 0},
		"our own of a changed tree":              {[]results.Binary{dirty}, 0},
		"our own beside one of no revision":      {[]results.Binary{own, foreign}, 0},
		"our own beside one of a changed tree":   {[]results.Binary{own, dirty}, 0},
		"our own named, and no lane left for it": {slices.Concat(slices.Repeat([]results.Binary{older}, 6), []results.Binary{own}), 0},
		"none recorded":                          {nil, 0},
	} {
		e := lanes.Evidence(source(trials(6, 10, func(t *results.Trial) { t.Servers = c.servers })), host)
		if num(e.Measured) != c.measured || e.HighestMeasured != c.measured {
			t.Errorf("%s: measured %d, at most %d lanes; want %d", name, num(e.Measured), e.HighestMeasured, c.measured)
		}
		if c.measured == 0 && (e.Provenance != nil || !strings.Contains(e.Policy, "10 recorded trials don't count")) {
			t.Errorf("%s: quoted %+v, %q", name, e.Provenance, e.Policy)
		}
	}
	// Trials of another server, however bad, don't speak against ours either.
	theirs := trials(6, 3, func(t *results.Trial) {
		t.Servers, t.Promises[0].OK = []results.Binary{foreign}, false
	})
	if e := lanes.Evidence(source(trials(6, 10, nil), theirs), host); num(e.Measured) != 6 {
		t.Errorf("another server's broken promises are held against ours: %+v", e)
	}
}

func TestWithoutRecordsTheLadderIsInheritedPolicy(t *testing.T) {
	e := lanes.Evidence(nil, host)
	if e.Supported != 4 || num(e.NextValidationTarget) != 6 || num(e.UnprovenWithRealClients) != 8 || e.Measured != nil || e.Provenance != nil {
		t.Errorf("got %+v", e)
	}
	if !strings.Contains(e.Policy, "inherited policy") || len(e.Missing) != 4 {
		t.Errorf("policy %q, missing %q", e.Policy, e.Missing)
	}
	b, err := results.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"supported":4,"nextValidationTarget":6,"unprovenWithRealClients":8,"measured":null,`; !strings.HasPrefix(string(b), want) {
		t.Errorf("JSON begins %.120s", b)
	}
}

// A storm kills holders too, but by chance, and its calls are no rung's.
func TestAStormIsNoEvidenceOfARungNorOfADeathSurvived(t *testing.T) {
	storm := func(lanesN, n int) []results.Trial {
		return trials(lanesN, n, func(t *results.Trial) {
			t.Factors.Fault, t.Outage = "kill-storm", &results.Outage{Injected: 1000, Adopted: 50, Unknown: 900}
		})
	}
	e := lanes.Evidence(source(storm(6, 10)), host)
	if e.Measured != nil || e.Supported != lanes.Inherited || e.Provenance != nil {
		t.Errorf("a storm alone: %+v", e)
	}
	others := slices.DeleteFunc(conditions(6), func(t results.Trial) bool { return t.Outage != nil })
	e = lanes.Evidence(source(trials(6, 10, nil), others, storm(6, 10)), host)
	if !slices.ContainsFunc(e.Missing, func(m string) bool { return strings.Contains(m, "no holder was killed") }) {
		t.Errorf("missing %q", e.Missing)
	}
}

func TestRecordsThatDontCountAreToldApartFromNone(t *testing.T) {
	e := lanes.Evidence(source(trials(6, 10, func(t *results.Trial) { t.Lab.Dirty = true })), host)
	if !strings.Contains(e.Policy, "10 recorded trials don't count") || e.HighestMeasured != 0 || e.Provenance != nil {
		t.Errorf("%+v", e)
	}
	other := host
	other.OS = "darwin"
	if e := lanes.Evidence(source(trials(6, 10, nil)), other); !strings.Contains(e.Policy, "no recorded trials on darwin/amd64") || e.HighestMeasured != 6 {
		t.Errorf("%+v", e)
	}
}

func TestSupportedRisesOnlyWithAllThreeConditions(t *testing.T) {
	all := source(trials(6, 10, nil), conditions(6))
	if e := lanes.Evidence(all, host); e.Supported != 6 || num(e.NextValidationTarget) != 8 || len(e.Missing) == 0 {
		t.Errorf("with all: %+v", e)
	}
	without := func(drop func(*results.Trial) bool) []lanes.RunEvidence {
		return source(trials(6, 10, nil), slices.DeleteFunc(conditions(6), func(t results.Trial) bool { return drop(&t) }))
	}
	grown := results.NewHistogram()
	grown.Record(20 * time.Millisecond)
	for name, c := range map[string]struct {
		runs    []lanes.RunEvidence
		missing string
	}{
		"no real clients": {without(func(t *results.Trial) bool { return t.Factors.Class != results.ClassIdentical }), "real clients at 6 lanes"},
		"our own workers, called real clients": {source(trials(6, 10, nil), changed(func(t *results.Trial) bool { return t.Factors.Client != "" }, func(t *results.Trial) {
			t.Factors.Client = ""
		})), "real clients at 6 lanes"},
		"our own workers, called a live model": {source(trials(6, 10, nil), changed(func(t *results.Trial) bool { return t.Factors.Client != "" }, func(t *results.Trial) {
			t.Factors.Client, t.Factors.Class = "", results.ClassLiveModel
		})), "real clients at 6 lanes"},
		"killed on the replay path only": {source(trials(6, 10, nil), struck(func(t *results.Trial) { t.Factors.Path = "replay" })), "no holder was killed"},
		"killed on a small log only":     {source(trials(6, 10, nil), struck(func(t *results.Trial) { t.Factors.Prefill = 9_999 })), "no holder was killed"},
		"no small log":                   {without(func(t *results.Trial) bool { return t.Factors.Prefill == 100 }), "a read path of bounded cost"},
		"nobody killed":                  {without(func(t *results.Trial) bool { return t.Outage != nil }), "a holder's death survived"},
		"a death not survived": {source(trials(6, 10, nil), conditions(6), trials(6, 1, func(t *results.Trial) {
			t.Factors.Fault, t.Outage = "kill-holder", &results.Outage{Injected: 1, FailClosed: 2}
		})), "2 calls of other lanes failed closed"},
		"a kill that struck nobody": {source(trials(6, 10, nil), slices.DeleteFunc(conditions(6), func(t results.Trial) bool { return t.Outage != nil }),
			trials(6, 1, func(t *results.Trial) { t.Factors.Fault, t.Outage = "kill-holder", &results.Outage{} })), "no holder was killed"},
		"a cost that grows": {source(trials(6, 10, nil), conditions(6), trials(1, 7, func(t *results.Trial) {
			t.Service = map[string]string{"all": grown.String()}
		})), "4.0"},
	} {
		e := lanes.Evidence(c.runs, host)
		if e.Supported != 4 || !strings.Contains(strings.Join(e.Missing, "\n"), c.missing) {
			t.Errorf("%s: supported %d, missing %q", name, e.Supported, e.Missing)
		}
	}
}

// struck changes only the trials of conditions in which a holder was killed.
func struck(change func(*results.Trial)) []results.Trial {
	return changed(func(t *results.Trial) bool { return t.Outage != nil }, change)
}

// readAt changes only the trials of conditions that compare logs of two sizes,
// and of those the ones with a log of so many events; 0: all.
func readAt(events int, change func(*results.Trial)) []results.Trial {
	return changed(func(t *results.Trial) bool {
		return t.Factors.Lanes == 1 && (events == 0 || t.Factors.Prefill == events)
	}, change)
}

func changed(which func(*results.Trial) bool, change func(*results.Trial)) []results.Trial {
	ts := conditions(6)
	for i := range ts {
		if which(&ts[i]) {
			change(&ts[i])
		}
	}
	return ts
}

func TestAConditionIsShownOnlyByTrialsThatChecked(t *testing.T) {
	skip := func(t *results.Trial) {
		t.Promises = append(t.Promises, results.Promise{Name: "replay", Skipped: true})
	}
	const death, read = "a holder's death survived: trial 1 of kill ", "a read path of bounded cost: no trials alike"
	for name, c := range map[string]struct {
		conditions []results.Trial
		missing    string // "": supported
	}{
		"all checked":                      {conditions(6), ""},
		"a death with a broken promise":    {struck(func(t *results.Trial) { t.Promises[0].OK = false }), death + "broke the promise: whole lines"},
		"a death with one unchecked":       {struck(skip), death + "left unchecked: replay"},
		"a death with none checked":        {struck(func(t *results.Trial) { t.Promises = nil; skip(t) }), death + "left unchecked: replay"},
		"a death without promises":         {struck(func(t *results.Trial) { t.Promises = nil }), death + "recorded no promises"},
		"a death without an outage":        {struck(func(t *results.Trial) { t.Outage = nil }), death + "recorded no outage"},
		"read times with a broken promise": {readAt(0, func(t *results.Trial) { t.Promises[0].OK = false }), read},
		"read times with one unchecked":    {readAt(100, skip), read},
		"read times without promises":      {readAt(100, func(t *results.Trial) { t.Promises = nil }), read},
		"read times of calls that failed":  {readAt(10_000, func(t *results.Trial) { t.Errors = map[string]int64{"transport": 1} }), read},
		"no read times on the large log":   {readAt(10_000, func(t *results.Trial) { t.Service = nil }), read},
		"no read times on the small log":   {readAt(100, func(t *results.Trial) { t.Service = nil }), read},
		"read times that can't be read":    {readAt(10_000, func(t *results.Trial) { t.Service["all"] = "HISTF" }), read},
	} {
		e := lanes.Evidence(source(trials(6, 10, nil), c.conditions), host)
		if supported := e.Supported == 6; supported != (c.missing == "") || c.missing != "" && !strings.Contains(strings.Join(e.Missing, "\n"), c.missing) {
			t.Errorf("%s: supported %d, missing %q", name, e.Supported, e.Missing)
		}
	}
}

func TestReadCostIsComparedOnlyBetweenTrialsAlikeButForTheLog(t *testing.T) {
	for name, unlike := range map[string]func(*results.Trial){
		"lanes":           func(t *results.Trial) { t.Factors.Lanes = 2 },
		"calls a lane":    func(t *results.Trial) { t.Factors.CallsPerLane = 9 },
		"actors":          func(t *results.Trial) { t.Factors.Actors = 1000 },
		"load":            func(t *results.Trial) { t.Factors.Load = "open" },
		"think time":      func(t *results.Trial) { t.Factors.Think = time.Second },
		"rate":            func(t *results.Trial) { t.Factors.Rate = 9 },
		"message size":    func(t *results.Trial) { t.Factors.MessageBytes = 9 },
		"class":           func(t *results.Trial) { t.Factors.Class = results.ClassMixed },
		"servers":         func(t *results.Trial) { t.Factors.Servers = []string{"gaia mcp"} },
		"client":          func(t *results.Trial) { t.Factors.Client = "claude" },
		"servers' builds": func(t *results.Trial) { t.Servers = append(t.Servers, results.Binary{Revision: "older"}) },
	} {
		e := lanes.Evidence(source(trials(6, 10, nil), readAt(100, unlike)), host)
		if e.Supported != 4 || !strings.Contains(strings.Join(e.Missing, "\n"), "no trials alike but for a log 100 times larger") {
			t.Errorf("other %s: supported %d, missing %q", name, e.Supported, e.Missing)
		}
		if e := lanes.Evidence(source(trials(6, 10, nil), readAt(0, unlike)), host); e.Supported != 6 {
			t.Errorf("the same %s in both: supported %d, missing %q", name, e.Supported, e.Missing)
		}
	}
}

// grows are trials of a shape whose calls take 5 ms on a log of the first size
// and so long on one of the second.
func grows(lanesN, small, large int, took time.Duration) []results.Trial {
	h := results.NewHistogram()
	h.Record(took)
	return slices.Concat(
		trials(lanesN, 3, func(t *results.Trial) { t.Factors.Prefill = small }),
		trials(lanesN, 3, func(t *results.Trial) {
			t.Factors.Prefill, t.Service = large, map[string]string{"all": h.String()}
		}),
	)
}

func TestAGrowingReadCostIsNotHiddenByOneThatDoesntGrow(t *testing.T) {
	const fast, slow = 5 * time.Millisecond, 20 * time.Millisecond
	for name, c := range map[string]struct {
		trials  []results.Trial
		missing string
	}{
		"none grows":               {slices.Concat(grows(2, 100, 10_000, fast), grows(3, 100, 10_000, fast)), ""},
		"another shape grows":      {grows(2, 100, 10_000, slow), "at 10000 events as at 100;"},
		"a larger log grows":       {grows(2, 100, 1_000_000, slow), "at 1000000 events as at 100;"},
		"only logs too close grow": {grows(2, 101, 10_000, slow), ""},
		"only logs too small grow": {grows(2, 50, 9_999, slow), ""},
	} {
		e := lanes.Evidence(source(trials(6, 10, nil), conditions(6), c.trials), host)
		if supported := e.Supported == 6; supported != (c.missing == "") || c.missing != "" && !strings.Contains(strings.Join(e.Missing, "\n"), c.missing) {
			t.Errorf("%s: supported %d, missing %q", name, e.Supported, e.Missing)
		}
	}
}

func TestTheSameRecordsGiveTheSameAnswer(t *testing.T) {
	const slow = 20 * time.Millisecond
	records := slices.Concat(grows(1, 100, 10_000, slow), grows(2, 50, 10_000, slow), grows(3, 100, 20_000, slow))
	for range 20 { // a map's order differs from one to the next
		if e := lanes.Evidence(source(records), host); !strings.Contains(strings.Join(e.Missing, "\n"), "at 20000 events as at 100;") {
			t.Fatalf("missing %q", e.Missing)
		}
	}
}

func TestSupportIsNotRaisedPastARungThatLacksACondition(t *testing.T) {
	failed := trials(6, 1, func(t *results.Trial) {
		t.Factors.Fault, t.Outage = "kill-holder", &results.Outage{Injected: 1, FailClosed: 2}
	})
	for name, c := range map[string]struct {
		runs            []lanes.RunEvidence
		supported, next int
	}{
		"both have all":              {source(trials(6, 10, nil), trials(8, 10, nil), conditions(8)), 8, 0},
		"eight has all, six doesn't": {source(trials(6, 10, nil), trials(8, 10, nil), conditions(8), failed), 4, 6},
		"six has all, eight doesn't": {source(trials(6, 10, nil), trials(8, 10, nil), conditions(6)), 6, 8},
	} {
		if e := lanes.Evidence(c.runs, host); e.Supported != c.supported || num(e.NextValidationTarget) != c.next || num(e.Measured) != 8 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// onDisk writes a run's folder.
func onDisk(t *testing.T, dir string, ts []results.Trial) results.Run {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := results.AppendTrials(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range ts {
		if err := w.Write(&ts[i]); err != nil {
			t.Fatal(err)
		}
	}
	run, err := results.ReadRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func at(day int, ts []results.Trial) []results.Trial {
	for i := range ts {
		ts[i].Start = time.Date(2026, 2, day, 0, 0, 0, 0, time.UTC)
	}
	return ts
}

func TestTheNewestRunIsQuotedWhateverItShows(t *testing.T) {
	good := lanes.Summarize(results.Run{Name: "good", Trials: at(1, trials(8, 10, nil)), Digest: "good"})
	bad := lanes.Summarize(results.Run{Name: "bad", Trials: at(2, trials(8, 10, func(t *results.Trial) { t.Promises[0].OK = false })), Digest: "bad"})
	for _, runs := range [][]lanes.RunEvidence{{good, bad}, {bad, good}} {
		if e := lanes.Evidence(runs, host); e.Measured != nil || e.Provenance.Digest != "bad" || e.Provenance.PromisesHeld {
			t.Errorf("an older good run hid a newer bad one: %+v", e.Provenance)
		}
	}
}

func TestAnAdoptedRunWinsOnItsHost(t *testing.T) {
	config, dir := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	run := onDisk(t, dir, at(1, trials(4, 10, nil)))
	dest, err := lanes.Adopt(config, run, dir)
	if err != nil {
		t.Fatal(err)
	}
	own, err := lanes.Adopted(config)
	if err != nil || len(own) != 1 {
		t.Fatalf("%d adopted, %v", len(own), err)
	}
	shipped := lanes.Summarize(results.Run{Name: "later", Trials: at(9, trials(8, 10, nil))})
	e := lanes.Evidence([]lanes.RunEvidence{shipped, own[0]}, host)
	if num(e.Measured) != 4 || !strings.HasPrefix(e.Provenance.Source, "adopted on this host") || e.Provenance.Digest != run.Digest || e.HighestMeasured != 8 {
		t.Errorf("%+v %+v", e, e.Provenance)
	}
	if _, err := lanes.Adopt(config, run, dir); err == nil || !strings.Contains(err.Error(), "adopted already") {
		t.Errorf("twice: %v", err)
	}
	// A damaged adopted record is told, and all others still answer.
	good := filepath.Join(t.TempDir(), "good")
	other := onDisk(t, good, at(2, trials(6, 10, func(t *results.Trial) { t.Run = "another" })))
	if _, err := lanes.Adopt(config, other, good); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dest, results.TrialsFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := lanes.Current(config, host); err == nil || !strings.Contains(err.Error(), "trials.jsonl:1") || e.Supported < lanes.Inherited ||
		!strings.HasSuffix(e.Provenance.Source, "another") {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := lanes.Adopt(config, onDisk(t, t.TempDir(), trials(4, 10, func(t *results.Trial) { t.Lab.Revision = "" })), dir); err == nil {
		t.Error("records without a revision were adopted")
	}
}

var update = flag.Bool("update", false, "make results/recorded/evidence.json anew from the records")

func TestShippedNumbersAreWhatTheShippedRecordsShow(t *testing.T) {
	const dir = "../results/recorded"
	records, err := lanes.Read(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	text, err := results.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	if records == nil {
		text = []byte("[]")
	}
	want := append(text, '\n')
	if *update {
		if err := os.WriteFile(filepath.Join(dir, results.EvidenceFile), want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := fs.ReadFile(results.Recorded(), results.EvidenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Errorf("shipped numbers and shipped records have parted; the records show\n%s\nrun go test ./lanes -run Shipped -update, and read the diff", want)
	}
	if _, err := lanes.Shipped(); err != nil {
		t.Error(err)
	}
}

func TestProvenanceSaysWhetherItIsThisHost(t *testing.T) {
	runs := source(trials(6, 10, nil))
	p := lanes.Evidence(runs, host).Provenance
	if !p.SameHost || p.Trials != 10 || p.CallsPerSecond != 600 || p.P50Ms < 4.9 || p.P50Ms > 5.1 || !p.PromisesHeld || p.LogEvents != 10_000 {
		t.Errorf("got %+v", p)
	}
	other := host
	other.CPU = "another"
	if p := lanes.Evidence(runs, other).Provenance; p.SameHost || p.Host != "not measured here" {
		t.Errorf("got %+v", p)
	}
}

func TestTheWeakestClassOfTheQuotedTrialsIsQuoted(t *testing.T) {
	real := func(t *results.Trial) { t.Factors.Class, t.Factors.Client = results.ClassLiveModel, "client" }
	called := func(t *results.Trial) { t.Factors.Class = results.ClassLiveModel }
	for name, c := range map[string]struct {
		trials []results.Trial
		class  string
	}{
		"all real":            {trials(6, 10, real), results.ClassLiveModel},
		"workers after them":  {slices.Concat(trials(6, 10, real), trials(6, 1, nil)), results.ClassIdentical},
		"workers before them": {slices.Concat(trials(6, 1, nil), trials(6, 10, real)), results.ClassIdentical},
		"only called so":      {trials(6, 10, called), results.ClassIdentical},
	} {
		if p := lanes.Evidence(source(c.trials), host).Provenance; p.Class != c.class {
			t.Errorf("%s: %q, want %q", name, p.Class, c.class)
		}
	}
}

func TestMoreLanesThanTheLimitAreRefusedNeverClamped(t *testing.T) {
	e := lanes.Evidence(source(trials(8, 10, nil)), host)
	for _, c := range []struct {
		n            int
		experimental bool
		refused      string
	}{
		{4, false, ""}, {5, true, ""}, {8, true, ""},
		{5, false, "5 lanes refused: 4 are supported, 6 is the next validation target; missing for it: "},
		{8, false, "--experimental-lanes accepts an unproven count, and makes no evidence"},
		{9, true, "no more than 8 were ever measured"},
		{9, false, "no more than 8 were ever measured"},
	} {
		err := lanes.Allow(e, c.n, c.experimental)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%d lanes, experimental %v: %v", c.n, c.experimental, err)
		}
	}
}
