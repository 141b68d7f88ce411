package core

import (
	"maps"
	"slices"
	"strings"
)

// Snapshot is the whole state as JSON shows it.
type Snapshot struct {
	Counters         Counters      `json:"counters"`
	LastEventAt      *string       `json:"lastEventAt"`
	Actors           []ActorView   `json:"actors"`
	Messages         []MessageView `json:"messages"`
	Handoffs         []string      `json:"handoffs"`
	AuthorityDenials []Denial      `json:"authorityDenials"`
	Rejections       int           `json:"rejections"`
	UnknownEvents    []TypeCount   `json:"unknownEvents,omitempty"` // sorted by type
}

// TypeCount counts the events of a type that this version doesn't know.
type TypeCount struct {
	Type  string `json:"type"`
	Count int    `json:"count"`
}

// Counters are the highest numbers minted or seen, and the events folded.
type Counters struct {
	Actor       int64 `json:"actor"`
	Message     int64 `json:"message"`
	Correlation int64 `json:"correlation"`
	Event       int   `json:"event"`
}

// MessageView is a message as it is now, with its last acknowledgement's note.
type MessageView struct {
	Message
	AckNote *string `json:"ackNote"`
}

// Denial is one authority.denied.
type Denial struct {
	MessageID string   `json:"messageId"`
	Requested []string `json:"requested"`
}

// ActorView is an actor as of the newest event. Pending lists the messages
// that wait for it, oldest first.
type ActorView struct {
	Ref                  string   `json:"ref"`
	Name                 string   `json:"name"`
	Kind                 string   `json:"kind"`
	DeclaredCapabilities []string `json:"declaredCapabilities"`
	BusAuthority         []string `json:"busAuthority"`
	RegisteredAt         string   `json:"registeredAt"`
	LastSeenAt           string   `json:"lastSeenAt"`
	Status               string   `json:"status"`
	Heartbeats           int      `json:"heartbeats"`
	NameSharedWith       []string `json:"nameSharedWith"`
	Pending              []string `json:"pending"`
}

// The codes of integrity findings.
const (
	FindingUnmintedAddress  = "unminted-address"
	FindingUnknownMessage   = "unknown-message"
	FindingActorOrder       = "actor-order"
	FindingMessageOrder     = "message-order"
	FindingCorrelationRange = "correlation-range"
)

// IntegrityReport says whether the log only names what this bus minted.
type IntegrityReport struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// Finding is one thing in a log that this bus would not have written. Subject
// is text of the log and as untrusted as any.
type Finding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"`
	Detail  string `json:"detail"`
}

// CorrelationReport tells how far the issuer is and how many ids it has left;
// OK is false below one claim window.
type CorrelationReport struct {
	OK      bool  `json:"ok"`
	Issued  int64 `json:"issued"`
	Runway  int64 `json:"runway"`
	Ceiling int64 `json:"ceiling"`
	Window  int64 `json:"window"`
}

// Collision is one checkout that several online actors declare. It is a
// report, never a lock.
type Collision struct {
	CWD       string     `json:"cwd"`
	Refs      []string   `json:"refs"`
	Occupants []Occupant `json:"occupants"`
	Branches  []string   `json:"branches"`
}

// Occupant is one of them.
type Occupant struct {
	Ref        string  `json:"ref"`
	Status     string  `json:"status"`
	LastSeenAt string  `json:"lastSeenAt"`
	Branch     *string `json:"branch"`
}

// Events counts the records folded.
func (s *State) Events() int { return s.events }

// ActorCount counts the actors.
func (s *State) ActorCount() int { return len(s.actors) }

// Actors are in the order they were registered.
func (s *State) Actors() []ActorView {
	views := make([]ActorView, len(s.actors))
	for i := range s.actors {
		a := &s.actors[i]
		shared := []string{}
		for _, k := range s.byName[a.name] {
			if k != i {
				shared = append(shared, s.actors[k].ref)
			}
		}
		pending := []string{}
		for _, k := range a.waiting {
			pending = append(pending, s.messageID(k))
		}
		views[i] = ActorView{a.ref, a.name, a.kind, slices.Clone(a.capabilities), slices.Clone(a.authority), s.textOf(a.registeredAt), s.textOf(a.lastSeenAt),
			s.status(a, s.lastAt), a.heartbeats, shared, pending}
	}
	return views
}

// Snapshot tells the whole state. What it shares with the state must not be
// changed.
func (s *State) Snapshot() Snapshot {
	n := Snapshot{
		Counters: Counters{s.lastActor, s.lastMessage, s.lastCorrelation, s.events},
		Actors:   s.Actors(), Messages: make([]MessageView, s.messages.n),
		Handoffs: slices.Clone(s.handoffs), AuthorityDenials: slices.Clone(s.denials), Rejections: s.rejections,
	}
	for _, t := range slices.Sorted(maps.Keys(s.unknown)) {
		n.UnknownEvents = append(n.UnknownEvents, TypeCount{t, s.unknown[t]})
	}
	n.LastEventAt = s.textOrNil(s.lastAt)
	for i := range s.messages.n {
		n.Messages[i] = MessageView{s.message(i), s.messages.at(i).ackNote}
	}
	return n
}

// Integrity reports what the fold met that this bus would not have written.
func (s *State) Integrity() IntegrityReport {
	return IntegrityReport{OK: len(s.findings) == 0, Findings: slices.Clone(s.findings)}
}

// Correlation reports on the issuer of correlation ids.
func (s *State) Correlation() CorrelationReport {
	runway := CorrelationCeiling - s.lastCorrelation
	return CorrelationReport{runway >= ClaimWindow, s.lastCorrelation, runway, CorrelationCeiling, ClaimWindow}
}

func declared(a *actor, prefix string) string {
	for _, c := range a.capabilities {
		if v, ok := strings.CutPrefix(c, prefix); ok {
			return v
		}
	}
	return ""
}

// workspace folds a declared cwd= so that two spellings of one tree meet.
func workspace(cwd string) string {
	cwd = strings.ReplaceAll(trim(cwd), `\`, "/")
	if len(cwd) >= 2 && cwd[1] == ':' {
		cwd = strings.ToLower(cwd[:1]) + cwd[1:]
	}
	if len(cwd) > 1 {
		cwd = strings.TrimRight(cwd, "/")
	}
	return cwd
}

// Collisions groups the online actors that declare the same cwd=, in the
// order of their first occupant. Only spelling is folded: backslashes, the
// drive's case, a trailing slash.
func (s *State) Collisions() []Collision {
	groups := map[string][]*actor{}
	var order []string
	for i := range s.actors {
		a := &s.actors[i]
		cwd := workspace(declared(a, "cwd="))
		if cwd == "" || s.status(a, s.lastAt) != Online {
			continue
		}
		if groups[cwd] == nil {
			order = append(order, cwd)
		}
		groups[cwd] = append(groups[cwd], a)
	}
	out := []Collision{}
	for _, cwd := range order {
		if len(groups[cwd]) < 2 {
			continue
		}
		c := Collision{CWD: cwd, Branches: []string{}}
		for _, a := range groups[cwd] {
			o := Occupant{Ref: a.ref, Status: Online, LastSeenAt: s.textOf(a.lastSeenAt)}
			if b := declared(a, "branch="); b != "" {
				o.Branch = &b
				if !slices.Contains(c.Branches, b) {
					c.Branches = append(c.Branches, b)
				}
			}
			c.Refs, c.Occupants = append(c.Refs, a.ref), append(c.Occupants, o)
		}
		out = append(out, c)
	}
	return out
}

// PeersFor lists the other actors than the one the address names, as of at.
func (s *State) PeersFor(address, at string) *Peers {
	self := -1
	if i, refusal := s.resolve("", address); refusal == "" {
		self = i
	}
	p := &Peers{Actors: []Peer{}}
	var now instant
	if ms, ok := parseInstant(at); ok {
		now = instant(ms)
	}
	for _, status := range []string{Online, Stale} {
		for i := range s.actors {
			a := &s.actors[i]
			if i == self || s.status(a, now) != status {
				continue
			}
			if len(p.Actors) == MaxPeers {
				p.More++
				continue
			}
			p.Actors = append(p.Actors, Peer{a.ref, clip(a.name), clip(a.kind), status})
		}
	}
	return p
}
