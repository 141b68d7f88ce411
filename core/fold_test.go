package core

import (
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
