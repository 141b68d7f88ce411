package core

import (
	"slices"
	"strings"
)

// State is the fold of a log's events. It is for one goroutine at a time, its
// readers included; [Apply] and [FoldLine] alone change it.
type State struct {
	symbols  symbols
	actors   []actor // in the order they were registered
	byRef    map[string]int
	byName   map[string][]int // bearers, in the order they took the name
	messages messages
	oddIDs   map[string]int   // of messages whose id isn't their place
	early    map[string][]int // messages to a ref that nobody had minted yet

	lastActor, lastMessage, lastCorrelation int64
	events                                  int
	lastAt                                  instant

	handoffs   []string
	denials    []Denial
	rejections int
	unknown    map[string]int
	keys       map[senderKey]int // index in messages
	findings   []Finding

	scratch MessageSent // FoldLine's own
}

// senderKey is an idempotency key, which is its sender's own.
type senderKey struct{ from, key string }

type actor struct {
	ref, name, kind          string
	capabilities, authority  []string
	registeredAt, lastSeenAt instant
	heartbeats               int
	waiting                  []int // unacknowledged messages, oldest first
}

// NewState is the state of an empty log.
func NewState() *State {
	return &State{
		symbols: newSymbols(), byRef: map[string]int{}, byName: map[string][]int{}, oddIDs: map[string]int{},
		early: map[string][]int{}, unknown: map[string]int{}, keys: map[senderKey]int{},
	}
}

// Apply folds one event. It never fails: what doesn't fit (an address nobody
// minted, an unknown message) is kept as a finding.
func Apply(s *State, e Event) {
	s.events++
	if at := e.EventAt(); at != "" || known(e) {
		s.lastAt = s.instantOf(at)
	}
	switch e := e.(type) {
	case *ActorRegistered:
		s.register(e)
	case *MessageSent:
		s.send(e)
	case *AuthorityDenied:
		s.denials = append(s.denials, Denial{e.MessageID, slices.Clone(e.Requested)})
		s.checkRef(e, e.From)
		s.checkRef(e, e.To)
		s.checkMessage(e, e.MessageID)
	case *InboxPolled:
		if s.seen(e, e.ActorID) == nil {
			return
		}
		for _, id := range e.MessageIDs {
			if i, ok := s.checkMessage(e, id); ok {
				if m := s.messages.at(i); m.delivered == 0 {
					m.delivered = s.lastAt
				}
			}
		}
	case *MessageAcked:
		s.seen(e, e.ActorID)
		if i, ok := s.checkMessage(e, e.MessageID); ok {
			s.ack(e, i)
		}
	case *ActorHeartbeat:
		if a := s.seen(e, e.ActorID); a != nil {
			a.heartbeats++
		}
	case *WorkHandedOff:
		s.handoffs = append(s.handoffs, e.MessageID)
		s.checkRef(e, e.From)
		s.checkRef(e, e.To)
		s.checkRef(e, e.ReplyTo)
		if i, ok := s.checkMessage(e, e.MessageID); ok {
			s.messages.at(i).handoff = true
		}
	case *CommandRejected:
		s.rejections++
	default:
		s.unknown[e.EventType()]++
	}
}

// known tells our eight event types from the others.
func known(e Event) bool {
	_, unknown := e.(*UnknownEvent)
	return !unknown
}

func (s *State) ack(e *MessageAcked, i int) {
	m := s.messages.at(i)
	m.ackedBy, m.acked, m.ackNote = s.symbols.of(e.ActorID), s.lastAt, e.Note
	to := s.symbols.string(m.to)
	if a, ok := s.byRef[to]; ok {
		s.actors[a].waiting = without(s.actors[a].waiting, i)
	} else {
		s.early[to] = without(s.early[to], i)
	}
}

// without takes i out of an ascending list. Most are acknowledged in their
// order, so the first goes without moving the others.
func without(list []int, i int) []int {
	k, ok := slices.BinarySearch(list, i)
	switch {
	case !ok:
		return list
	case k == 0:
		return list[1:]
	}
	return slices.Delete(list, k, k+1)
}

func (s *State) find(code, subject, detail string) {
	s.findings = append(s.findings, Finding{code, clip(subject), detail})
}

func (s *State) checkRef(e Event, ref string) bool {
	if _, ok := s.byRef[ref]; ok {
		return true
	}
	s.find(FindingUnmintedAddress, ref, e.EventType()+" names an actor that this bus never minted")
	return false
}

func (s *State) checkMessage(e Event, id string) (int, bool) {
	i, ok := s.messageAt(id)
	if !ok {
		s.find(FindingUnknownMessage, id, e.EventType()+" names a message that this bus never minted")
	}
	return i, ok
}

func (s *State) seen(e Event, ref string) *actor {
	if !s.checkRef(e, ref) {
		return nil
	}
	a := &s.actors[s.byRef[ref]]
	a.lastSeenAt = s.lastAt
	return a
}

func (s *State) register(e *ActorRegistered) {
	i, minted := s.byRef[e.Ref]
	if !minted {
		n, ok := number(e.Ref, "act-")
		if !ok || n != s.lastActor+1 || !e.IsNew {
			s.find(FindingActorOrder, e.Ref, "an actor's ref is out of order")
		}
		if ok {
			s.lastActor = max(s.lastActor, n)
		}
		i = len(s.actors)
		s.byRef[e.Ref] = i
		s.actors = append(s.actors, actor{ref: e.Ref, registeredAt: s.lastAt, waiting: s.early[e.Ref]})
		delete(s.early, e.Ref)
	} else if e.IsNew {
		s.find(FindingActorOrder, e.Ref, "an actor's ref is minted twice")
	}
	a := &s.actors[i]
	if minted && a.name != e.Name {
		others := slices.DeleteFunc(s.byName[a.name], func(k int) bool { return k == i })
		if s.byName[a.name] = others; len(others) == 0 {
			delete(s.byName, a.name)
		}
	}
	if !minted || a.name != e.Name {
		s.byName[e.Name] = append(s.byName[e.Name], i)
	}
	a.name, a.kind, a.lastSeenAt = e.Name, e.Kind, s.lastAt
	a.capabilities, a.authority = slices.Clone(e.DeclaredCapabilities), busAuthority
	if !slices.Equal(e.BusAuthority, busAuthority) {
		a.authority = slices.Clone(e.BusAuthority)
	}
}

// number reads the N of an id that mint writes. Past the ceiling nothing is
// minted, so that an id which somebody forged there can't use the issuer up.
func number(id, prefix string) (int64, bool) {
	d, ok := digits(id, prefix)
	if !ok || len(d) < 4 || len(d) > 18 || len(d) > 4 && d[0] == '0' {
		return 0, false
	}
	var n int64
	for i := range len(d) {
		n = n*10 + int64(d[i]-'0')
	}
	return n, n < CorrelationCeiling
}

func (s *State) send(e *MessageSent) {
	m := &e.Message
	i := s.messages.n
	n, ok := number(m.MessageID, "msg-")
	if !ok || n != s.lastMessage+1 {
		s.find(FindingMessageOrder, m.MessageID, "a message's id is out of order")
	}
	if ok {
		s.lastMessage = max(s.lastMessage, n)
	}
	p := s.pack(m, mint("msg-", int64(i)+1))
	if !ok || n != int64(i)+1 {
		s.oddIDs[m.MessageID] = i
	} else {
		delete(s.oddIDs, m.MessageID) // an earlier one bore its id
	}
	p.minted = p.cor == s.lastCorrelation+1
	if c, claims := claim(m.CorrelationID); claims {
		if c >= CorrelationCeiling {
			s.find(FindingCorrelationRange, m.CorrelationID, "a correlation id is outside the issuer's range")
		} else {
			s.lastCorrelation = max(s.lastCorrelation, c)
		}
	}
	s.checkRef(e, m.From)
	s.checkRef(e, m.ReplyTo)
	s.messages.add(p)
	if e.IdempotencyKey != "" {
		k := senderKey{m.From, e.IdempotencyKey}
		if _, bound := s.keys[k]; !bound {
			s.keys[k] = i
		}
	}
	to := s.checkRef(e, m.To)
	if m.AckedBy != nil {
		return
	}
	if to {
		a := &s.actors[s.byRef[m.To]]
		a.waiting = append(a.waiting, i)
	} else {
		s.early[m.To] = append(s.early[m.To], i)
	}
}

// resolve turns an address into an actor: a ref first, then a name that
// exactly one actor bears.
func (s *State) resolve(arg, address string) (int, string) {
	if i, ok := s.byRef[address]; ok {
		return i, ""
	}
	switch bearers := s.byName[address]; len(bearers) {
	case 0:
		return 0, arg + ": no actor " + quote(address) + " on this bus; register first, or address one that is listed"
	case 1:
		return bearers[0], ""
	default:
		refs := make([]string, len(bearers))
		for k, i := range bearers {
			refs[k] = s.actors[i].ref
		}
		return 0, arg + ": ambiguous actor name " + quote(address) + " — " + itoa(len(bearers)) + " actors share it; address by ref: " + strings.Join(refs, ", ")
	}
}

// An actor's status: stale when the newest event is more than StaleAfter after
// its last sighting. Stale is still registered and addressable.
const (
	Online = "online"
	Stale  = "stale"
)

func (s *State) status(a *actor, newest instant) string {
	seen, ok := s.millis(a.lastSeenAt)
	now, known := s.millis(newest)
	if ok && known && now-seen > StaleAfter.Milliseconds() {
		return Stale
	}
	return Online
}
