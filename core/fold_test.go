package core

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func snapshotJSON(s Snapshot) string { return string(appendJSON(nil, s)) }

// The executable specification and the bus's own fold are held equal on any
// log, and the short way through a line equals the long one.
func TestFoldEqualsTheReferenceOnAnyLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := randomLog(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 120).Draw(t, "steps"))
		own, long, reference := NewState(), NewState(), NewReference()
		for n, line := range lines {
			if err := FoldLine(own, line); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			e, err := ParseEvent(line)
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			Apply(long, e)
			reference.Apply(e)
		}
		want := snapshotJSON(reference.Snapshot())
		if got := snapshotJSON(own.Snapshot()); got != want {
			t.Fatalf("the bus's fold differs from the reference:\n%s", cmp.Diff(want, got))
		}
		if got := snapshotJSON(long.Snapshot()); got != want {
			t.Fatalf("the long way differs from the reference:\n%s", cmp.Diff(want, got))
		}
		if diff := cmp.Diff(long.Integrity(), own.Integrity()); diff != "" {
			t.Fatalf("findings differ: %s", diff)
		}
		if diff := cmp.Diff(long.keys, own.keys); diff != "" {
			t.Fatalf("keys differ: %s", diff)
		}
	})
}

// A comparison that can't tell two folds apart would prove nothing.
func TestFoldComparisonSeesOneForgottenEvent(t *testing.T) {
	lines := randomLog(7, 80)
	own, reference := NewState(), NewReference()
	for n, line := range lines {
		e, err := ParseEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		if n != len(lines)/2 {
			Apply(own, e)
		}
		reference.Apply(e)
	}
	if snapshotJSON(own.Snapshot()) == snapshotJSON(reference.Snapshot()) {
		t.Fatal("a fold that lacks one event passed for equal")
	}
}

// What Decide reads it must not change.
func TestDecideChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState()
		for _, line := range randomLog(rapid.Uint64().Draw(t, "seed"), 40) {
			if err := FoldLine(s, line); err != nil {
				t.Fatal(err)
			}
		}
		r := drawn{t}
		before := snapshotJSON(s.Snapshot())
		c := someCommand(r, s, "2026-09-16T00:00:00.000Z")
		d1, d2 := Decide(s, c), Decide(s, c)
		if after := snapshotJSON(s.Snapshot()); after != before {
			t.Fatalf("%s changed the state: %s", c.Verb, cmp.Diff(before, after))
		}
		if diff := cmp.Diff(d1, d2); diff != "" {
			t.Fatalf("the same command on the same state was decided differently: %s", diff)
		}
		for _, e := range d1.Events {
			line := AppendEvent(nil, e)
			back, err := ParseEvent(line)
			if err != nil {
				t.Fatalf("wrote what can't be read back: %s: %v", line, err)
			}
			if again := AppendEvent(nil, back); string(again) != string(line) {
				t.Fatalf("parsed and written again differs:\n%s\n%s", line, again)
			}
		}
	})
}

// drawn is rapid as a source of choices.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

// A message's size is told without writing it.
func TestAMessagesSizeIsThatOfItsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(someNames), rapid.Just("\xff\u2028\x00\"\\"))
		list := rapid.SliceOfN(text, 0, 3)
		orNil := rapid.Ptr(text, true)
		m := Message{
			text.Draw(t, "id"), text.Draw(t, "cor"), text.Draw(t, "from"), "f", text.Draw(t, "to"), "t", "r", text.Draw(t, "reply name"),
			rapid.Bool().Draw(t, "expects"), text.Draw(t, "kind"), text.Draw(t, "text"), text.Draw(t, "trust"),
			Authority{list.Draw(t, "granted"), list.Draw(t, "denied"), text.Draw(t, "effect"), list.Draw(t, "never")},
			list.Draw(t, "flags"), text.Draw(t, "sent"), text.Draw(t, "delivery"), orNil.Draw(t, "delivered"), orNil.Draw(t, "acked by"), orNil.Draw(t, "acked at"),
		}
		if got, want := m.jsonSize(), len(appendJSON(nil, m)); got != want {
			t.Fatalf("%d bytes, told %d: %s", want, got, appendJSON(nil, m))
		}
	})
}

// What the first look lets pass unread the expression doesn't match either.
func TestTheFirstLookAtATextMissesNoWordOfAuthority(t *testing.T) {
	pieces := []string{"approve", "MERGE", "push", "puſh", "Deploy", "commit", "mutate", "grant", "you", "now", "have", "admin", "ignore", "the", "previous", "above",
		"credential", "secrets", "change", "update", "config", "ſecret", "bloc\u212a", " ", "  ", "\n", "\u00a0", "\u2028", ".", "-", "_", "7", "é", "x", "\xff", "\xc5", "审"}
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 9).Draw(t, "pieces"), "")
		want := authorityLanguage.MatchString(text)
		if want {
			matched++
		}
		if got := soundsOfAuthority(text); got != want {
			t.Fatalf("%q: %v, the expression says %v", text, got, want)
		}
	})
	if matched < 10 {
		t.Errorf("only %d texts had such words", matched)
	}
}
