package bench_test

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"gaia/bench"
	"gaia/core"
	"gaia/eventlog"
	"gaia/results"
)

func TestPrefilledLogHoldsWhatWasAskedAndReplays(t *testing.T) {
	for _, f := range []bench.Filling{
		{Events: 1, Actors: 1, MessageBytes: 10, Seed: 1},
		{Events: 500, Actors: 7, MessageBytes: 200, Seed: 1},
		{Events: 500, Actors: 500, MessageBytes: 1, Seed: 1},
		{Events: 301, Actors: 3, MessageBytes: 5000, Seed: 2, Unacked: true},
	} {
		dir, again := t.TempDir(), t.TempDir()
		for _, d := range []string{dir, again} {
			if err := bench.Prefill(t.Context(), d, f); err != nil {
				t.Fatalf("%+v: %v", f, err)
			}
		}
		read := func(d string) []byte {
			data, err := os.ReadFile(eventlog.Open(d, eventlog.Options{}).Path())
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		data := read(dir)
		if !bytes.Equal(data, read(again)) {
			t.Errorf("%+v: the same filling gave other bytes", f)
		}
		s, n, acks := core.NewState(), 0, 0
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			n++
			if bytes.Contains(lines.Bytes(), []byte(`"type":"message.acked"`)) {
				acks++
			}
			if err := core.FoldLine(s, lines.Bytes()); err != nil {
				t.Fatalf("%+v: line %d: %v", f, n, err)
			}
		}
		if n != f.Events || len(s.Actors()) != f.Actors || !s.Integrity().OK {
			t.Errorf("%+v: %d events, %d actors, integrity %+v", f, n, len(s.Actors()), s.Integrity())
		}
		if f.Unacked && acks > 0 {
			t.Errorf("%+v: %d acks", f, acks)
		}
		if err := bench.CopyLog(dir, t.TempDir()+"/copy"); err != nil {
			t.Error(err)
		}
	}
	for _, f := range []bench.Filling{{}, {Events: 1, Actors: 2}, {Events: 5}} {
		if err := bench.Prefill(t.Context(), t.TempDir(), f); err == nil {
			t.Errorf("%+v was made", f)
		}
	}
}

func TestFloorLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	f, err := bench.Floor(t.Context(), dir, 5)
	if err != nil || f.N != 5 || f.Median <= 0 || f.P99 < f.Median {
		t.Errorf("%+v %v", f, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := bench.Floor(t.Context(), dir+"/none", 5); err == nil {
		t.Error("a floor of no folder")
	}
}

func TestReplayMeasuresEveryOperationInEveryCell(t *testing.T) {
	g := bench.ReplayGrid{Events: []int{20, 40}, Actors: []int{1, 5}, Trials: 2, Seed: 3}
	seen := make(map[string]int)
	err := bench.MeasureReplay(t.Context(), t.TempDir(), g, func(r results.ReplayTrial) error {
		seen[r.Operation]++
		if r.Took <= 0 || r.Bytes <= 0 || r.Order < 1 {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range bench.Operations() {
		if seen[op] != 8 {
			t.Errorf("%s: %d of 8", op, seen[op])
		}
	}
}
