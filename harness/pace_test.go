package harness

import (
	"testing"
	"time"
)

// paced is a lane whose calls follow one another at a pace.
func paced(lane, calls int, each time.Duration) History {
	h := History{Lane: lane}
	for i := range calls {
		start := time.Duration(i) * each
		h.Calls = append(h.Calls, CallRecord{Call: i + 1, Start: int64(start), End: int64(start + each)})
	}
	return h
}

// stormed gives a lane its part in a kill-storm.
func stormed(h History, peer bool) History {
	h.Storm = &Storm{MkdirPeer: peer}
	return h
}

func TestAStarvedLaneIsToldFromAShortRace(t *testing.T) {
	for name, c := range map[string]struct {
		histories   []History
		ok, skipped bool
	}{
		"all alike":              {[]History{paced(1, 100, 5*time.Millisecond), paced(2, 100, 5*time.Millisecond)}, true, false},
		"one starves":            {[]History{paced(1, 100, 5*time.Millisecond), paced(2, 10, 60*time.Millisecond)}, false, false},
		"one starts late":        {[]History{paced(1, 60, time.Millisecond), paced(2, 4, 20*time.Millisecond)}, false, true},
		"one starves in a storm": {[]History{stormed(paced(1, 100, 5*time.Millisecond), false), stormed(paced(2, 10, 60*time.Millisecond), false)}, false, false},
		"a storm's slow peer":    {[]History{stormed(paced(1, 100, 5*time.Millisecond), false), stormed(paced(2, 10, 60*time.Millisecond), true)}, true, false},
		"short and all alike":    {[]History{paced(1, 10, time.Millisecond), paced(2, 10, time.Millisecond)}, true, false},
	} {
		if p := starving(c.histories); p.OK != c.ok || p.Skipped != c.skipped {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
