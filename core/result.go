package core

import "github.com/go-json-experiment/json/jsontext"

// A Result is what a verb answers: one of [RegisterResult], [SendResult],
// [InboxResult], [AckResult], [HeartbeatResult], [HandoffResult], by pointer.
// Marshal it with [AppendResult], which writes JSON.stringify's bytes.
type Result interface{ verb() Verb }

// RegisterResult answers register.
type RegisterResult struct {
	Ref            string   `json:"ref"`
	Name           string   `json:"name"`
	BusAuthority   []string `json:"busAuthority"`
	NameSharedWith []string `json:"nameSharedWith"`
	Addressing     string   `json:"addressing"`
	Peers          *Peers   `json:"peers,omitzero"`
}

// SendResult answers send.
type SendResult struct {
	MessageID     string    `json:"messageId"`
	CorrelationID string    `json:"correlationId"`
	Route         string    `json:"route"`
	ReplyTo       string    `json:"replyTo"`
	Authority     Authority `json:"authority"`
	Delivery      string    `json:"delivery"`
}

// InboxResult answers inbox: whole unacknowledged messages, oldest first, as
// they were before this poll.
type InboxResult struct {
	ActorID string    `json:"actorId"`
	Pending []Message `json:"pending"`
	// Remaining counts the waiting messages after this page, and Next is the
	// messageId to pass as after; both only when some are left.
	Remaining int    `json:"remaining,omitzero"`
	Next      string `json:"next,omitzero"`
	Peers     *Peers `json:"peers,omitzero"`
}

// jsonSize is how many bytes m is in a result: what it is made of is measured
// and not written, as this is done in the lock for each message that waits.
func (m *Message) jsonSize() int {
	n := emptyMessageSize
	var buf [256]byte
	text := func(s string) {
		b, _ := jsontext.AppendQuote(buf[:0], s)
		n += len(b) - len(`""`)
	}
	list := func(l []string) {
		for i, s := range l {
			text(s)
			n += len(`"",`)
			if i == 0 {
				n -= len(",")
			}
		}
	}
	orNull := func(s *string) {
		if s != nil {
			text(*s)
			n += len(`""`) - len("null")
		}
	}
	for _, s := range []string{m.MessageID, m.CorrelationID, m.From, m.FromName, m.To, m.ToName, m.ReplyTo, m.ReplyToName, m.Kind, m.Text, m.Trust,
		m.Authority.Effect, m.SentAt, m.Delivery} {
		text(s)
	}
	if m.ExpectsReply {
		n -= len("false") - len("true")
	}
	list(m.Authority.Granted)
	list(m.Authority.Denied)
	list(m.Authority.NeverGrantable)
	list(m.Flags)
	orNull(m.DeliveredAt)
	orNull(m.AckedBy)
	orNull(m.AckedAt)
	return n
}

var emptyMessageSize = len(appendJSON(nil, Message{}))

// AckResult answers ack.
type AckResult struct {
	MessageID string `json:"messageId"`
	AckedBy   string `json:"ackedBy"`
	Meaning   string `json:"meaning"`
}

// HeartbeatResult answers heartbeat.
type HeartbeatResult struct {
	ActorID string `json:"actorId"`
	At      string `json:"at"`
	Peers   *Peers `json:"peers,omitzero"`
}

// HandoffResult answers handoff.
type HandoffResult struct {
	MessageID            string   `json:"messageId"`
	CorrelationID        string   `json:"correlationId"`
	ReplyTo              string   `json:"replyTo"`
	AuthorityTransferred []string `json:"authorityTransferred"`
	Delivery             string   `json:"delivery"`
}

// Peers are the other actors of the bus, for no verb lists them: at most
// [MaxPeers], online before stale, then by ref; More counts the rest. The
// edge puts them in, from the state the command was decided on; Decide
// leaves them nil.
type Peers struct {
	Actors []Peer `json:"actors"`
	More   int    `json:"more"`
}

// Peer is one other actor as a caller needs it to write an address.
type Peer struct {
	Ref    string `json:"ref"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
}

func (*RegisterResult) verb() Verb  { return Register }
func (*SendResult) verb() Verb      { return Send }
func (*InboxResult) verb() Verb     { return Inbox }
func (*AckResult) verb() Verb       { return Ack }
func (*HeartbeatResult) verb() Verb { return Heartbeat }
func (*HandoffResult) verb() Verb   { return Handoff }
