package harness

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaia/results"
)

func TestRealClientsAreTappedAndChecked(t *testing.T) {
	for manner, calls := range map[string]int64{"leaves": 25, "kills": 25} {
		t.Run(manner, func(t *testing.T) {
			spec := fakeSpec(t, 2, 25)
			spec.Client = `"` + spec.Self[0] + `" client {config} {name} ` + manner
			got, err := RunTrial(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if b := broken(got); b != nil {
				t.Error(b)
			}
			if got.Calls < 2*calls || got.Factors.Class != results.ClassScriptedModel || got.Wall <= 0 {
				t.Errorf("%d calls, class %q, wall %v", got.Calls, got.Factors.Class, got.Wall)
			}
			if manner == "leaves" && (len(got.Errors) > 0 || got.Servers[0].Version != "fake 7" || got.ServerCPU <= 0) {
				t.Errorf("errors %v, server %+v, CPU %v", got.Errors, got.Servers[0], got.ServerCPU)
			}
		})
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestClientThatMakesNoCallIsTold(t *testing.T) {
	spec := fakeSpec(t, 2, 25)
	spec.Client = `"` + spec.Self[0] + `" client {config} {name} idles`
	_, err := RunTrial(t.Context(), spec)
	var start *StartError
	if !errors.As(err, &start) || !strings.Contains(err.Error(), "made no call") || !strings.Contains(err.Error(), "no model today") {
		t.Errorf("%v; want a StartError that quotes the client", err)
	}
}

// A tapped forgery: one client's history and its log.
func tapped() *forgery {
	f := &forgery{lanes: []History{{Lane: 1, Tapped: true}}}
	call := func(c CallRecord, lines ...string) {
		c.Session = 1
		f.call(1, c, lines...)
		calls := f.lanes[0].Calls
		calls[len(calls)-1].Call = len(calls)
		calls[len(calls)-1].Actor = "act-0001"
	}
	call(CallRecord{Verb: verbRegister, Ref: "act-0001", Appended: []string{typeRegistered}}, `{"type":"actor.registered","ref":"act-0001","isNew":true}`)
	call(CallRecord{Verb: verbSend, MessageID: "msg-0001", CorrelationID: "cor-mine", Named: true, Digest: digest("hi"), Appended: []string{typeSent, typeDenied}},
		`{"type":"message.sent","message":{"messageId":"msg-0001","correlationId":"cor-mine","from":"act-0001","to":"act-0001","text":"hi"}}`,
		`{"type":"authority.denied","messageId":"msg-0001"}`)
	call(CallRecord{Verb: verbSend, MessageID: "msg-0001", CorrelationID: "cor-mine", Named: true, Digest: digest("hi")}) // the same key again
	call(CallRecord{Verb: verbInbox, Shown: []string{"msg-0001"}, Appended: []string{typePolled}}, `{"type":"inbox.polled","actorId":"act-0001","messageIds":["msg-0001"]}`)
	call(CallRecord{Verb: verbAck, MessageID: "msg-0001", Appended: []string{typeAcked}}, `{"type":"message.acked","actorId":"act-0001","messageId":"msg-0001","note":null}`)
	call(CallRecord{Verb: verbHeartbeat, Appended: []string{typeHeartbeat}}, `{"type":"actor.heartbeat","actorId":"act-0001","note":null}`)
	call(CallRecord{Verb: verbHandoff, Outcome: OutcomeAbandoned},
		`{"type":"message.sent","message":{"messageId":"msg-0002","correlationId":"cor-0001","from":"act-0001","to":"act-0001","text":"x"}}`,
		`{"type":"work.handed-off","messageId":"msg-0002","summary":"x"}`)
	f.lanes[0].Calls[6].Digest = digest("x")
	return f
}

func TestCheckerOfRealClientsRejectsForgeries(t *testing.T) {
	drop := func(f *forgery, part string) {
		f.lines = slices.DeleteFunc(f.lines, func(l string) bool { return strings.Contains(l, part) })
	}
	for name, test := range map[string]struct {
		promise string // empty: must be accepted
		spoil   func(f *forgery)
	}{
		"honest":                      {"", func(f *forgery) {}},
		"an abandoned call not there": {"", func(f *forgery) { drop(f, "msg-0002") }},
		"an acknowledged send lost":   {PromiseOnce, func(f *forgery) { drop(f, "cor-mine") }},
		"a denial lost":               {PromiseOnce, func(f *forgery) { drop(f, "authority.denied") }},
		"a poll lost":                 {PromiseOnce, func(f *forgery) { drop(f, "inbox.polled") }},
		"an ack twice":                {PromiseOnce, func(f *forgery) { f.lines = append(f.lines, f.lines[4]) }},
		"a beat twice":                {PromiseOnce, func(f *forgery) { f.lines = append(f.lines, f.lines[5]) }},
		"a second abandoned one": {PromiseOnce, func(f *forgery) {
			f.lines = append(f.lines, `{"type":"work.handed-off","messageId":"msg-0002","summary":"x"}`)
		}},
		"another lane's abandoned one": {PromiseOnce, func(f *forgery) {
			f.lanes = append(f.lanes, History{Lane: 2, Tapped: true, Calls: []CallRecord{{Lane: 2, Call: 1, Session: 2, Verb: verbHeartbeat, Outcome: OutcomeAbandoned}}})
			f.lines = append(f.lines, `{"type":"actor.heartbeat","actorId":"act-0001","note":null}`)
		}},
		"another body":         {PromiseOnce, func(f *forgery) { f.lines[1] = strings.Replace(f.lines[1], `"hi"`, `"ho"`, 1) }},
		"other messages shown": {PromiseOnce, func(f *forgery) { f.lanes[0].Calls[3].Shown = nil }},
		"a later call first":   {PromiseOrder, func(f *forgery) { f.lines[4], f.lines[5] = f.lines[5], f.lines[4] }},
		"a minted correlation twice": {PromiseIDs, func(f *forgery) {
			f.lanes[0].Calls[1].Named = false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tapped()
			test.spoil(f)
			before, err := markOf(strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			promises := f.check(t, f.text(), before)
			for _, p := range promises {
				if test.promise == "" && !p.OK && !p.Skipped {
					t.Errorf("%s: %s", p.Name, p.Detail)
				}
			}
			if test.promise != "" && promises[test.promise].OK {
				t.Errorf("not rejected: %s", promises[test.promise].Detail)
			}
		})
	}
}
