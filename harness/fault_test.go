package harness

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestFaultsAreSurvivedAndSeen(t *testing.T) {
	for _, test := range []struct {
		fault   string
		recover time.Duration // at least
		adopted int64
	}{
		{"kill-holder:append", 3 * time.Second, 1}, // the fake's patience is 5 s
		{"kill-holder:acquire", 0, 0},
		{"stall-holder:append", time.Second, 0},
		{"kill-client", 0, 0},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			spec := fakeSpec(t, 3, 30)
			spec.Factors.Fault = test.fault
			got, err := RunTrial(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if b := broken(got); b != nil {
				t.Error(b)
			}
			o := got.Outage
			if o == nil || o.Injected != 1 || o.Recovery < test.recover || o.Longest < test.recover || o.FailClosed != 0 || o.Adopted != test.adopted {
				t.Errorf("seen %+v; want a recovery of at least %v and %d adopted", o, test.recover, test.adopted)
			}
			for _, l := range got.Lanes[1:] {
				if l.Calls != 30 || l.Errors != 0 {
					t.Errorf("lane %d: %d calls, %d errors; want 30, 0", l.Lane, l.Calls, l.Errors)
				}
			}
			if dead := got.Lanes[0].Calls < 30; dead != (test.fault != "stall-holder:append") {
				t.Errorf("the victim made %d calls", got.Lanes[0].Calls)
			}
		})
	}
	t.Cleanup(func() {
		if left := children(t); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
	})
}

func TestFailpointStrikesOnceAtItsStep(t *testing.T) {
	var said bytes.Buffer
	hook, err := Failpoint("append:2", &said)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"append", "sync", "append", "append"} {
		hook(step)
	}
	if said.String() != "gaia-lab: parked before append\n" {
		t.Errorf("said %q", said.String())
	}
	for _, bad := range []string{"", "append", "append:0", "append:x", "lunch:1", ":1"} {
		if _, err := Failpoint(bad, &said); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v; want ErrUsage", bad, err)
		}
	}
}

// The same seed gives the same work, and another seed or lane another.
func TestSeedDecidesTheWork(t *testing.T) {
	steps := func(seed uint64, lane int) (s []step) {
		p := newPlan(seed, lane, 4, 300, time.Millisecond)
		for range 200 {
			s = append(s, p.next())
		}
		return s
	}
	if !slices.Equal(steps(1, 2), steps(1, 2)) {
		t.Error("the same seed and lane differ")
	}
	if slices.Equal(steps(1, 2), steps(2, 2)) || slices.Equal(steps(1, 2), steps(1, 3)) {
		t.Error("another seed or lane doesn't")
	}
	seen := map[string]int{}
	for i, s := range steps(1, 2) {
		seen[s.verb]++
		if s.peer < 1 || s.peer > 4 || s.peer == 2 {
			t.Errorf("step %d is addressed to lane %d", i+1, s.peer)
		}
		if len(s.body) != 300 || s.think < time.Millisecond/2 || s.think > 3*time.Millisecond/2 {
			t.Errorf("step %d: %d bytes, think %v", i+1, len(s.body), s.think)
		}
	}
	for _, verb := range sixVerbs {
		if seen[verb] == 0 {
			t.Errorf("no %s in 200 steps", verb)
		}
	}
	if p := newPlan(1, 1, 1, 0, 0).next(); p.peer != 1 || p.body != "L01-000001" || p.think != 0 {
		t.Errorf("a lane alone: %+v", p)
	}
}
