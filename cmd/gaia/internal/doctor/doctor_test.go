package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
	"gaia/eventlog"
	"gaia/lanes"
	"gaia/results"
)

func six(context.Context) ([]string, error) {
	var names []string
	for _, v := range core.Verbs() {
		names = append(names, string(v))
	}
	return names, nil
}

// examine looks at a log of these lines.
func examine(t *testing.T, change func(*Subject), lines ...string) (Report, error) {
	t.Helper()
	dir := t.TempDir()
	if len(lines) > 0 {
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := eventlog.OptionsFromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	options.LockTimeout = 50 * time.Millisecond
	s := Subject{Log: eventlog.Open(dir, options), Options: options, Tools: six, Evidence: lanes.Evidence(nil, results.Environment{})}
	if change != nil {
		change(&s)
	}
	return Examine(t.Context(), s)
}

const (
	registered = `{"type":"actor.registered","at":"2026-01-01T00:00:00.000Z","ref":"act-0001","name":"a","isNew":true,"kind":"x","declaredCapabilities":[],"busAuthority":["send","receive","ack","heartbeat","handoff"]}`
	unminted   = `{"type":"actor.heartbeat","at":"2026-01-01T00:00:01.000Z","actorId":"act-0077","note":null}`
	unknownMsg = `{"type":"message.acked","at":"2026-01-01T00:00:01.000Z","actorId":"act-0001","messageId":"msg-0009","note":null}`
	outOfOrder = `{"type":"actor.registered","at":"2026-01-01T00:00:00.000Z","ref":"act-0009","name":"b","isNew":true,"kind":"x","declaredCapabilities":[],"busAuthority":[]}`
)

func TestOnlyAnUnmintedAddressAndABurntIssuerMakeTheVerdictNo(t *testing.T) {
	for name, c := range map[string]struct {
		lines     []string
		ok, whole bool
	}{
		"no log":             {nil, true, true},
		"a good log":         {[]string{registered}, true, true},
		"an unminted actor":  {[]string{registered, unminted}, false, false},
		"an unknown message": {[]string{registered, unknownMsg}, true, false},
		"refs out of order":  {[]string{registered, outOfOrder}, true, false},
	} {
		r, err := examine(t, nil, c.lines...)
		if err != nil || r.OK != c.ok || r.IntegrityOK != c.whole || !r.Replayable || r.Events != len(c.lines) {
			t.Errorf("%s: %v %+v", name, err, r)
		}
		if c.whole != (len(r.IntegrityFindings) == 0) {
			t.Errorf("%s: findings %+v", name, r.IntegrityFindings)
		}
		for _, f := range r.IntegrityFindings {
			if f.Advice == "" || f.Detail == "" || f.Gates == c.ok {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

func TestADamagedLogIsAnErrorBesideAUsefulReport(t *testing.T) {
	r, err := examine(t, nil, registered, "not json")
	var corrupt *eventlog.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Line != 2 || r.OK || r.Replayable || !r.LogExists || r.LogBytes == 0 || r.Note == "" {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestAServerWithoutTheSixVerbsIsNotPresent(t *testing.T) {
	for _, names := range [][]string{nil, {"register"}, {"register", "send", "inbox", "ack", "heartbeat", "handoff", "merge"}} {
		r, err := examine(t, func(s *Subject) { s.Tools = func(context.Context) ([]string, error) { return names, nil } })
		if err != nil || r.BundledServerPresent || len(r.Warnings) == 0 {
			t.Errorf("%q: %v %+v", names, err, r)
		}
	}
	r, err := examine(t, nil)
	if err != nil || !r.BundledServerPresent || !r.ManifestPresent || !r.MCPManifestPresent || len(r.Warnings) != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestABusyLockIsToldAndOnlyAnOldOneWarnedOf(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		warn bool
	}{{time.Second, false}, {time.Hour, true}} {
		r, err := examine(t, func(s *Subject) {
			lock := filepath.Join(s.Log.Dir(), "events.lock")
			when := time.Now().Add(-c.age)
			if err := errors.Join(os.Mkdir(lock, 0o700), os.Chtimes(lock, when, when)); err != nil {
				t.Fatal(err)
			}
		}, registered)
		if err != nil || !r.OK || !r.LockBusyOnEntry || r.Lock.State != eventlog.LockForeign || (r.Lock.Advice != "") != c.warn || (len(r.Warnings) > 0) != c.warn {
			t.Errorf("%v: %v %+v", c.age, err, r)
		}
	}
}

func TestTheOldKeysComeFirstAndInTheirOrder(t *testing.T) {
	r, err := examine(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	d := jsontext.NewDecoder(strings.NewReader(string(b)))
	d.ReadToken()
	for _, want := range []string{"ok", "command", "go", "platform", "bundledServerPresent", "manifestPresent", "mcpManifestPresent", "dataDir",
		"dataDirIsDefault", "dataDirExists", "logExists", "lockBusyOnEntry", "lockTimeoutMs", "supportedMaxLiveLanes", "laneEvidence",
		"events", "replayable", "actors", "integrityOk", "integrityFindings", "note"} {
		name, err := d.ReadToken()
		if err != nil || name.String() != want {
			t.Fatalf("key %q, want %q (%v)", name, want, err)
		}
		if err := d.SkipValue(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPlaceWhereEveryCallFailsIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		make        func(dir string) error // the data directory doesn't exist yet
		want        string                 // "": no warning
		asRoot, dir bool                   // root may write anywhere; dataDirExists
	}{
		"nothing yet":       {func(string) error { return nil }, "", true, false},
		"a directory":       {func(dir string) error { return os.Mkdir(dir, 0o700) }, "", true, true},
		"a link to one":     {func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) }, "", true, true},
		"a dangling link":   {func(dir string) error { return os.Symlink(dir+"-gone", dir) }, "a link that leads nowhere", true, false},
		"a file":            {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "is no directory", true, false},
		"no right to write": {func(dir string) error { return os.Mkdir(dir, 0o500) }, "can't be written", false, true},
		"no right above it": {func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o500) }, "can't be written", false, false},
		"a log to read only": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(registered+"\n"), 0o400))
		}, "events.jsonl can't be written", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.asRoot && (runtime.GOOS == "windows" || os.Geteuid() == 0) {
				t.Skip("this user may write there all the same")
			}
			parent := t.TempDir()
			defer os.Chmod(parent, 0o700)
			dir := filepath.Join(parent, "bus")
			if err := c.make(dir); err != nil {
				t.Skip("it can't be made here:", err)
			}
			r, err := examine(t, func(s *Subject) { s.Log = eventlog.Open(dir, s.Options) })
			warned := strings.Join(r.Warnings, "\n")
			if (c.want == "") != (warned == "") || !strings.Contains(warned, c.want) || r.DataDirExists != c.dir {
				t.Errorf("%v: %+v", err, r)
			}
			if c.want != "" && strings.Contains(r.Note, "initialize") {
				t.Errorf("sent to a command that fails: %s", r.Note)
			}
		})
	}
}
