package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

func itoa(n int) string { return strconv.Itoa(n) }

const (
	trustLabel    = "untrusted-text"
	delivery      = "accepted-for-delivery; not read, not agreed, not completed"
	deniedOutcome = "stored-as-untrusted-text; no authority applied"
	ackMeaning    = "receipt only; not agreement, approval, or completion"
)

// Commit decides a command and applies what it decided.
func Commit(s *State, c Command) Decision {
	d := Decide(s, c)
	for _, e := range d.Events {
		Apply(s, e)
	}
	return d
}

// Decide says what a command does to the bus. It reads the state and changes nothing.
func Decide(s *State, c Command) Decision {
	d, refusal := decide(s, c)
	if refusal == "" {
		return d
	}
	return Decision{
		Events:  []Event{&CommandRejected{Type: "command.rejected", At: c.At, Command: clip(c.Verb), Reason: refusal}},
		Refusal: refusal,
	}
}

func decide(s *State, c Command) (Decision, string) {
	spec, ok := specOf(Verb(c.Verb))
	if !ok {
		return Decision{}, "no verb " + quote(c.Verb) + " on this bus; the six are register, send, inbox, ack, heartbeat, handoff"
	}
	a, refusal := readArgs(spec, c.Args)
	if refusal != "" {
		return Decision{}, refusal
	}
	switch spec.Verb {
	case Register:
		return s.decideRegister(c.At, a)
	case Inbox:
		return s.decideInbox(c.At, a)
	case Ack:
		return s.decideAck(c.At, a)
	case Heartbeat:
		return s.decideHeartbeat(c.At, a)
	default:
		return s.decideMessage(c.At, a, spec.Verb)
	}
}

// args are a call's arguments, of the types its verb's table says.
type args struct {
	strs  map[string]string
	bools map[string]bool
	lists map[string][]string
}

func readArgs(spec VerbSpec, raw jsontext.Value) (args, string) {
	a := args{map[string]string{}, map[string]bool{}, map[string][]string{}}
	if len(strings.TrimSpace(string(raw))) == 0 || strings.TrimSpace(string(raw)) == "null" {
		raw = jsontext.Value("{}")
	}
	m, err := readMembers(raw, false)
	if err != nil {
		return a, "arguments: " + clip(strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	for _, n := range m.names {
		i := slices.IndexFunc(spec.Args, func(s ArgSpec) bool { return s.Name == n })
		if i < 0 {
			return a, string(spec.Verb) + " has no argument " + quote(n)
		}
		v := m.values[n]
		if v.Kind() == 'n' {
			continue
		}
		switch spec.Args[i].Type {
		case StringArg:
			if v.Kind() != '"' {
				return a, n + ": a JSON " + kindName(v.Kind()) + " where a string belongs"
			}
			a.strs[n] = text(v)
		case BoolArg:
			if k := v.Kind(); k != 't' && k != 'f' {
				return a, n + ": a JSON " + kindName(k) + " where true or false belongs"
			}
			a.bools[n] = v.Kind() == 't'
		case StringsArg:
			l, ok := stringArray(v)
			if !ok {
				return a, n + ": an array of strings belongs here; it is never made from anything else"
			}
			a.lists[n] = l
		}
	}
	return a, ""
}

func (a args) trimmed(name string) string { return trim(a.strs[name]) }

func (a args) note() *string {
	n, ok := a.strs["note"]
	if !ok || trim(n) == "" {
		return nil
	}
	return &n
}

func missing(name string) string { return name + ": missing or blank" }

func (s *State) decideRegister(at string, a args) (Decision, string) {
	name := a.trimmed("actorId")
	if name == "" {
		return Decision{}, missing("actorId")
	}
	if refShaped(name) {
		return Decision{}, "actorId: " + quote(name) + " has the shape of a ref, and refs are minted by the bus; choose another display name"
	}
	kind := a.trimmed("kind")
	if kind == "" {
		kind = "unknown"
	}
	caps := []string{}
	for _, c := range a.lists["capabilities"] {
		if c = trim(c); c != "" {
			caps = append(caps, c)
		}
	}
	ref, isNew := a.trimmed("ref"), false
	if ref == "" {
		if exhausted(s.lastActor) {
			return Decision{}, "ref: the issuer is exhausted; start a new data directory"
		}
		ref, isNew = mint("act-", s.lastActor+1), true
	} else if _, ok := s.byRef[ref]; !ok {
		return Decision{}, "ref: " + quote(ref) + " was never minted by this bus; register without ref to get one"
	}
	shared := []string{}
	for _, i := range s.byName[name] {
		if s.actors[i].ref != ref {
			shared = append(shared, s.actors[i].ref)
		}
	}
	addressing := `addressable as "` + name + `" or ` + ref
	if len(shared) > 0 {
		addressing = `name "` + name + `" is ambiguous — address this actor as ` + ref
	}
	return Decision{
		Events: []Event{&ActorRegistered{"actor.registered", at, ref, name, isNew, kind, caps, busAuthority}},
		Result: &RegisterResult{Ref: ref, Name: name, BusAuthority: busAuthority, NameSharedWith: shared, Addressing: addressing},
	}, ""
}

func (s *State) actorArg(a args, name string) (*actor, string) {
	address := a.trimmed(name)
	if address == "" {
		return nil, missing(name)
	}
	i, refusal := s.resolve(name, address)
	if refusal != "" {
		return nil, refusal
	}
	return &s.actors[i], ""
}

func (s *State) decideInbox(at string, a args) (Decision, string) {
	actor, refusal := s.actorArg(a, "actorId")
	if refusal != "" {
		return Decision{}, refusal
	}
	waiting := actor.waiting
	if after := a.trimmed("after"); after != "" {
		i, ok := s.messageAt(after)
		if !ok {
			return Decision{}, "after: no message " + quote(after) + " on this bus"
		}
		k, _ := slices.BinarySearch(waiting, i+1)
		waiting = waiting[k:]
	}
	r := &InboxResult{ActorID: actor.ref, Pending: []Message{}}
	ids, size := []string{}, len("[]")-len(",")
	for k, i := range waiting {
		m := s.message(i)
		size += m.jsonSize() + len(",")
		if k > 0 && size > InboxPageBytes {
			r.Remaining, r.Next = len(waiting)-k, ids[k-1]
			break
		}
		r.Pending, ids = append(r.Pending, m), append(ids, m.MessageID)
	}
	return Decision{Events: []Event{&InboxPolled{"inbox.polled", at, actor.ref, ids}}, Result: r}, ""
}

func (s *State) decideAck(at string, a args) (Decision, string) {
	actor, refusal := s.actorArg(a, "actorId")
	if refusal != "" {
		return Decision{}, refusal
	}
	id := a.trimmed("messageId")
	if id == "" {
		return Decision{}, missing("messageId")
	}
	i, ok := s.messageAt(id)
	if !ok {
		return Decision{}, "messageId: no message " + quote(id) + " on this bus"
	}
	if to := s.symbols.string(s.messages.at(i).to); to != actor.ref {
		return Decision{}, fmt.Sprintf("messageId: %s is addressed to %s; only its addressee may acknowledge it", id, clip(to))
	}
	return Decision{
		Events: []Event{&MessageAcked{"message.acked", at, actor.ref, id, a.note()}},
		Result: &AckResult{id, actor.ref, ackMeaning},
	}, ""
}

func (s *State) decideHeartbeat(at string, a args) (Decision, string) {
	actor, refusal := s.actorArg(a, "actorId")
	if refusal != "" {
		return Decision{}, refusal
	}
	return Decision{
		Events: []Event{&ActorHeartbeat{"actor.heartbeat", at, actor.ref, a.note()}},
		Result: &HeartbeatResult{ActorID: actor.ref, At: at},
	}, ""
}

// exhausted tells that no id follows the issuer's last.
func exhausted(last int64) bool { return last >= CorrelationCeiling-1 }

func (s *State) decideMessage(at string, a args, verb Verb) (Decision, string) {
	key := a.strs["idempotencyKey"]
	if trim(key) == "" {
		key = ""
	}
	from, refusal := s.actorArg(a, "from")
	if refusal != "" {
		if from = s.sender(a.trimmed("from"), key); from == nil {
			return Decision{}, refusal
		}
	}
	bodyArg, defaultKind := "text", "note"
	if verb == Handoff {
		bodyArg, defaultKind = "summary", "handoff"
	}
	kind := a.trimmed("kind")
	if kind == "" {
		kind = defaultKind
	}
	granted, denied := []string{}, []string{}
	for _, w := range a.lists["requestedAuthority"] {
		w = trim(w)
		if w == "" {
			return Decision{}, "requestedAuthority: an array of non-blank strings belongs here; it is never made from anything else"
		}
		if slices.Contains(grantable, w) {
			granted = append(granted, w)
		} else {
			denied = append(denied, w)
		}
	}
	body := a.strs[bodyArg]
	cor := a.trimmed("correlationId")
	if len(utf16.Encode([]rune(key))) > MaxIdempotencyKey {
		return Decision{}, "idempotencyKey: longer than 128 characters"
	}
	if key != "" {
		if i, bound := s.keys[senderKey{from.ref, key}]; bound {
			return s.again(i, a, verb, kind, body, cor, granted, denied)
		}
	}
	to, refusal := s.actorArg(a, "to")
	if refusal != "" {
		return Decision{}, refusal
	}
	reply := from
	if a.trimmed("replyTo") != "" {
		if reply, refusal = s.actorArg(a, "replyTo"); refusal != "" {
			return Decision{}, refusal
		}
	}
	if trim(body) == "" {
		return Decision{}, missing(bodyArg)
	}
	if cor == "" {
		if exhausted(s.lastCorrelation) {
			return Decision{}, "correlationId: the issuer is exhausted; name a correlation id of your own, or start a new data directory"
		}
		cor = mint("cor-", s.lastCorrelation+1)
	} else if n, claims := claim(cor); claims {
		if n >= CorrelationCeiling || n > s.lastCorrelation+ClaimWindow {
			return Decision{}, "correlationId: " + quote(cor) + " is too far ahead of the issuer"
		}
	}
	if exhausted(s.lastMessage) {
		return Decision{}, "messageId: the issuer is exhausted; start a new data directory"
	}
	flags := []string{}
	if soundsOfAuthority(body) {
		flags = append(flags, authorityFlag)
	}
	m := Message{
		MessageID: mint("msg-", s.lastMessage+1), CorrelationID: cor, From: from.ref, FromName: from.name, To: to.ref, ToName: to.name,
		ReplyTo: reply.ref, ReplyToName: reply.name, ExpectsReply: a.bools["expectsReply"], Kind: kind, Text: body, Trust: trustLabel,
		Authority: Authority{granted, denied, "none", neverGrantable}, Flags: flags, SentAt: at, Delivery: delivery,
	}
	d := Decision{Events: []Event{&MessageSent{"message.sent", at, m, key}}, Result: resultOf(&m, verb)}
	if verb == Handoff {
		d.Events = append(d.Events, &WorkHandedOff{"work.handed-off", at, m.From, m.To, m.MessageID, m.CorrelationID, m.ReplyTo, m.Text, []string{}})
	}
	if len(denied) > 0 {
		d.Events = append(d.Events, &AuthorityDenied{"authority.denied", at, m.MessageID, m.From, m.To, denied, deniedOutcome})
	}
	return d, ""
}

// sender is the one bearer of a name that became ambiguous since it bound the
// key: its call is repeated, so it is known. nil where there isn't exactly one.
func (s *State) sender(name, key string) (found *actor) {
	if key == "" {
		return nil
	}
	for _, i := range s.byName[name] {
		a := &s.actors[i]
		if k, bound := s.keys[senderKey{a.ref, key}]; bound && s.symbols.string(s.messages.at(k).fromName) == name {
			if found != nil {
				return nil
			}
			found = a
		}
	}
	return found
}

func resultOf(m *Message, verb Verb) Result {
	if verb == Handoff {
		return &HandoffResult{m.MessageID, m.CorrelationID, m.ReplyTo, []string{}, m.Delivery}
	}
	return &SendResult{m.MessageID, m.CorrelationID, m.From + " -> " + m.To, m.ReplyTo, m.Authority, m.Delivery}
}

// again answers a key that is bound: the first result for the same arguments,
// a refusal for others.
func (s *State) again(i int, a args, verb Verb, kind, body, cor string, granted, denied []string) (Decision, string) {
	m, p := s.message(i), s.messages.at(i)
	same := func(arg, ref, name string) bool {
		address := a.trimmed(arg)
		return address == ref || address == name
	}
	differs := ""
	switch {
	case (verb == Handoff) != p.handoff:
		differs = "verb"
	case !same("to", m.To, m.ToName):
		differs = "to"
	case a.trimmed("replyTo") == "" && m.ReplyTo != m.From, a.trimmed("replyTo") != "" && !same("replyTo", m.ReplyTo, m.ReplyToName):
		differs = "replyTo"
	case body != m.Text:
		differs = "text"
	case kind != m.Kind:
		differs = "kind"
	case cor == "" && !p.minted, cor != "" && cor != m.CorrelationID:
		differs = "correlationId"
	case a.bools["expectsReply"] != m.ExpectsReply:
		differs = "expectsReply"
	case !slices.Equal(granted, m.Authority.Granted), !slices.Equal(denied, m.Authority.Denied):
		differs = "requestedAuthority"
	}
	if differs != "" {
		return Decision{}, "idempotencyKey: already bound to " + m.MessageID + ", whose " + differs + " differs; use a new key for a new call"
	}
	return Decision{Result: resultOf(&m, verb)}, ""
}
