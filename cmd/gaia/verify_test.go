package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"gaia/cmd/gaia/internal/verify"
)

// example is the three-actor exchange, changed.
func example(t *testing.T, change func(string) string) (dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "three-actors.events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(data))
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func verified(t *testing.T, r result) verify.Report {
	t.Helper()
	var report verify.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return report
}

func TestVerifyPassesARealExchangeAndAnEmptyBusUnlessItIsClaimedAsEvidence(t *testing.T) {
	same := func(s string) string { return s }
	empty := filepath.Join(t.TempDir(), "none")
	file := filepath.Join(example(t, same), "events.jsonl")
	for _, c := range []struct {
		name                 string
		dir                  string
		args                 []string
		code, passed, failed int
		gates                bool
	}{
		{"the exchange", example(t, same), nil, exitOK, 37, 0, false},
		{"the exchange as evidence", example(t, same), []string{"--require-evidence"}, exitOK, 37, 0, true},
		{"the exchange by its file", empty, []string{"--evidence", file}, exitOK, 37, 0, true},
		{"the exchange by its directory", empty, []string{"--evidence", filepath.Dir(file)}, exitOK, 37, 0, true},
		{"an empty bus", empty, nil, exitOK, 32, 5, false},
		{"an empty bus as evidence", empty, []string{"--require-evidence"}, exitNo, 32, 5, true},
	} {
		r := runIn(t, c.dir, 0, append([]string{"verify"}, c.args...)...)
		report := verified(t, r)
		if r.code != c.code || report.OK != (c.code == exitOK) || report.Passed != c.passed || report.Failed != c.failed || report.EvidenceGatesResult != c.gates ||
			report.EvidenceOK != (c.failed == 0) {
			t.Errorf("%s: exit %d, %d passed, %d failed, gates %v: %s", c.name, r.code, report.Passed, report.Failed, report.EvidenceGatesResult, r.stdout)
		}
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("verify created the data directory")
	}
}

func TestVerifyRejectsWhatDoctorDoesAndEveryLeakOfAuthority(t *testing.T) {
	replace := func(old, with string) func(string) string {
		return func(s string) string {
			changed := strings.Replace(s, old, with, 1)
			if changed == s {
				t.Errorf("nothing to replace: %s", old)
			}
			return changed
		}
	}
	for _, c := range []struct {
		name   string
		change func(string) string
		check  string
		doctor int
	}{
		{"a handoff that transferred", replace(`"authorityTransferred":[]`, `"authorityTransferred":["approve"]`), "no handoff transferred authority", exitOK},
		{"a widened busAuthority", replace(`"heartbeat","handoff"]`, `"heartbeat","handoff","merge"]`), "every actor.registered carries the frozen busAuthority", exitOK},
		{"a lost label", replace(`"trust":"untrusted-text"`, `"trust":"operator"`), "every body is labelled untrusted-text", exitOK},
		{"a granted merge", replace(`"granted":["draft","report"]`, `"granted":["draft","merge"]`), "no message was granted a privileged authority", exitOK},
		{"a grant with an effect", replace(`"effect":"none"`, `"effect":"merge"`), "no message was granted a privileged authority", exitOK},
		{"a correlation id out of range", replace(`"correlationId":"cor-voicings"`, `"correlationId":"cor-9007199254740992"`), "every correlation id is inside the issuer range", exitOK},
		{"a forged address", replace(`"type":"message.acked","at":"2026-11-30T20:29:41.854Z","actorId":"act-0003"`,
			`"type":"message.acked","at":"2026-11-30T20:29:41.854Z","actorId":"act-0099"`), "every address in the log belongs to an actor this bus minted", exitNo},
		{"a burnt issuer", replace(`"correlationId":"cor-voicings"`, `"correlationId":"cor-9007199254740990"`), "the correlation issuer still has room to mint", exitNo},
	} {
		dir := example(t, c.change)
		r := runIn(t, dir, 0, "verify")
		report := verified(t, r)
		failed := failedChecks(report)
		if r.code != exitNo || !slices.Contains(failed, c.check) {
			t.Errorf("%s: verify exits %d, failed %q", c.name, r.code, failed)
		}
		if r := runIn(t, dir, 0, "doctor"); r.code != c.doctor {
			t.Errorf("%s: doctor exits %d, want %d: %s", c.name, r.code, c.doctor, r.stdout)
		}
	}
}

func failedChecks(r verify.Report) (names []string) {
	for _, s := range r.Sections {
		for _, c := range s.Checks {
			if !c.OK {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

func TestVerifyAsksExactly37QuestionsInEightSections(t *testing.T) {
	report := verified(t, runIn(t, t.TempDir(), 0, "verify"))
	want := []struct {
		section string
		checks  int
	}{{"manifest", 7}, {"transport", 1}, {"templates", 1}, {"lanes", 3}, {"startup-timeout", 2}, {"ecosystem", 4}, {"tool-surface", 2}, {"evidence", 17}}
	if len(report.Sections) != len(want) {
		t.Fatalf("%d sections", len(report.Sections))
	}
	seen := make(map[string]bool)
	for i, w := range want {
		if s := report.Sections[i]; s.Section != w.section || len(s.Checks) != w.checks {
			t.Errorf("section %d is %s with %d checks, want %s with %d", i, s.Section, len(s.Checks), w.section, w.checks)
		}
		for _, c := range report.Sections[i].Checks {
			if seen[c.Name] {
				t.Errorf("two checks are named %q", c.Name)
			}
			seen[c.Name] = true
		}
	}
	for _, name := range verify.Richness() {
		if !seen[name] {
			t.Errorf("no check is named %q, so leaving it out of the gate means nothing", name)
		}
	}
}

func TestVerifyFailsClosedOnADamagedLogAndRefusesAMissingOne(t *testing.T) {
	torn := example(t, func(s string) string { return s[:len(s)-10] })
	for _, args := range [][]string{
		{"verify"},
		{"verify", "--evidence", filepath.Join(torn, "events.jsonl")},
		{"verify", "--evidence", torn},
	} {
		if r := runIn(t, torn, 0, args...); r.code != exitFailClosed || !strings.Contains(r.stdout, `"code":"GAIA_LOG_CORRUPT"`) || !strings.Contains(r.stderr, "line 10, byte") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := runIn(t, torn, 0, "verify", "--evidence", filepath.Join(torn, "none")); r.code != exitUsage {
		t.Errorf("a log that isn't there: %+v", r)
	}
}
