package core

import (
	"slices"
	"strings"
	"time"
)

// Reference is the fold as it was first described, naive on purpose: it walks
// plain lists and ages every actor at every event, so that folding costs
// events × actors. It is the executable specification that [State] is held to
// by a property test on any log, and the lab's baseline for the cost of
// replay. Nothing else uses it.
type Reference struct {
	snapshot Snapshot
	named    []int // for each actor, the number of the event that gave it its name
}

// NewReference is the reference fold of an empty log.
func NewReference() *Reference {
	return &Reference{snapshot: Snapshot{Actors: []ActorView{}, Messages: []MessageView{}, Handoffs: []string{}, AuthorityDenials: []Denial{}}}
}

// Snapshot is what [State.Snapshot] must equal after the same events. It
// fills in what is asked of the whole: names shared, messages waiting.
func (r *Reference) Snapshot() Snapshot {
	n := &r.snapshot
	for i := range n.Actors {
		a := &n.Actors[i]
		a.NameSharedWith, a.Pending = []string{}, []string{}
		for _, b := range r.bearers(a.Name) {
			if ref := n.Actors[b].Ref; ref != a.Ref {
				a.NameSharedWith = append(a.NameSharedWith, ref)
			}
		}
		for _, m := range n.Messages {
			if m.To == a.Ref && m.AckedBy == nil {
				a.Pending = append(a.Pending, m.MessageID)
			}
		}
	}
	return *n
}

// Apply folds one event.
func (r *Reference) Apply(e Event) {
	n := &r.snapshot
	n.Counters.Event++
	switch e := e.(type) {
	case *ActorRegistered:
		r.register(e)
	case *MessageSent:
		m := e.Message
		n.Messages = append(n.Messages, MessageView{Message: m})
		if k, ok := number(m.MessageID, "msg-"); ok {
			n.Counters.Message = max(n.Counters.Message, k)
		}
		if k, claims := claim(m.CorrelationID); claims && k < CorrelationCeiling {
			n.Counters.Correlation = max(n.Counters.Correlation, k)
		}
	case *AuthorityDenied:
		n.AuthorityDenials = append(n.AuthorityDenials, Denial{e.MessageID, e.Requested})
	case *InboxPolled:
		if a := r.actor(e.ActorID); a != nil {
			a.LastSeenAt = e.At
			for _, id := range e.MessageIDs {
				if m := r.message(id); m != nil && m.DeliveredAt == nil {
					m.DeliveredAt = &e.At
				}
			}
		}
	case *MessageAcked:
		if a := r.actor(e.ActorID); a != nil {
			a.LastSeenAt = e.At
		}
		if m := r.message(e.MessageID); m != nil {
			m.AckedBy, m.AckedAt, m.AckNote = &e.ActorID, &e.At, e.Note
		}
	case *ActorHeartbeat:
		if a := r.actor(e.ActorID); a != nil {
			a.LastSeenAt = e.At
			a.Heartbeats++
		}
	case *WorkHandedOff:
		n.Handoffs = append(n.Handoffs, e.MessageID)
	case *CommandRejected:
		n.Rejections++
	default:
		r.unknown(e.EventType())
	}
	if at := e.EventAt(); at != "" || known(e) {
		n.LastEventAt = &at
	}
	r.age()
}

// age brings every actor up to date with the newest event: the cost that the
// bus's own fold does without.
func (r *Reference) age() {
	n := &r.snapshot
	if n.LastEventAt == nil {
		return
	}
	for i := range n.Actors {
		a := &n.Actors[i]
		a.Status = Online
		seen, err := time.Parse(time.RFC3339Nano, a.LastSeenAt)
		now, late := time.Parse(time.RFC3339Nano, *n.LastEventAt)
		if err == nil && late == nil && now.UnixMilli()-seen.UnixMilli() > StaleAfter.Milliseconds() {
			a.Status = Stale
		}
	}
}

func (r *Reference) actor(ref string) *ActorView {
	for i := range r.snapshot.Actors {
		if r.snapshot.Actors[i].Ref == ref {
			return &r.snapshot.Actors[i]
		}
	}
	return nil
}

func (r *Reference) unknown(typ string) {
	n := &r.snapshot
	i, found := slices.BinarySearchFunc(n.UnknownEvents, typ, func(c TypeCount, t string) int { return strings.Compare(c.Type, t) })
	if !found {
		n.UnknownEvents = slices.Insert(n.UnknownEvents, i, TypeCount{Type: typ})
	}
	n.UnknownEvents[i].Count++
}

// message is the newest message of that id.
func (r *Reference) message(id string) *MessageView {
	for i := range slices.Backward(r.snapshot.Messages) {
		if r.snapshot.Messages[i].MessageID == id {
			return &r.snapshot.Messages[i]
		}
	}
	return nil
}

// bearers are the actors of that name, in the order they took it.
func (r *Reference) bearers(name string) []int {
	var bearers []int
	for i := range r.snapshot.Actors {
		if r.snapshot.Actors[i].Name == name {
			bearers = append(bearers, i)
		}
	}
	slices.SortStableFunc(bearers, func(a, b int) int { return r.named[a] - r.named[b] })
	return bearers
}

func (r *Reference) register(e *ActorRegistered) {
	n := &r.snapshot
	i := slices.IndexFunc(n.Actors, func(a ActorView) bool { return a.Ref == e.Ref })
	if i < 0 {
		i = len(n.Actors)
		n.Actors = append(n.Actors, ActorView{Ref: e.Ref, RegisteredAt: e.At})
		r.named = append(r.named, n.Counters.Event)
		if k, ok := number(e.Ref, "act-"); ok {
			n.Counters.Actor = max(n.Counters.Actor, k)
		}
	} else if n.Actors[i].Name != e.Name {
		r.named[i] = n.Counters.Event
	}
	a := &n.Actors[i]
	a.Name, a.Kind, a.LastSeenAt = e.Name, e.Kind, e.At
	a.DeclaredCapabilities, a.BusAuthority = slices.Clone(e.DeclaredCapabilities), slices.Clone(e.BusAuthority)
}
