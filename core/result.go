package core

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
