package harness

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaia/results"
)

// A forgery is a small honest log of two lanes with its histories, for tests
// to spoil. Calls follow one another, a microsecond long, ten apart.
type forgery struct {
	before int // lines that were there
	lines  []string
	lanes  []History
	clock  int64
}

func (f *forgery) call(lane int, c CallRecord, lines ...string) {
	h := &f.lanes[lane-1]
	c.Lane, c.Call = lane, len(h.Calls)
	if c.Call > 0 {
		c.Actor = fmt.Sprintf("act-%04d", lane+1)
	}
	if c.Outcome == "" {
		c.Outcome = OutcomeOK
	}
	f.clock += 10_000
	c.Intended, c.Start, c.End = f.clock, f.clock, f.clock+1_000
	h.Calls = append(h.Calls, c)
	for _, l := range lines {
		f.lines = append(f.lines, strings.ReplaceAll(l, "MARK", c.mark()))
	}
}

func honest() *forgery {
	f := &forgery{lanes: []History{{Lane: 1}, {Lane: 2}}}
	f.lines = []string{
		`{"type":"actor.registered","ref":"act-0001","name":"old","isNew":true,"declaredCapabilities":[]}`,
		`{"type":"message.sent","message":{"messageId":"msg-0001","correlationId":"cor-0007","from":"act-0001","to":"act-0001","text":"old"}}`,
		`{"type":"something.else","ref":5}`,
	}
	f.before = len(f.lines)
	f.call(1, CallRecord{Verb: verbRegister, Ref: "act-0002"}, `{"type":"actor.registered","ref":"act-0002","isNew":true,"declaredCapabilities":["MARK"]}`)
	f.call(2, CallRecord{Verb: verbRegister, Ref: "act-0003"}, `{"type":"actor.registered","ref":"act-0003","isNew":true,"declaredCapabilities":["MARK"]}`)
	f.call(1, CallRecord{Verb: verbSend, To: "act-0003", MessageID: "msg-0002", CorrelationID: "cor-0008", Digest: digest("L01-000001 hello")},
		`{"type":"message.sent","message":{"messageId":"msg-0002","correlationId":"cor-0008","from":"act-0002","to":"act-0003","text":"MARK hello"}}`)
	f.call(2, CallRecord{Verb: verbInbox, Shown: []string{"msg-0002"}}, `{"type":"inbox.polled","actorId":"act-0003","messageIds":["msg-0002"]}`)
	f.call(2, CallRecord{Verb: verbAck, Acked: "msg-0002", MessageID: "msg-0002"}, `{"type":"message.acked","actorId":"act-0003","messageId":"msg-0002","note":"MARK"}`)
	f.call(1, CallRecord{Verb: verbHeartbeat}, `{"type":"actor.heartbeat","actorId":"act-0002","note":"MARK"}`)
	f.call(2, CallRecord{Verb: verbHandoff, To: "act-0002", MessageID: "msg-0003", CorrelationID: "cor-0009", Digest: digest("L02-000003")},
		`{"type":"message.sent","message":{"messageId":"msg-0003","correlationId":"cor-0009","from":"act-0003","to":"act-0002","text":"MARK"}}`,
		`{"type":"work.handed-off","from":"act-0003","to":"act-0002","messageId":"msg-0003","summary":"MARK"}`)
	f.call(1, CallRecord{Verb: verbRegister, Ref: "act-0002"}, `{"type":"actor.registered","ref":"act-0002","isNew":false,"declaredCapabilities":["MARK"]}`)
	return f
}

func (f *forgery) text() string { return strings.Join(f.lines, "\n") + "\n" }

// check writes the log and returns the promises by name.
func (f *forgery) check(t *testing.T, text string, before LogMark) map[string]results.Promise {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	promises, err := Check(dir, before, f.lanes)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]results.Promise{}
	for _, p := range promises {
		m[p.Name] = p
	}
	return m
}

func (f *forgery) mark(t *testing.T) LogMark {
	t.Helper()
	m, err := markOf(strings.NewReader(strings.Join(honest().lines[:f.before], "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCheckerAcceptsAnHonestLog(t *testing.T) {
	f := honest()
	for name, p := range f.check(t, f.text(), f.mark(t)) {
		if !p.OK {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
}

func TestCheckerAcceptsWhatMayOrMayNotBeThere(t *testing.T) {
	for name, add := range map[string]func(f *forgery){
		"a victim's call in flight, in the log": func(f *forgery) {
			f.lanes[1].Victim = true
			f.lines = append(f.lines, `{"type":"actor.heartbeat","actorId":"act-0003","note":"L02-000004"}`)
		},
		"a victim's poll in flight, in the log": func(f *forgery) {
			f.lanes[1].Victim = true
			f.lines = append(f.lines, `{"type":"inbox.polled","actorId":"act-0003","messageIds":[]}`)
		},
		"a victim's call in flight, not in the log": func(f *forgery) { f.lanes[1].Victim = true },
		"a victim's call without a reply": func(f *forgery) {
			f.lanes[1].Victim = true
			f.call(2, CallRecord{Verb: verbHeartbeat, Outcome: OutcomeTransport})
		},
		"a call that failed closed, not in the log": func(f *forgery) { f.call(1, CallRecord{Verb: verbInbox, Outcome: "GAIA_LOCK_TIMEOUT"}) },
		"a refusal, recorded": func(f *forgery) {
			f.call(1, CallRecord{Verb: verbSend, Outcome: OutcomeRefused}, `{"type":"command.rejected","command":"send","reason":"no"}`)
		},
		"calls at once, in either order": func(f *forgery) {
			f.call(1, CallRecord{Verb: verbHeartbeat}, `{"type":"actor.heartbeat","actorId":"act-0002","note":"MARK"}`)
			f.call(2, CallRecord{Verb: verbHeartbeat}, `{"type":"actor.heartbeat","actorId":"act-0003","note":"MARK"}`)
			last := f.lanes[1].Calls
			last[len(last)-1].Start -= 10_000
			n := len(f.lines)
			f.lines[n-1], f.lines[n-2] = f.lines[n-2], f.lines[n-1]
		},
		"an unsure poll passed over": func(f *forgery) {
			f.call(1, CallRecord{Verb: verbInbox, Outcome: OutcomeUnknown})
			f.call(1, CallRecord{Verb: verbInbox, Shown: []string{"msg-0003"}}, `{"type":"inbox.polled","actorId":"act-0002","messageIds":["msg-0003"]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := honest()
			add(f)
			for name, p := range f.check(t, f.text(), f.mark(t)) {
				if !p.OK {
					t.Errorf("%s: %s", name, p.Detail)
				}
			}
		})
	}
}

// Each forgery must be rejected by the promise it breaks.
func TestCheckerRejectsForgeries(t *testing.T) {
	swap := func(f *forgery, old, new string) {
		for i, l := range f.lines[f.before:] {
			if strings.Contains(l, old) {
				f.lines[f.before+i] = strings.Replace(l, old, new, 1)
				return
			}
		}
		panic("no line with " + old)
	}
	drop := func(f *forgery, part string) {
		i := slices.IndexFunc(f.lines, func(l string) bool { return strings.Contains(l, part) })
		f.lines = slices.Delete(f.lines, i, i+1)
	}
	last := func(f *forgery, lane int) *CallRecord { c := f.lanes[lane-1].Calls; return &c[len(c)-1] }
	add := func(line string) func(f *forgery) { return func(f *forgery) { f.lines = append(f.lines, line) } }
	type test struct {
		promise string
		spoil   func(f *forgery)
	}
	tests := map[string]test{
		"a blank line":                  {PromiseWholeLines, add("")},
		"a line that isn't JSON":        {PromiseWholeLines, add("{")},
		"an array":                      {PromiseWholeLines, add("[]")},
		"a number":                      {PromiseWholeLines, add("5")},
		"a record without a type":       {PromiseWholeLines, add(`{"at":"x"}`)},
		"a type that is no string":      {PromiseWholeLines, add(`{"type":5}`)},
		"a member twice":                {PromiseWholeLines, add(`{"type":"x","type":"x"}`)},
		"invalid UTF-8":                 {PromiseWholeLines, add("{\"type\":\"\xff\"}")},
		"two objects on a line":         {PromiseWholeLines, add(`{"type":"x"}{"type":"x"}`)},
		"a carriage return":             {PromiseWholeLines, add("{\"type\":\"x\"}\r")},
		"a space at the end":            {PromiseWholeLines, add(`{"type":"x"} `)},
		"NULs":                          {PromiseWholeLines, add("\x00\x00")},
		"a BOM":                         {PromiseWholeLines, func(f *forgery) { f.lines[0] = "\ufeff" + f.lines[0] }},
		"a known type, a member wrong":  {PromiseWholeLines, func(f *forgery) { swap(f, `"messageIds":["msg-0002"]`, `"messageIds":"msg-0002"`) }},
		"an old record edited":          {PromiseAppendOnly, func(f *forgery) { f.lines[1] = strings.Replace(f.lines[1], `"old"`, `"new"`, 1) }},
		"an old record gone":            {PromiseAppendOnly, func(f *forgery) { f.lines = f.lines[1:] }},
		"an actor's id skipped":         {PromiseIDs, func(f *forgery) { swap(f, `"ref":"act-0003","isNew":true`, `"ref":"act-0004","isNew":true`) }},
		"an actor's id repeated":        {PromiseIDs, func(f *forgery) { swap(f, `"ref":"act-0003","isNew":true`, `"ref":"act-0002","isNew":true`) }},
		"an update of nobody":           {PromiseIDs, func(f *forgery) { swap(f, `"ref":"act-0002","isNew":false`, `"ref":"act-0009","isNew":false`) }},
		"a message's id repeated":       {PromiseIDs, func(f *forgery) { swap(f, `"messageId":"msg-0003"`, `"messageId":"msg-0002"`) }},
		"a message's id skipped":        {PromiseIDs, func(f *forgery) { swap(f, `"messageId":"msg-0003"`, `"messageId":"msg-0004"`) }},
		"a message's id padded":         {PromiseIDs, func(f *forgery) { swap(f, `"messageId":"msg-0003"`, `"messageId":"msg-00003"`) }},
		"a correlation repeated":        {PromiseIDs, func(f *forgery) { swap(f, "cor-0009", "cor-0008") }},
		"an old correlation again":      {PromiseIDs, func(f *forgery) { swap(f, "cor-0009", "cor-0007") }},
		"a correlation going back":      {PromiseIDs, func(f *forgery) { swap(f, "cor-0009", "cor-0002") }},
		"a correlation of some kind":    {PromiseIDs, func(f *forgery) { swap(f, "cor-0009", "cor-x") }},
		"a reply that never came":       {PromiseAnswered, func(f *forgery) { last(f, 1).Outcome = OutcomeNoReply }},
		"a connection that broke":       {PromiseAnswered, func(f *forgery) { last(f, 1).Outcome = OutcomeTransport }},
		"an error in place of a result": {PromiseAnswered, func(f *forgery) { last(f, 1).Outcome = OutcomeRPC }},
		"a reply that says nothing":     {PromiseAnswered, func(f *forgery) { last(f, 1).Outcome = OutcomeMalformed }},
		"an acknowledged send lost":     {PromiseOnce, func(f *forgery) { drop(f, "hello") }},
		"an acknowledged beat lost":     {PromiseOnce, func(f *forgery) { drop(f, "actor.heartbeat") }},
		"an acknowledged poll lost":     {PromiseOnce, func(f *forgery) { drop(f, "inbox.polled") }},
		"an acknowledged ack lost":      {PromiseOnce, func(f *forgery) { drop(f, "message.acked") }},
		"half a handoff":                {PromiseOnce, func(f *forgery) { drop(f, "work.handed-off") }},
		"the other half":                {PromiseOnce, func(f *forgery) { drop(f, `"messageId":"msg-0003","correlationId"`) }},
		"a beat written twice":          {PromiseOnce, add(`{"type":"actor.heartbeat","actorId":"act-0002","note":"L01-000002"}`)},
		"a poll written twice":          {PromiseOnce, add(`{"type":"inbox.polled","actorId":"act-0003","messageIds":["msg-0002"]}`)},
		"a beat nobody made":            {PromiseOnce, add(`{"type":"actor.heartbeat","actorId":"act-0002","note":"hi"}`)},
		"a beat without a note":         {PromiseOnce, add(`{"type":"actor.heartbeat","actorId":"act-0002","note":null}`)},
		"a record of another type":      {PromiseOnce, add(`{"type":"surprise"}`)},
		"a denial nobody earned":        {PromiseOnce, add(`{"type":"authority.denied","messageId":"msg-0002"}`)},
		"a rejection nobody heard of":   {PromiseOnce, add(`{"type":"command.rejected","command":"send","reason":"no"}`)},
		"a refusal unrecorded":          {PromiseOnce, func(f *forgery) { f.call(1, CallRecord{Verb: verbSend, Outcome: OutcomeRefused}) }},
		"failed closed and yet written": {PromiseOnce, func(f *forgery) { last(f, 1).Outcome = "GAIA_LOCK_TIMEOUT" }},
		"another id in the reply":       {PromiseOnce, func(f *forgery) { f.lanes[0].Calls[1].MessageID = "msg-0009" }},
		"another thread in the reply":   {PromiseOnce, func(f *forgery) { f.lanes[0].Calls[1].CorrelationID = "cor-0010" }},
		"another ref in the reply":      {PromiseOnce, func(f *forgery) { last(f, 1).Ref = "act-0003" }},
		"a body cut short":              {PromiseOnce, func(f *forgery) { swap(f, "hello", "hell") }},
		"a message to another":          {PromiseOnce, func(f *forgery) { swap(f, `"to":"act-0003"`, `"to":"act-0001"`) }},
		"a message by another":          {PromiseOnce, func(f *forgery) { swap(f, `"from":"act-0002"`, `"from":"act-0003"`) }},
		"other messages shown":          {PromiseOnce, func(f *forgery) { f.lanes[1].Calls[1].Shown = nil }},
		"another message acked":         {PromiseOnce, func(f *forgery) { swap(f, `"messageId":"msg-0002","note"`, `"messageId":"msg-0001","note"`) }},
		"a beat for another": {PromiseOnce, func(f *forgery) {
			swap(f, `"actor.heartbeat","actorId":"act-0002"`, `"actor.heartbeat","actorId":"act-0003"`)
		}},
		"a new actor for an old one": {PromiseOnce, func(f *forgery) { swap(f, `"isNew":false`, `"isNew":true`) }},
		"one call as another":        {PromiseOnce, func(f *forgery) { f.lanes[0].Calls[2].Verb = verbSend }},
		"a history with a hole":      {PromiseOnce, func(f *forgery) { f.lanes[0].Calls = slices.Delete(f.lanes[0].Calls, 2, 3) }},
		"a victim's two last calls": {PromiseOnce, func(f *forgery) {
			f.lanes[1].Victim = true
			f.lines = append(f.lines, `{"type":"actor.heartbeat","actorId":"act-0003","note":"L02-000004"}`, `{"type":"actor.heartbeat","actorId":"act-0003","note":"L02-000005"}`)
		}},
		"a handoff torn apart": {PromiseOnce, func(f *forgery) {
			n := len(f.lines)
			f.lines[n-1], f.lines[n-2] = f.lines[n-2], f.lines[n-1]
		}},
		"a later call first": {PromiseOrder, func(f *forgery) {
			i := slices.IndexFunc(f.lines, func(l string) bool { return strings.Contains(l, "message.acked") })
			f.lines[i], f.lines[i+1] = f.lines[i+1], f.lines[i]
		}},
		"a much later call first": {PromiseOrder, func(f *forgery) {
			i := slices.IndexFunc(f.lines, func(l string) bool { return strings.Contains(l, "inbox.polled") })
			l := f.lines[i]
			f.lines = append(slices.Delete(f.lines, i, i+1), l)
		}},
		"a lane left behind": {PromiseNoStarving, func(f *forgery) {
			for range 20 {
				f.call(1, CallRecord{Verb: verbInbox, Outcome: "GAIA_LOCK_TIMEOUT"})
			}
			last(f, 2).End = f.clock * 2
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) {
			f := honest()
			tests[name].spoil(f)
			if p := f.check(t, f.text(), f.mark(t))[tests[name].promise]; p.OK {
				t.Errorf("%s: not rejected: %s", p.Name, p.Detail)
			} else if p.Detail == "" || strings.ContainsAny(p.Detail, "\n\x00\ufeff") {
				t.Errorf("%s: detail %q", p.Name, p.Detail)
			}
		})
	}
	t.Run("a last line that doesn't end", func(t *testing.T) {
		f := honest()
		if p := f.check(t, strings.TrimSuffix(f.text(), "\n"), f.mark(t))[PromiseWholeLines]; p.OK {
			t.Error("not rejected")
		}
	})
	t.Run("a log that is gone", func(t *testing.T) {
		f := honest()
		promises, err := Check(t.TempDir(), f.mark(t), f.lanes)
		if err != nil || promises[1].Name != PromiseAppendOnly || promises[1].OK {
			t.Errorf("not rejected: %v %v", promises, err)
		}
	})
}

func TestLocksLeftBehindAreSeen(t *testing.T) {
	for _, name := range []string{"events.lock", "events.lock.1234", ".events.lock.tmp"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := lockLeft(dir); err != nil || p.OK {
			t.Errorf("%s: not seen: %+v %v", name, p, err)
		}
	}
	if p, err := lockLeft(t.TempDir()); err != nil || !p.OK {
		t.Errorf("an empty folder: %+v %v", p, err)
	}
}

func TestReplayCheckRejectsWhatDiffers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logName), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{envDataDir + "=" + dir}
	for _, test := range []struct {
		command string
		ok      bool
	}{{"state", true}, {"print-pid", false}, {"print-nothing", false}, {"no-such-command", false}} {
		p := CheckReplay(t.Context(), []string{self, test.command}, env, time.Minute)
		if p.OK != test.ok || p.Detail == "" {
			t.Errorf("%s: %+v; want %v", test.command, p, test.ok)
		}
	}
}
