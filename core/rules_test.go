package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const someInstant = "2026-09-15T23:41:09.954Z"

// bus is a state with two actors, gaia and builder, and the calls made on it.
type bus struct {
	t *testing.T
	s *State
}

func newBus(t *testing.T) bus {
	b := bus{t, NewState()}
	b.ok("register", `{"actorId":"gaia"}`)
	b.ok("register", `{"actorId":"builder"}`)
	return b
}

func (b bus) call(verb, args string) Decision {
	return Commit(b.s, Command{verb, someInstant, jsontext.Value(args)})
}

func (b bus) ok(verb, args string) Decision {
	b.t.Helper()
	d := b.call(verb, args)
	if d.Refused() {
		b.t.Fatalf("%s %s: refused: %s", verb, args, d.Refusal)
	}
	return d
}

// refused wants the call refused for a reason that holds the text, and one
// command.rejected that says so and nothing else.
func (b bus) refused(verb, args, reason string) {
	b.t.Helper()
	d := b.call(verb, args)
	if !d.Refused() || !strings.Contains(d.Refusal, reason) {
		b.t.Errorf("%s %s: refusal %q, want one with %q", verb, args, d.Refusal, reason)
		return
	}
	r, ok := d.Events[0].(*CommandRejected)
	if len(d.Events) != 1 || !ok || r.Reason != d.Refusal || d.Result != nil {
		b.t.Errorf("%s %s: appended %v, want one command.rejected", verb, args, d.Events)
	}
	if strings.ContainsAny(d.Refusal, "\n\r") && !strings.ContainsAny(args, `\`) {
		b.t.Errorf("%s: a refusal of several lines: %q", verb, d.Refusal)
	}
}

func sent(d Decision) *Message { return &d.Events[0].(*MessageSent).Message }

func TestAWrongTypeOrNameOfAnArgumentIsRefusedAndRecorded(t *testing.T) {
	wrong := map[ArgType][]string{
		StringArg:  {`7`, `true`, `[]`, `{}`, `["x"]`},
		BoolArg:    {`"true"`, `1`, `[]`},
		StringsArg: {`"approve"`, `7`, `{}`, `[7]`, `["draft",null]`, `[["draft"]]`},
	}
	for _, spec := range VerbSpecs() {
		for _, arg := range spec.Args {
			for _, v := range wrong[arg.Type] {
				newBus(t).refused(string(spec.Verb), fmt.Sprintf(`{%q:%s}`, arg.Name, v), arg.Name)
			}
		}
		for _, unknown := range []string{"requested_authority", "ActorId", "at", "type", ""} {
			newBus(t).refused(string(spec.Verb), fmt.Sprintf(`{%q:"x"}`, unknown), "no argument")
		}
	}
}

func TestArgumentsThatAreNotOneJSONObjectAreRefused(t *testing.T) {
	for _, args := range []string{`7`, `[]`, `"x"`, `{`, `{"actorId":"a"} {}`, `{"actorId":"a","actorId":"b"}`, "{\"actorId\":\"\xff\"}", `{"actorId":"\ud800"}`, `{"actorId":"\udc00\ud800"}`} {
		newBus(t).refused("register", args, "arguments")
	}
}

func TestNullAndBlankOptionalStringsAreAbsence(t *testing.T) {
	b := newBus(t)
	plain := `{"from":"gaia","to":"builder","text":"hi"`
	for _, optional := range []string{``, `,"kind":null,"correlationId":null,"replyTo":null,"expectsReply":null,"requestedAuthority":null,"idempotencyKey":null`,
		`,"kind":" ","correlationId":"\t","replyTo":"\u00a0","idempotencyKey":""`} {
		m := sent(b.ok("send", plain+optional+`}`))
		if m.Kind != "note" || m.ReplyTo != "act-0001" || !strings.HasPrefix(m.CorrelationID, "cor-0") || m.ExpectsReply {
			t.Errorf("%s: %+v", optional, m)
		}
	}
	for _, args := range []string{``, `null`, `{}`, ` `} {
		b.refused("inbox", args, "actorId: missing")
	}
	b.refused("send", `{"from":"gaia","to":"builder","text":null}`, "text: missing")
	b.refused("send", `{"from":"gaia","to":"builder","text":" \ufeff\u2028"}`, "text: missing")
}

func TestAnyOtherVerbIsRefusedAndRecordedAsAsked(t *testing.T) {
	for _, verb := range []string{"merge", "approve", "Register", "register ", "", UnknownVerb, "__proto__"} {
		b := newBus(t)
		b.refused(verb, `{"actorId":"gaia"}`, "no verb")
		d := b.call(verb, `{}`)
		if got := d.Events[0].(*CommandRejected).Command; got != verb {
			t.Errorf("recorded as %q, asked as %q", got, verb)
		}
	}
}

func TestARefusalHoldsAtMost200CharactersOfTheCaller(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for verb, args := range map[string]string{
		long: `{}`, "inbox": `{"actorId":"` + long + `"}`, "ack": `{"actorId":"gaia","messageId":"` + long + `"}`, "register": `{"` + long + `":1}`,
		"send": `{"from":"gaia","to":"builder","text":"x","correlationId":"cor-` + strings.Repeat("9", 5000) + `"}`, "heartbeat": `{"` + long + `":1,"` + long + `":1}`,
	} {
		b := newBus(t)
		d := b.call(verb, args)
		if !d.Refused() {
			t.Fatalf("%.20s was not refused", verb)
		}
		line := string(AppendEvent(nil, d.Events[0]))
		if n := max(strings.Count(line, "é"), strings.Count(line, "9")); n > 2*200+20 || len(line) > 2000 {
			t.Errorf("%.20s: a record of %d bytes", verb, len(line))
		}
	}
}

func TestNamesAreTrimmedAsJavaScriptDoes(t *testing.T) {
	for in, want := range map[string]string{"\ufeff a \u00a0": "a", "\u2028a\u3000": "a", "\u0085a\u0085": "\u0085a\u0085", "\u200ba": "\u200ba", "\v\fa\r\n": "a", "\u180ea": "\u180ea"} {
		if got := trim(in); got != want {
			t.Errorf("trim(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestARefShapedNameIsRefused(t *testing.T) {
	for name, refused := range map[string]bool{"act-1": true, "act-0001": true, " act-99999 ": true, "act-": false, "act-x": false, "ACT-0001": false, "act-1x": false} {
		d := newBus(t).call("register", fmt.Sprintf(`{"actorId":%q}`, name))
		if d.Refused() != refused {
			t.Errorf("%q: refused %v, want %v", name, d.Refused(), refused)
		}
	}
}

func TestRegisterWithoutRefMintsAndWithRefUpdatesInPlace(t *testing.T) {
	b := newBus(t)
	if r := b.ok("register", `{"actorId":"builder"}`).Result.(*RegisterResult); r.Ref != "act-0003" || len(r.NameSharedWith) != 1 {
		t.Errorf("the same name again: %+v", r)
	}
	b.ok("register", `{"actorId":"mason","ref":"act-0003","kind":"codex","capabilities":["x"]}`)
	b.ok("heartbeat", `{"actorId":"builder"}`) // one bearer again
	d := b.ok("register", `{"actorId":"mason","ref":"act-0003"}`)
	if e := d.Events[0].(*ActorRegistered); e.IsNew || e.Kind != "unknown" || len(e.DeclaredCapabilities) != 0 {
		t.Errorf("what is absent wasn't replaced: %+v", e)
	}
	b.ok("register", `{"actorId":"smith","ref":"act-0003"}`)
	b.refused("heartbeat", `{"actorId":"mason"}`, `no actor "mason"`)
	b.refused("register", `{"actorId":"x","ref":"act-0099"}`, "never minted")
	b.refused("register", `{"actorId":"x","ref":"smith"}`, "never minted")
}

func TestCandidatesStandInTheOrderTheyTookTheName(t *testing.T) {
	b := newBus(t)
	b.ok("register", `{"actorId":"builder"}`)
	b.ok("register", `{"actorId":"away","ref":"act-0002"}`)
	b.ok("register", `{"actorId":"builder","ref":"act-0002"}`)
	b.refused("send", `{"from":"gaia","to":"builder","text":"x"}`, `to: ambiguous actor name "builder" — 2 actors share it; address by ref: act-0003, act-0002`)
}

func TestAddressesAreResolvedFromThenToThenReplyTo(t *testing.T) {
	b := newBus(t)
	b.refused("send", `{"from":"x","to":"y","replyTo":"z","text":"t"}`, "from:")
	b.refused("send", `{"from":"gaia","to":"y","replyTo":"z","text":"t"}`, "to:")
	b.refused("send", `{"from":"gaia","to":"builder","replyTo":"z","text":"t"}`, "replyTo:")
}

func TestClaimedCorrelationIdsKeepTheirSpellingAndMoveTheIssuer(t *testing.T) {
	send := func(cor string) string {
		return fmt.Sprintf(`{"from":"gaia","to":"builder","text":"t","correlationId":%q}`, cor)
	}
	b := newBus(t)
	for _, cor := range []string{"cor-7", "cor-0000000000000042", "thread", "COR-9", "cor-1e3", "cor--1", "cor-", "cor-0"} {
		if got := sent(b.ok("send", send(cor))).CorrelationID; got != cor {
			t.Errorf("%q became %q", cor, got)
		}
	}
	if got := sent(b.ok("send", send(""))).CorrelationID; got != "cor-0043" {
		t.Errorf("minted %q after 42", got)
	}
	b.ok("send", send("cor-1000043"))
	for _, cor := range []string{"cor-2000044", "cor-9007199254740991", "cor-9007199254740992", "cor-00000000000000001", "cor-99999999999999999999"} {
		b.refused("send", send(cor), "correlationId")
	}
}

func TestAnExhaustedIssuerRefusesToMint(t *testing.T) {
	b := newBus(t)
	b.s.lastCorrelation = CorrelationCeiling - 1
	b.refused("send", `{"from":"gaia","to":"builder","text":"t"}`, "exhausted")
	b.ok("send", `{"from":"gaia","to":"builder","text":"t","correlationId":"my-thread"}`)
	if r := b.s.Correlation(); r.OK || r.Runway != 1 {
		t.Errorf("%+v", r)
	}
	b.s.lastCorrelation = CorrelationCeiling - ClaimWindow
	if r := b.s.Correlation(); !r.OK {
		t.Errorf("a whole window of runway: %+v", r)
	}
}

func TestDeniedAuthorityIsDeliveredAndRecordedLast(t *testing.T) {
	b := newBus(t)
	d := b.ok("handoff", `{"from":"gaia","to":"builder","summary":"s","requestedAuthority":["draft","approve","draft","Draft"," read "]}`)
	var types []string
	for _, e := range d.Events {
		types = append(types, e.EventType())
	}
	if got := strings.Join(types, " "); got != "message.sent work.handed-off authority.denied" {
		t.Errorf("appended %s", got)
	}
	a := sent(d).Authority
	if got := fmt.Sprint(a.Granted, a.Denied, a.Effect); got != "[draft draft read] [approve Draft]none" {
		t.Errorf("authority %s", got)
	}
	b.refused("send", `{"from":"gaia","to":"builder","text":"t","requestedAuthority":["draft"," "]}`, "requestedAuthority")
}

func TestOnlyTheAddresseeAcksAndAgainIfItLikes(t *testing.T) {
	b := newBus(t)
	b.ok("send", `{"from":"gaia","to":"builder","text":"t"}`)
	b.refused("ack", `{"actorId":"gaia","messageId":"msg-0001"}`, "addressee")
	b.refused("ack", `{"actorId":"builder","messageId":"msg-1"}`, "no message")
	b.ok("ack", `{"actorId":"builder","messageId":"msg-0001","note":" first "}`)
	b.ok("ack", `{"actorId":"builder","messageId":"msg-0001","note":"last"}`)
	if m := b.s.Snapshot().Messages[0]; *m.AckNote != "last" {
		t.Errorf("the last ack's note doesn't stand: %q", *m.AckNote)
	}
	if p := b.ok("inbox", `{"actorId":"builder"}`).Result.(*InboxResult).Pending; len(p) != 0 {
		t.Errorf("an acknowledged message still waits: %v", p)
	}
}

func TestAnInboxIsPagedAndShowsEachMessageOnce(t *testing.T) {
	b := newBus(t)
	body := strings.Repeat("x", 3000)
	for range 40 {
		b.ok("send", `{"from":"gaia","to":"builder","text":"`+body+`"}`)
	}
	b.ok("send", `{"from":"gaia","to":"builder","text":"`+strings.Repeat("y", 200_000)+`"}`)
	var seen []string
	after := ""
	for {
		d := b.ok("inbox", fmt.Sprintf(`{"actorId":"builder","after":%q}`, after))
		r := d.Result.(*InboxResult)
		if len(r.Pending) == 0 {
			t.Fatal("an empty page that isn't the last")
		}
		if n := len(appendJSON(nil, r.Pending)); n > InboxPageBytes && len(r.Pending) > 1 {
			t.Errorf("a page of %d bytes", n)
		}
		shown := d.Events[0].(*InboxPolled).MessageIDs
		for i, m := range r.Pending {
			if m.MessageID != shown[i] || m.DeliveredAt != nil {
				t.Errorf("shown %s, recorded %s, delivered before: %v", m.MessageID, shown[i], m.DeliveredAt)
			}
		}
		seen = append(seen, shown...)
		if r.Remaining+len(seen) != 41 {
			t.Fatalf("%d seen and %d remaining of 41", len(seen), r.Remaining)
		}
		if after = r.Next; after == "" {
			break
		}
	}
	if len(seen) != 41 || seen[40] != "msg-0041" {
		t.Errorf("saw %d: %v", len(seen), seen)
	}
	b.refused("inbox", `{"actorId":"builder","after":"msg-9999"}`, "after")
	if raw := string(AppendResult(nil, b.ok("inbox", `{"actorId":"gaia"}`).Result)); raw != `{"actorId":"act-0001","pending":[]}` {
		t.Errorf("an empty inbox: %s", raw)
	}
}

// A page is as full as its bound allows and no byte fuller.
func TestAnInboxPagesBoundIsExact(t *testing.T) {
	sizes := func(over int) int {
		b := newBus(t)
		b.ok("send", `{"from":"gaia","to":"builder","text":"x"}`)
		each := len(appendJSON(nil, b.s.message(0))) - len("x")
		b = newBus(t)
		text := InboxPageBytes - 2*each - len("[,]") + over
		for _, n := range []int{text / 2, text - text/2} {
			b.ok("send", `{"from":"gaia","to":"builder","text":"`+strings.Repeat("x", n)+`"}`)
		}
		r := b.ok("inbox", `{"actorId":"builder"}`).Result.(*InboxResult)
		if n := len(appendJSON(nil, r.Pending)); over == 0 && n != InboxPageBytes {
			t.Errorf("a page of %d bytes", n)
		}
		return len(r.Pending)
	}
	if fits, over := sizes(0), sizes(1); fits != 2 || over != 1 {
		t.Errorf("%d messages of just the bound on a page, %d of a byte more", fits, over)
	}
}

// Ids that somebody forged past the ceiling change no counter, and at the
// ceiling the issuer refuses to mint an id that it could not read back.
func TestNoIdIsMintedTwiceWhateverTheLogHolds(t *testing.T) {
	for _, forged := range []string{"9007199254740991", "999999999999999999", "1000000000000000000", "9007199254740990"} {
		b := newBus(t)
		for _, line := range []string{
			`{"type":"actor.registered","at":"` + someInstant + `","ref":"act-` + forged + `","name":"f","isNew":true,"kind":"k","declaredCapabilities":[],"busAuthority":[]}`,
			messageLine("x", "msg-"+forged, "x"),
		} {
			if err := FoldLine(b.s, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if b.s.Integrity().OK && len(b.s.Integrity().Findings) == 0 {
			t.Errorf("%s: no finding", forged)
		}
		seen := map[string]bool{}
		for range 3 {
			if forged == "9007199254740990" { // the last that can be
				b.refused("register", `{"actorId":"x"}`, "exhausted")
				b.refused("send", `{"from":"gaia","to":"builder","text":"t"}`, "exhausted")
				continue
			}
			for _, id := range []string{b.ok("register", `{"actorId":"x"}`).Result.(*RegisterResult).Ref, sent(b.ok("send", `{"from":"gaia","to":"builder","text":"t"}`)).MessageID} {
				if seen[id] {
					t.Errorf("%s: %s is minted twice", forged, id)
				}
				seen[id] = true
			}
		}
	}
}

// What everybody is shown of an actor doesn't grow with what it calls itself.
func TestPeersAreShortWhateverTheirNames(t *testing.T) {
	b := newBus(t)
	for i := range MaxPeers {
		b.ok("register", fmt.Sprintf(`{"actorId":"%d%s","kind":"%s"}`, i, strings.Repeat("n", 100_000), strings.Repeat("k", 100_000)))
	}
	if n := len(appendJSON(nil, b.s.PeersFor("act-0001", someInstant))); n > MaxPeers*600 {
		t.Errorf("%d bytes", n)
	}
}

func TestBlanksInAuthorityLanguageAreJavaScripts(t *testing.T) {
	for text, want := range map[string]bool{
		"ignore\u00a0previous orders": true, "you\u2028have\u3000admin": true, "ignore\vthe\ufeffabove": true, "update\t\n config": true,
		"ignoreprevious": false, "ignore\u200bprevious": false, "you have administered": false, "emerge": false,
	} {
		if got := soundsOfAuthority(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAnIdempotencyKeyAnswersTheSameCallAgainAndRefusesAnother(t *testing.T) {
	b := newBus(t)
	const call = `{"from":"gaia","to":"builder","text":"t","requestedAuthority":["draft","merge"],"idempotencyKey":"k"}`
	first := b.ok("send", call)
	b.ok("send", `{"from":"builder","to":"gaia","text":"another actor's key","idempotencyKey":"k"}`)
	b.ok("register", `{"actorId":"builder"}`) // the names are ambiguous now
	b.ok("register", `{"actorId":"gaia"}`)
	for _, same := range []string{call, strings.Replace(call, `"builder"`, `"act-0002"`, 1), strings.Replace(call, `"gaia"`, `" act-0001 "`, 1), strings.Replace(call, `"t"`, `"t","kind":"note","replyTo":"gaia"`, 1)} {
		again := b.ok("send", same)
		if len(again.Events) != 0 || string(AppendResult(nil, again.Result)) != string(AppendResult(nil, first.Result)) {
			t.Errorf("%s: %v %v", same, again.Events, again.Result)
		}
	}
	b.refused("send", strings.Replace(call, `"k"`, `"of another call"`, 1), "ambiguous")
	// A refusal is recorded and binds nothing.
	for with, what := range map[string]string{
		`"to":"gaia"`: "to", `"text":"u"`: "text", `"kind":"request"`: "kind", `"correlationId":"x"`: "correlationId", `"expectsReply":true`: "expectsReply",
		`"requestedAuthority":["draft"]`: "requestedAuthority", `"replyTo":"act-0002"`: "replyTo",
	} {
		args := map[string]string{"from": `"gaia"`, "to": `"builder"`, "text": `"t"`, "requestedAuthority": `["draft","merge"]`, "idempotencyKey": `"k"`}
		name, v, _ := strings.Cut(with, ":")
		args[strings.Trim(name, `"`)] = v
		var members []string
		for n, v := range args {
			members = append(members, fmt.Sprintf("%q:%s", n, v))
		}
		b.refused("send", "{"+strings.Join(members, ",")+"}", what+" differs")
	}
	b.refused("handoff", `{"from":"gaia","to":"builder","summary":"t","requestedAuthority":["draft","merge"],"idempotencyKey":"k"}`, "verb differs")
	b.refused("send", `{"from":"act-0001","to":"act-0002","text":"t","idempotencyKey":"`+strings.Repeat("k", 129)+`"}`, "128")
	b.ok("send", `{"from":"act-0001","to":"act-0002","text":"t","idempotencyKey":"`+strings.Repeat("k", 128)+`"}`)
	b.refused("send", `{"from":"act-0001","to":"act-0002","text":"t","idempotencyKey":7}`, "idempotencyKey")
	// The key survives a replay from bytes.
	again := NewState()
	for _, e := range append(newBus(t).events(), first.Events...) {
		if err := FoldLine(again, AppendEvent(nil, e)); err != nil {
			t.Fatal(err)
		}
	}
	if d := Decide(again, Command{"send", someInstant, jsontext.Value(call)}); len(d.Events) != 0 || d.Refused() {
		t.Errorf("after a replay: %+v", d)
	}
}

// events are the two registrations that newBus made.
func (b bus) events() []Event {
	other := NewState()
	return append(Commit(other, Command{"register", someInstant, jsontext.Value(`{"actorId":"gaia"}`)}).Events,
		Commit(other, Command{"register", someInstant, jsontext.Value(`{"actorId":"builder"}`)}).Events...)
}

func TestStatusFollowsTheNewestEventAndSendingIsNotBeingSeen(t *testing.T) {
	b := newBus(t)
	at := func(instant, verb, args string) { Commit(b.s, Command{verb, instant, jsontext.Value(args)}) }
	status := func() string { return b.s.Actors()[0].Status + " " + b.s.Actors()[1].Status }
	at("2026-09-15T23:41:39.954Z", "heartbeat", `{"actorId":"builder"}`)
	if got := status(); got != "online online" {
		t.Errorf("at exactly 30 s: %s", got)
	}
	at("2026-09-15T23:41:39.955Z", "send", `{"from":"gaia","to":"builder","text":"t"}`)
	if got := status(); got != "stale online" {
		t.Errorf("past 30 s, having sent: %s", got)
	}
	if p := b.s.PeersFor("act-0002", "2026-09-15T23:41:39.955Z"); len(p.Actors) != 1 || p.Actors[0].Status != Stale {
		t.Errorf("peers: %+v", p)
	}
	at("2026-09-15T23:41:41.000Z", "inbox", `{"actorId":"gaia"}`)
	if got := status(); got != "online online" {
		t.Errorf("having polled: %s", got)
	}
}

func TestPeersAreBoundedOnlineFirst(t *testing.T) {
	b := newBus(t)
	for i := range 40 {
		Commit(b.s, Command{"register", "2026-09-15T23:45:00.000Z", jsontext.Value(fmt.Sprintf(`{"actorId":"lane %d"}`, i))})
	}
	p := b.s.PeersFor("act-0003", "2026-09-15T23:45:00.000Z")
	if len(p.Actors) != MaxPeers || p.More != 41-MaxPeers || p.Actors[0].Ref != "act-0004" || p.Actors[0].Status != Online {
		t.Errorf("%d peers and %d more, first %+v", len(p.Actors), p.More, p.Actors[0])
	}
}

func TestCollisionsFoldSpellingsOfOneTreeAndNoBranches(t *testing.T) {
	b := bus{t, NewState()}
	for name, caps := range map[string]string{"a": `"cwd=C:/repos/ga","branch=main"`, "b": `"cwd=c:\\repos\\ga\\","branch=Main"`, "c": `"cwd=C:/Repos/ga"`, "d": `"observe"`, "e": `"cwd= "`, "f": `"cwd=/srv/x/"`} {
		b.ok("register", fmt.Sprintf(`{"actorId":%q,"capabilities":[%s]}`, name, caps))
	}
	c := b.s.Collisions()
	if len(c) != 1 || c[0].CWD != "c:/repos/ga" || len(c[0].Refs) != 2 || len(c[0].Branches) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestUnreadableRecordsAreToldFromDamage(t *testing.T) {
	for line, want := range map[string]error{
		`{"type":"actor.heartbeat","at":"t","note":null}`:                     ErrUnreplayable,
		`{"type":"actor.heartbeat","at":"t","actorId":null,"note":null}`:      ErrUnreplayable,
		`{"type":"actor.heartbeat","at":7,"actorId":"a","note":null}`:         ErrUnreplayable,
		`{"type":"inbox.polled","at":"t","actorId":"a","messageIds":["x",7]}`: ErrUnreplayable,
		`{"type":"message.sent","at":"t","message":[]}`:                       ErrUnreplayable,
		`{"Type":"x"}`:                   ErrNotEvent,
		`{"type":null}`:                  ErrNotEvent,
		`{"type":"x","type":"x"}`:        ErrNotEvent,
		`{"type":"x","a":{"b":1,"b":2}}`: ErrNotEvent,
		"{\"type\":\"\xc3\"}":            ErrNotEvent,
		`[{"type":"x"}]`:                 ErrNotEvent,
		``:                               ErrNotEvent,
		`{"type":"x"}{"type":"x"}`:       ErrNotEvent,
	} {
		if err := FoldLine(NewState(), []byte(line)); err == nil || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: %v, want %v", line, err, want)
		}
	}
	s := NewState()
	if err := FoldLine(s, []byte(`{"type":"actor.heartbeat","at":"t","actorId":"act-0001","note":"\ud800","more":{}}`)); err != nil {
		t.Errorf("a lone surrogate in a log must stay readable: %v", err)
	}
	if r := s.Integrity(); r.OK || r.Findings[0].Code != FindingUnmintedAddress {
		t.Errorf("a forged address passed: %+v", r)
	}
}

func TestBytesAreThoseOfJSONStringify(t *testing.T) {
	b := newBus(t)
	d := b.ok("send", `{"from":"gaia","to":"builder","text":"<>& \u2028\u2029 \u0001\b\f\n\r\t\u001f\u007f\u00e9\ud83c\udfb8 / \\ \""}`)
	line := string(AppendEvent(nil, d.Events[0]))
	if want := `"text":"<>& ` + "\u2028\u2029" + ` \u0001\b\f\n\r\t\u001f` + "\u007fé🎸" + ` / \\ \"",`; !strings.Contains(line, want) {
		t.Errorf("%s\nlacks\n%s", line, want)
	}
}
