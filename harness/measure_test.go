package harness

import (
	"testing"
	"time"

	"gaia/results"
)

func TestOutageIsWhatTheOthersSaw(t *testing.T) {
	call := func(start, end int64, outcome string) CallRecord {
		return CallRecord{Call: 1, Start: start, End: end, Outcome: outcome}
	}
	histories := []History{
		{Lane: 1, Victim: true, Calls: []CallRecord{call(40, 41, OutcomeOK), call(60, 999, OutcomeTransport)}},
		{Lane: 2, Calls: []CallRecord{call(10, 20, OutcomeOK), call(30, 101, OutcomeOK), call(105, 700, OutcomeOK), call(701, 710, "GAIA_LOCK_TIMEOUT")}},
		{Lane: 3, Calls: []CallRecord{call(50, 60, "GAIA_IO"), call(90, 400, OutcomeRefused), call(410, 705, OutcomeOK)}},
	}
	if got, want := *outage(histories, []strike{{0, 100}}), (results.Outage{Injected: 1, Longest: 300, Recovery: 600, FailClosed: 1}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got := *outage(histories, nil); got != (results.Outage{}) {
		t.Errorf("a fault that never struck: %+v", got)
	}
}

// A figure is of the calls after the barrier, from both starts; what the lab
// did to its victim is no error of the bus.
func TestMeasureCountsWhatTheHistoriesSay(t *testing.T) {
	ms := int64(time.Millisecond)
	histories := []History{
		{Lane: 1, Calls: []CallRecord{
			{Call: 0, Verb: verbRegister, End: 900 * ms, Outcome: OutcomeOK},
			{Call: 1, Verb: verbSend, Intended: 1000 * ms, Start: 1010 * ms, End: 1030 * ms, Outcome: OutcomeOK, Phases: map[string]int64{"acquire": 5, "sync": 7}},
			{Call: 2, Verb: verbSend, Intended: 1040 * ms, Start: 1040 * ms, End: 1045 * ms, Outcome: OutcomeRefused, Phases: map[string]int64{"acquire": 9}},
			{Call: 3, Verb: verbInbox, Intended: 1050 * ms, Start: 1050 * ms, End: 1150 * ms, Outcome: "GAIA_LOCK_TIMEOUT"},
		}},
		{Lane: 2, Victim: true, Calls: []CallRecord{
			{Call: 0, Verb: verbRegister, Outcome: OutcomeOK},
			{Call: 1, Verb: verbAck, Start: 1000 * ms, End: 1200 * ms, Outcome: OutcomeTransport},
		}},
	}
	got := results.Trial{Lanes: []results.Lane{{Lane: 1}, {Lane: 2}}}
	measure(&got, histories, 1000*ms)
	if got.Calls != 2 || got.Wall != 200*time.Millisecond || len(got.Errors) != 2 || got.Errors[OutcomeRefused] != 1 || got.Errors["GAIA_LOCK_TIMEOUT"] != 1 {
		t.Errorf("%d calls in %v, errors %v", got.Calls, got.Wall, got.Errors)
	}
	if p := got.Phases["acquire"]; p != (results.Phase{Count: 2, Total: 14, Max: 9}) {
		t.Errorf("acquire %+v", p)
	}
	l := got.Lanes[0]
	if l.Calls != 2 || l.Errors != 2 || l.Min != 5*time.Millisecond || l.Median != 30*time.Millisecond || l.Max != 100*time.Millisecond || l.MaxWait != 9 {
		t.Errorf("lane 1 %+v", l)
	}
	if l := got.Lanes[1]; l.Calls != 0 || l.Errors != 1 {
		t.Errorf("lane 2 %+v", l)
	}
	for name, want := range map[string]int64{"all": 3, verbSend: 2, verbInbox: 1} {
		r, err := results.ParseHistogram(got.Response[name])
		if err != nil || r.Count() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := results.ParseHistogram(got.Response[verbSend])
	s, err2 := results.ParseHistogram(got.Service[verbSend])
	if err != nil || err2 != nil || r.Max() < 29*time.Millisecond || s.Max() > 21*time.Millisecond {
		t.Errorf("send: response up to %v, service up to %v", r.Max(), s.Max())
	}
}
