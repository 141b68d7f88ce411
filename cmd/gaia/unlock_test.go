package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// killedHolder is a data directory whose lock was left by a real server,
// killed in the middle of its second commit.
func killedHolder(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The server parks for a second only, and a machine may be slower than
	// that: then nothing was left behind, and it is tried again.
	for range 10 {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Args = []string{"gaia", "lab", "server", "--fault", "sync:2"}
		cmd.Env = append(os.Environ(), "GAIA_INTERAGENT_DATA_DIR="+dir)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"register","arguments":{"actorId":"a"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"heartbeat","arguments":{"actorId":"a"}}}
`)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(stderr); lines.Scan() && !strings.Contains(lines.Text(), "parked before sync"); {
		}
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed: no success is expected
		if _, err := os.Stat(filepath.Join(dir, "events.lock")); err == nil {
			return dir
		}
	}
	t.Fatal("no server was caught with the lock in its hands")
	return ""
}

func TestALockOfADeadOwnerIsToldAndReleasedOnRequestOnly(t *testing.T) {
	dir := killedHolder(t)
	if r := runIn(t, dir, 0, "doctor"); r.code != exitOK || !strings.Contains(r.stdout, `"lock":{"state":"abandoned"`) || !strings.Contains(r.stdout, "the next call adopts it") {
		t.Errorf("doctor: %+v", r)
	}
	if r := runIn(t, dir, 0, "unlock"); r.code != exitOK || !strings.Contains(r.stdout, `"state":"abandoned"`) || !strings.Contains(r.stdout, `"released":false`) {
		t.Errorf("unlock: %+v", r)
	}
	if r := runIn(t, dir, 80, "unlock", "--apply"); r.code != exitOK || !strings.Contains(r.stdout, "released") {
		t.Errorf("unlock --apply: %+v", r)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "events.jsonl" {
		t.Errorf("left: %v %v", entries, err)
	}
	if r := runIn(t, dir, 0, "unlock"); !strings.Contains(r.stdout, `"state":"free"`) {
		t.Errorf("unlock again: %+v", r)
	}
	must(t, dir, "heartbeat", "--actorId", "a")
}

func TestTheNextCallAdoptsALockOfADeadOwner(t *testing.T) {
	dir := killedHolder(t)
	r := runIn(t, dir, 0, "heartbeat", "--actorId", "a")
	if r.code != exitOK || !strings.Contains(r.stderr, "adopted") {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "events.lock")); err == nil {
		t.Error("the lock is still there")
	}
}

// Who has the lock, since when, and which processes can prove anything of it.
func TestDoctorNamesALocksOwnerItsAgeAndItsDomain(t *testing.T) {
	dir := killedHolder(t)
	owner := filepath.Join(dir, "events.lock", "owner.json")
	text, err := os.ReadFile(owner)
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		PID        int
		Domain, At string
	}
	if err := json.Unmarshal(text, &o, json.MatchCaseInsensitiveNames(true)); err != nil || o.Domain == "" {
		t.Fatal(err, string(text))
	}
	when := time.Now().Add(-90 * time.Second)
	if err := os.Chtimes(owner, when, when); err != nil {
		t.Fatal(err)
	}
	if r := runIn(t, dir, 200, "doctor"); !strings.Contains(r.stdout, fmt.Sprintf("abandoned, of process %d, taken 1m3", o.PID)) || !strings.Contains(r.stdout, "domain "+o.Domain) {
		t.Errorf("%s", r.stdout)
	}
	if r := runIn(t, dir, 0, "doctor"); !strings.Contains(r.stdout, `"state":"abandoned"`) || !strings.Contains(r.stdout, fmt.Sprintf(`"pid":%d,"at":%q,"domain":%q,"ageMs":9`, o.PID, o.At, o.Domain)) {
		t.Errorf("%s", r.stdout)
	}
	// Whatever somebody wrote there.
	for state, marker := range map[string]string{
		"earlier-boot, of process 7, taken 0s ago":   fmt.Sprintf(`{"pid":7,"domain":%q}`, "another "+o.Domain[strings.Index(o.Domain, " ")+1:]),
		"foreign, of an unnamed owner, taken 0s ago": `{"domain":"x\u001b[2J\u202e` + strings.Repeat("y", 200) + `"}`,
	} {
		if err := os.WriteFile(owner, []byte(marker), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"doctor", "unlock"} {
			r := runIn(t, dir, 80, command)
			if command == "doctor" && !strings.Contains(r.stdout, state) {
				t.Errorf("%s is not told: %s", state, r.stdout)
			}
			if raw := acts.FindString(ourColours.ReplaceAllString(r.stdout, "")); raw != "" {
				t.Errorf("%s: %q reached the terminal: %q", command, raw, r.stdout)
			}
		}
	}
}
