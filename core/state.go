package core

import (
	"slices"
	"strings"
	"time"
)

// State is the fold of a log's events. It is for one goroutine at a time; no
// method but Apply changes it.
type State struct {
	actors   []actor // in the order they were registered
	byRef    map[string]int
	byName   map[string][]int // bearers, in the order they took the name
	messages []message
	byID     map[string]int

	lastActor, lastMessage, lastCorrelation int64
	events                                  int
	lastAt                                  string

	handoffs   []string
	denials    []Denial
	rejections int
	unknown    map[string]int
	keys       map[string]int // actor ref, NUL, key → index in messages
	findings   []Finding
}

type actor struct {
	ref, name, kind          string
	capabilities, authority  []string
	registeredAt, lastSeenAt string
	heartbeats               int
	waiting                  []int // unacknowledged messages, oldest first
}

type message struct {
	Message
	ackNote *string
	key     string
	minted  bool // the bus, not the caller, chose the correlation id
	handoff bool
}

// NewState is the state of an empty log.
func NewState() *State {
	return &State{byRef: map[string]int{}, byName: map[string][]int{}, byID: map[string]int{}, unknown: map[string]int{}, keys: map[string]int{}}
}

// Apply folds one event. It never fails: what doesn't fit (an address nobody
// minted, an unknown message) is kept as a finding.
func Apply(s *State, e Event) {
	s.events++
	if at := e.EventAt(); at != "" {
		s.lastAt = at
	}
	switch e := e.(type) {
	case *ActorRegistered:
		s.register(e)
	case *MessageSent:
		s.send(e)
	case *AuthorityDenied:
		s.denials = append(s.denials, Denial{e.MessageID, e.Requested})
		s.checkRef("authority.denied", e.From)
		s.checkRef("authority.denied", e.To)
		s.checkMessage("authority.denied", e.MessageID)
	case *InboxPolled:
		if a := s.seen("inbox.polled", e.ActorID, e.At); a != nil {
			for _, id := range e.MessageIDs {
				if i, ok := s.byID[id]; ok {
					if s.messages[i].DeliveredAt == nil {
						at := e.At
						s.messages[i].DeliveredAt = &at
					}
				} else {
					s.checkMessage("inbox.polled", id)
				}
			}
		}
	case *MessageAcked:
		s.seen("message.acked", e.ActorID, e.At)
		i, ok := s.byID[e.MessageID]
		if !ok {
			s.checkMessage("message.acked", e.MessageID)
			return
		}
		m := &s.messages[i]
		by, at := e.ActorID, e.At
		m.AckedBy, m.AckedAt, m.ackNote = &by, &at, e.Note
		if to, ok := s.byRef[m.To]; ok {
			w := &s.actors[to].waiting
			if k := slices.Index(*w, i); k >= 0 {
				*w = slices.Delete(*w, k, k+1)
			}
		}
	case *ActorHeartbeat:
		if a := s.seen("actor.heartbeat", e.ActorID, e.At); a != nil {
			a.heartbeats++
		}
	case *WorkHandedOff:
		s.handoffs = append(s.handoffs, e.MessageID)
		for _, r := range []string{e.From, e.To, e.ReplyTo} {
			s.checkRef("work.handed-off", r)
		}
		if i, ok := s.byID[e.MessageID]; ok {
			s.messages[i].handoff = true
		} else {
			s.checkMessage("work.handed-off", e.MessageID)
		}
	case *CommandRejected:
		s.rejections++
	default:
		s.unknown[e.EventType()]++
	}
}

func (s *State) find(code, subject, detail string) {
	s.findings = append(s.findings, Finding{code, subject, detail})
}

func (s *State) checkRef(where, ref string) bool {
	if _, ok := s.byRef[ref]; ok {
		return true
	}
	s.find(FindingUnmintedAddress, ref, where+" names an actor this bus never minted")
	return false
}

func (s *State) checkMessage(where, id string) {
	if _, ok := s.byID[id]; !ok {
		s.find(FindingUnknownMessage, id, where+" names a message this bus never minted")
	}
}

func (s *State) seen(where, ref, at string) *actor {
	if !s.checkRef(where, ref) {
		return nil
	}
	a := &s.actors[s.byRef[ref]]
	a.lastSeenAt = at
	return a
}

func (s *State) register(e *ActorRegistered) {
	i, known := s.byRef[e.Ref]
	if !known {
		n, ok := number(e.Ref, "act-")
		if !ok || n != s.lastActor+1 || !e.IsNew {
			s.find(FindingActorOrder, e.Ref, "an actor's ref out of order")
		}
		if ok && n > s.lastActor {
			s.lastActor = n
		}
		i = len(s.actors)
		s.byRef[e.Ref] = i
		s.actors = append(s.actors, actor{ref: e.Ref, registeredAt: e.At})
	} else if e.IsNew {
		s.find(FindingActorOrder, e.Ref, "an actor's ref minted twice")
	}
	a := &s.actors[i]
	if !known || a.name != e.Name {
		if known {
			s.byName[a.name] = slices.DeleteFunc(s.byName[a.name], func(k int) bool { return k == i })
			if len(s.byName[a.name]) == 0 {
				delete(s.byName, a.name)
			}
		}
		s.byName[e.Name] = append(s.byName[e.Name], i)
	}
	a.name, a.kind, a.capabilities, a.authority, a.lastSeenAt = e.Name, e.Kind, e.DeclaredCapabilities, e.BusAuthority, e.At
}

func number(id, prefix string) (int64, bool) {
	d, ok := digits(id, prefix)
	if !ok || len(d) > 18 {
		return 0, false
	}
	var n int64
	for i := range len(d) {
		n = n*10 + int64(d[i]-'0')
	}
	return n, mint(prefix, n) == id
}

func (s *State) send(e *MessageSent) {
	m := message{Message: e.Message, key: e.IdempotencyKey}
	n, ok := number(m.MessageID, "msg-")
	if !ok || n != s.lastMessage+1 {
		s.find(FindingMessageOrder, m.MessageID, "a message id out of order")
	}
	if ok && n > s.lastMessage {
		s.lastMessage = n
	}
	m.minted = m.CorrelationID == mint("cor-", s.lastCorrelation+1)
	if c, claims := claim(m.CorrelationID); claims {
		if c > CorrelationCeiling-1 {
			s.find(FindingCorrelationRange, m.CorrelationID, "a correlation id outside the issuer's range")
		} else if c > s.lastCorrelation {
			s.lastCorrelation = c
		}
	}
	for _, r := range []string{m.From, m.To, m.ReplyTo} {
		s.checkRef("message.sent", r)
	}
	i := len(s.messages)
	s.messages = append(s.messages, m)
	s.byID[m.MessageID] = i
	if m.key != "" {
		k := m.From + "\x00" + m.key
		if _, bound := s.keys[k]; !bound {
			s.keys[k] = i
		}
	}
	if to, ok := s.byRef[m.To]; ok && m.AckedBy == nil {
		s.actors[to].waiting = append(s.actors[to].waiting, i)
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

const (
	Online = "online"
	Stale  = "stale"
)

// statusAt is a pure function of a last sighting and the newest instant.
func statusAt(lastSeen, newest string) string {
	a, err1 := time.Parse(time.RFC3339Nano, lastSeen)
	b, err2 := time.Parse(time.RFC3339Nano, newest)
	if err1 == nil && err2 == nil && b.Sub(a) > StaleAfter {
		return Stale
	}
	return Online
}
