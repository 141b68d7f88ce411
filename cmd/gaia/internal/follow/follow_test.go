package follow

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gaia/eventlog"
)

const record = `{"type":"x","at":"2026-01-01T00:00:00.000Z"}`

func TestOnlyCompleteLinesAreHandedOutAndEachOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := New(path)
	var got []eventlog.Line
	poll := func() {
		t.Helper()
		if err := l.Poll(func(line eventlog.Line) error {
			line.Bytes = slices.Clone(line.Bytes)
			got = append(got, line)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	grow := func(s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(s)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	poll() // no file yet
	grow(record[:10])
	poll()
	if len(got) != 0 {
		t.Fatalf("half a line was handed out: %+v", got)
	}
	grow(record[10:] + "\n" + record + "\n" + record[:3])
	poll()
	poll()
	if len(got) != 2 || string(got[1].Bytes) != record || got[1].Number != 2 || got[1].Offset != int64(len(record)+1) {
		t.Errorf("got %+v", got)
	}
	if l.State().Events() != 2 {
		t.Errorf("%d events folded", l.State().Events())
	}
}

func TestDamageAndALogThatIsNoLongerTheSameEndTheWatch(t *testing.T) {
	none := func(eventlog.Line) error { return nil }
	for name, change := range map[string]func(string) error{
		"a line that is no record": func(p string) error { return os.WriteFile(p, []byte(record+"\nnot json\n"), 0o600) },
		"a blank line":             func(p string) error { return os.WriteFile(p, []byte(record+"\n\n"), 0o600) },
		"a shorter file":           func(p string) error { return os.Truncate(p, 5) },
		"no file any more":         os.Remove,
		"another file": func(p string) error {
			if err := os.WriteFile(p+".new", []byte(record+"\n"+record+"\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(p+".new", p)
		},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte(record+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l := New(path)
		if err := l.Poll(none); err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if err := l.Poll(none); err == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}
