package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gaia/results"
)

// stormSpec is a short storm; GAIA_STORM=5m in the environment makes it a long
// one, at about a hundred calls of a lane a second.
func stormSpec(t *testing.T, gaia, fault string) TrialSpec {
	spec := fakeSpec(t, 4, 100)
	spec.Self, spec.Factors.Fault = []string{gaia}, fault
	if text := os.Getenv("GAIA_STORM"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Factors.CallsPerLane, spec.Limits.Trial = int(100*d.Seconds()), 10*d
	}
	return spec
}

// Every lane's server is killed again and again, some of them holding the
// lock, and nobody loses, doubles or waits for anything.
func TestGaiaOutlivesAStormOfKills(t *testing.T) {
	gaia := buildGaia(t)
	for _, fault := range []string{FaultKillStorm, FaultKillStorm + ":" + MkdirPeer} {
		t.Run(strings.ReplaceAll(fault, ":", " with "), func(t *testing.T) {
			got, err := RunTrial(t.Context(), stormSpec(t, gaia, fault))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.Promises {
				switch {
				case p.Skipped: // a torn line among them: the trial tells it
					t.Logf("not checked: %s: %s", p.Name, p.Detail)
				case !p.OK:
					t.Errorf("%s: %s", p.Name, p.Detail)
				}
			}
			o := got.Outage
			if len(got.Errors) > 0 && !o.Torn {
				t.Errorf("errors: %v", got.Errors)
			}
			// Whether a short storm hits a holder is chance.
			if o.Injected < 4 || o.Unknown == 0 || o.Longest <= 0 || o.Recovery <= 0 || os.Getenv("GAIA_STORM") != "" && o.Adopted == 0 {
				t.Errorf("no storm: %+v", o)
			}
			for _, l := range got.Lanes {
				if peer := fault != FaultKillStorm && l.Lane == 4; peer && l.Calls != int64(got.Factors.CallsPerLane) && !o.Torn {
					t.Errorf("the peer, which nobody kills, made %d calls", l.Calls)
				}
			}
			t.Logf("%+v, %d calls in %v", o, got.Calls, got.Wall)
		})
	}
	t.Run("but for a bus that adopts no lock", func(t *testing.T) { stopsABusThatAdoptsNoLock(t, gaia) })
	if left := children(t); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if dead := unwaited(t); len(dead) > 0 {
		t.Errorf("never waited for: %v", dead)
	}
}

// The control: a bus whose lock outlives its holder doesn't get through, and
// the trial says so.
func stopsABusThatAdoptsNoLock(t *testing.T, gaia string) {
	spec := stormSpec(t, gaia, FaultKillStorm)
	spec.Factors.CallsPerLane = 300 // it doesn't get there
	spec.Servers = []string{envAdoption + "=off " + envPrefix + "LOCK_TIMEOUT_MS=100 " + strconv.Quote(gaia) + " mcp"}
	got, err := RunTrial(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{PromiseThrough, PromiseNoLock} {
		if !hasBroken(got.Promises, name) {
			t.Errorf("%s: not broken: %v", name, got.Promises)
		}
	}
	if got.Outage.FailClosed == 0 || got.Errors["GAIA_LOCK_TIMEOUT"] == 0 {
		t.Errorf("seen %+v, errors %v", got.Outage, got.Errors)
	}
}

func hasBroken(promises []results.Promise, name string) bool {
	for _, p := range promises {
		if p.Name == name {
			return !p.OK && !p.Skipped
		}
	}
	return false
}

// stormy is an honest log of two lanes whose servers are killed, each call of
// unknown outcome once in the log and once not.
func stormy() *forgery {
	f := honest()
	for i := range f.lanes {
		f.lanes[i].Storm = &Storm{Kills: []int64{1, 2, 3, 4}}
	}
	beat := `{"type":"actor.heartbeat","actorId":"act-0002","note":"MARK"}`
	f.call(1, CallRecord{Verb: verbHeartbeat, Outcome: OutcomeKilled}, beat)
	f.call(1, CallRecord{Verb: verbHeartbeat, Outcome: OutcomeKilled})
	// Two polls that look alike with one between that may be either's.
	poll := `{"type":"inbox.polled","actorId":"act-0002","messageIds":["msg-0003"]}`
	f.call(1, CallRecord{Verb: verbInbox, Shown: []string{"msg-0003"}}, poll)
	f.call(1, CallRecord{Verb: verbInbox, Outcome: OutcomeKilled}, poll)
	f.call(1, CallRecord{Verb: verbHeartbeat}, beat)
	f.call(1, CallRecord{Verb: verbInbox, Shown: []string{"msg-0003"}}, poll)
	f.call(1, CallRecord{Verb: verbInbox, Outcome: OutcomeKilled})
	f.call(1, CallRecord{Verb: verbHeartbeat}, beat)
	f.call(1, CallRecord{Verb: verbInbox, Shown: []string{"msg-0003"}}, poll)
	f.call(2, CallRecord{Verb: verbHandoff, To: "act-0002", Digest: digest("L02-000004"), Outcome: OutcomeKilled},
		`{"type":"message.sent","message":{"messageId":"msg-0004","correlationId":"cor-0010","from":"act-0003","to":"act-0002","text":"MARK"}}`,
		`{"type":"work.handed-off","from":"act-0003","to":"act-0002","messageId":"msg-0004","summary":"MARK"}`)
	f.call(2, CallRecord{Verb: verbSend, To: "act-0002", Digest: digest("L02-000005"), Outcome: OutcomeKilled})
	for i := range f.lanes {
		f.lanes[i].Storm.Calls = len(f.lanes[i].Calls) - 1
	}
	return f
}

func TestCheckerAcceptsAnHonestStorm(t *testing.T) {
	f := stormy()
	for name, p := range f.check(t, f.text(), f.mark(t)) {
		if !p.OK && !p.Skipped {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
}

func TestCheckerRejectsAForgedStorm(t *testing.T) {
	find := func(f *forgery, part string) int {
		for i, l := range f.lines {
			if strings.Contains(l, part) {
				return i
			}
		}
		panic("no line with " + part)
	}
	drop := func(f *forgery, part string) {
		i := find(f, part)
		f.lines = append(f.lines[:i:i], f.lines[i+1:]...)
	}
	double := func(f *forgery, part string) {
		i := find(f, part)
		f.lines = append(f.lines[:i+1:i+1], f.lines[i:]...)
	}
	for name, test := range map[string]struct {
		promise string
		spoil   func(f *forgery)
	}{
		"an acknowledged call missing":    {PromiseOnce, func(f *forgery) { drop(f, "L01-000008") }},
		"an acknowledged poll missing":    {PromiseOnce, func(f *forgery) { f.lines = append(f.lines[:find(f, "msg-0004")-1], f.lines[find(f, "msg-0004"):]...) }},
		"a call of unknown outcome twice": {PromiseOnce, func(f *forgery) { double(f, "L01-000004") }},
		"a poll of unknown outcome twice": {PromiseOnce, func(f *forgery) { double(f, `"messageIds":["msg-0003"]`) }},
		"an invented event": {PromiseOnce, func(f *forgery) {
			f.lines = append(f.lines, `{"type":"actor.heartbeat","actorId":"act-0002","note":"L01-000099"}`)
		}},
		"half a handoff of unknown outcome": {PromiseOnce, func(f *forgery) {
			drop(f, `"work.handed-off","from":"act-0003","to":"act-0002","messageId":"msg-0004"`)
		}},
		"the first half of it alone": {PromiseOnce, func(f *forgery) { drop(f, `"text":"L02-000004"`) }},
		"another body in a call of unknown outcome": {PromiseOnce, func(f *forgery) {
			i := find(f, `"text":"L02-000004"`)
			f.lines[i] = strings.Replace(f.lines[i], "L02-000004", "L02-000004 x", 1)
		}},
		"a call of unknown outcome out of order": {PromiseOrder, func(f *forgery) {
			i := find(f, "L01-000004")
			l := f.lines[i]
			drop(f, "L01-000004")
			f.lines = append(f.lines[:f.before:f.before], append([]string{l}, f.lines[f.before:]...)...)
		}},
		"more calls cut off than servers killed":    {PromiseAnswered, func(f *forgery) { f.lanes[1].Storm.Kills = f.lanes[1].Storm.Kills[:1] }},
		"a call cut off where no server was killed": {PromiseAnswered, func(f *forgery) { f.lanes[1].Storm = nil }},
		"a server that ended by itself":             {PromiseAnswered, func(f *forgery) { f.lanes[1].Calls[5].Outcome = OutcomeTransport }},
		"a lane that didn't get through":            {PromiseThrough, func(f *forgery) { f.lanes[1].Storm.Calls++ }},
		"a call that failed closed":                 {PromiseThrough, func(f *forgery) { f.call(1, CallRecord{Verb: verbHeartbeat, Outcome: "GAIA_LOCK_TIMEOUT"}) }},
		"a line torn by nobody":                     {PromiseWholeLines, func(f *forgery) { f.lanes[0].Storm, f.lanes[1].Storm = nil, nil; f.lines = append(f.lines, `{"type`) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := stormy()
			test.spoil(f)
			text := f.text()
			if strings.HasSuffix(text, "{\"type\n") {
				text = strings.TrimSuffix(text, "\n")
			}
			if p := f.check(t, text, f.mark(t))[test.promise]; p.OK || p.Skipped {
				t.Errorf("%s: not rejected: %+v", test.promise, p)
			}
		})
	}
}

// A line torn by a killed server is neither hidden nor held against the bus,
// and everything before it still is.
func TestATearIsTold(t *testing.T) {
	const fragment = `{"type":"message.sent","message":{"messageId":"msg-0005","text":"L02-000005`
	torn := func(f *forgery) string { return f.text() + fragment }
	stopped := func(f *forgery) {
		for lane := range f.lanes {
			f.call(lane+1, CallRecord{Verb: verbHeartbeat, Outcome: "GAIA_LOG_DAMAGED"})
			f.lanes[lane].Storm.Calls += 5
		}
	}
	f := stormy()
	stopped(f)
	got := f.check(t, torn(f), f.mark(t))
	for name, p := range got {
		if told := name == PromiseWholeLines || name == PromiseThrough; p.Skipped != told && name != PromiseNoStarving || !p.OK && !p.Skipped {
			t.Errorf("%+v", p)
		}
	}
	// However little there is of it.
	for _, n := range []int{1, 12, 24, len(fragment)} {
		f := stormy()
		stopped(f)
		if p := f.check(t, f.text()+fragment[:n], f.mark(t))[PromiseWholeLines]; !p.Skipped {
			t.Errorf("%d bytes of a killed call's record: %+v", n, p)
		}
	}
	// What no killed call can have begun, and what is torn too early, is nobody's.
	for name, test := range map[string]struct {
		fragment string
		spoil    func(f *forgery)
	}{
		"of another type than the missing record's": {`{"type":"message.acked","act`, func(*forgery) {}},
		"no record at all":                          {"\x00\x00", func(*forgery) {}},
		"with the mark of an acknowledged call":     {`{"type":"message.sent","message":{"text":"L01-000001 hello`, func(*forgery) {}},
		"of a call after whose death the bus acknowledged another": {fragment, func(f *forgery) {
			f.call(1, CallRecord{Verb: verbHeartbeat}, `{"type":"actor.heartbeat","actorId":"act-0002","note":"MARK"}`)
		}},
	} {
		f := stormy()
		test.spoil(f)
		stopped(f)
		if p := f.check(t, f.text()+test.fragment, f.mark(t))[PromiseWholeLines]; p.OK || p.Skipped {
			t.Errorf("torn %s: not rejected: %+v", name, p)
		}
	}
	for name, test := range map[string]struct {
		promise string
		spoil   func(f *forgery)
	}{
		"an acknowledged call missing":       {PromiseOnce, func(f *forgery) { f.lines = append(f.lines[:f.before:f.before], f.lines[f.before+1:]...) }},
		"a line before it that isn't JSON":   {PromiseWholeLines, func(f *forgery) { f.lines = append(f.lines, "{") }},
		"a lane that stopped without a word": {PromiseThrough, func(f *forgery) { c := &f.lanes[0].Calls; *c = (*c)[:len(*c)-1] }},
		"no call that the line can be of": {PromiseWholeLines, func(f *forgery) {
			f.lanes[1].Calls[5].Outcome, f.lanes[0].Calls[5].Outcome, f.lanes[0].Calls[10].Outcome = "GAIA_IO", "GAIA_IO", "GAIA_IO"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := stormy()
			stopped(f)
			test.spoil(f)
			if p := f.check(t, torn(f), f.mark(t))[test.promise]; p.OK || p.Skipped {
				t.Errorf("%s: not rejected: %+v", test.promise, p)
			}
		})
	}
}

// A torn log is replayed up to its tear, from a copy: the log stays as it is.
func TestTheLogBeforeATearIsReplayed(t *testing.T) {
	dir := t.TempDir()
	const text = "{\"type\":\"x\"}\n{\"ty"
	if err := os.WriteFile(filepath.Join(dir, logName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := &trial{TrialSpec: TrialSpec{Dir: dir, Work: t.TempDir()}, fault: fault{Kind: FaultKillStorm}}
	whole, err := tr.wholeLog()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(filepath.Join(whole, logName))
	if err != nil || string(copied) != "{\"type\":\"x\"}\n" {
		t.Errorf("%q %v", copied, err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, logName)); err != nil || string(kept) != text {
		t.Errorf("the log is %q; %v", kept, err)
	}
	tr.fault = fault{} // no death can have torn it: the bus is to say what it makes of it
	if got, err := tr.wholeLog(); err != nil || got != dir {
		t.Errorf("%q %v", got, err)
	}
}

func TestTheSeedDecidesWhenServersDie(t *testing.T) {
	lives := func(seed uint64, lane int) string {
		o := &order{Seed: seed, Lane: lane, Fault: fault{LifeNs: int64(stormLife)}}
		life := o.lifetimes()
		var all []time.Duration
		for range 200 {
			all = append(all, life())
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if lives(1, 1) != lives(1, 1) || lives(1, 1) == lives(2, 1) || lives(1, 1) == lives(1, 2) {
		t.Error("lives aren't the seed's and the lane's")
	}
}

func TestAKillerStrikesOnceOrNever(t *testing.T) {
	var none *killer
	none.spare()
	if none.struck() {
		t.Error("no killer struck")
	}
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	k := aim(p, time.Hour) // so long that it spares this test
	k.spare()
	k.spare()
	if k.struck() {
		t.Error("it struck although it was told to spare")
	}
}
