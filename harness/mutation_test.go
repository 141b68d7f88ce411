package harness

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"gaia/results"
)

// Every single line of a real trial's log counts: one that is dropped, doubled
// or moved before an earlier call's is rejected, wherever it stands.
func TestCheckerMissesNoLineOfARealTrial(t *testing.T) {
	spec := fakeSpec(t, 3, 30)
	if _, err := RunTrial(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	var histories []History
	for lane := range 3 {
		h, err := ReadHistory(spec.Work, lane+1, false)
		if err != nil {
			t.Fatal(err)
		}
		histories = append(histories, h)
	}
	text, err := os.ReadFile(filepath.Join(spec.Dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
	before, err := MarkLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rejected := func(lines [][]byte) bool {
		if err := os.WriteFile(filepath.Join(dir, logName), bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		promises, err := Check(dir, before, histories)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(promises, func(p results.Promise) bool { return !p.OK && p.Name != PromiseNoStarving })
	}
	if rejected(lines) {
		t.Fatal("the log as it is was rejected")
	}
	for i := range lines {
		if !rejected(slices.Delete(slices.Clone(lines), i, i+1)) {
			t.Errorf("line %d dropped: not rejected: %s", i+1, lines[i])
		}
		if !rejected(slices.Insert(slices.Clone(lines), i, lines[i])) {
			t.Errorf("line %d doubled: not rejected: %s", i+1, lines[i])
		}
	}
	// The last record is of a call that began long after the first ones ended.
	last := len(lines) - 1
	if !rejected(slices.Insert(slices.Clone(lines[:last]), 3, lines[last])) {
		t.Error("the last line moved to the front: not rejected")
	}
}

// The checker's reader takes any bytes, and calls nothing a record that JSON
// doesn't.
func FuzzParseLine(f *testing.F) {
	for _, line := range append(honest().lines, ``, `{`, `[]`, `{"type":5}`, `{"type":"x","type":"y"}`, "{\"type\":\"\xff\"}", `{"type":"message.sent","message":5}`, ` {"type":"x"}`) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseLine(line)
		if err != nil {
			return
		}
		var any map[string]any
		if err := json.Unmarshal(line, &any); err != nil || any["type"] != r.Type {
			t.Errorf("%q read as a %q; %v", line, r.Type, err)
		}
	})
}
