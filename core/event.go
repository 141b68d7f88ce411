package core

// An Event is one record of the log: one of [ActorRegistered], [MessageSent],
// [AuthorityDenied], [InboxPolled], [MessageAcked], [ActorHeartbeat],
// [WorkHandedOff], [CommandRejected], by pointer, or a [UnknownEvent].
// Its JSON members stand in the order of the struct's fields.
type Event interface {
	// EventType is the record's "type" member.
	EventType() string
	// EventAt is the record's "at" member, empty where an unknown type has none.
	EventAt() string
}

// ActorRegistered is a new actor, or (IsNew false) an actor updated in place.
type ActorRegistered struct {
	Type                 string   `json:"type"`
	At                   string   `json:"at"`
	Ref                  string   `json:"ref"`
	Name                 string   `json:"name"`
	IsNew                bool     `json:"isNew"`
	Kind                 string   `json:"kind"`
	DeclaredCapabilities []string `json:"declaredCapabilities"`
	BusAuthority         []string `json:"busAuthority"`
}

// MessageSent is a message accepted for delivery.
type MessageSent struct {
	Type           string  `json:"type"`
	At             string  `json:"at"`
	Message        Message `json:"message"`
	IdempotencyKey string  `json:"idempotencyKey,omitzero"`
}

// Message is one message, in the log and in an inbox.
type Message struct {
	MessageID     string    `json:"messageId"`
	CorrelationID string    `json:"correlationId"`
	From          string    `json:"from"`
	FromName      string    `json:"fromName"`
	To            string    `json:"to"`
	ToName        string    `json:"toName"`
	ReplyTo       string    `json:"replyTo"`
	ReplyToName   string    `json:"replyToName"`
	ExpectsReply  bool      `json:"expectsReply"`
	Kind          string    `json:"kind"`
	Text          string    `json:"text"`
	Trust         string    `json:"trust"`
	Authority     Authority `json:"authority"`
	Flags         []string  `json:"flags"`
	SentAt        string    `json:"sentAt"`
	Delivery      string    `json:"delivery"`
	DeliveredAt   *string   `json:"deliveredAt"`
	AckedBy       *string   `json:"ackedBy"`
	AckedAt       *string   `json:"ackedAt"`
}

// Authority is what became of the authority a message asked for.
type Authority struct {
	Granted        []string `json:"granted"`
	Denied         []string `json:"denied"`
	Effect         string   `json:"effect"`
	NeverGrantable []string `json:"neverGrantable"`
}

// AuthorityDenied records that a message asked for what nobody can grant here.
type AuthorityDenied struct {
	Type      string   `json:"type"`
	At        string   `json:"at"`
	MessageID string   `json:"messageId"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Requested []string `json:"requested"`
	Outcome   string   `json:"outcome"`
}

// InboxPolled records that an actor looked, and what it was shown.
type InboxPolled struct {
	Type       string   `json:"type"`
	At         string   `json:"at"`
	ActorID    string   `json:"actorId"`
	MessageIDs []string `json:"messageIds"`
}

// MessageAcked records receipt by the addressee, nothing more.
type MessageAcked struct {
	Type      string  `json:"type"`
	At        string  `json:"at"`
	ActorID   string  `json:"actorId"`
	MessageID string  `json:"messageId"`
	Note      *string `json:"note"`
}

// ActorHeartbeat records that an actor said it is alive.
type ActorHeartbeat struct {
	Type    string  `json:"type"`
	At      string  `json:"at"`
	ActorID string  `json:"actorId"`
	Note    *string `json:"note"`
}

// WorkHandedOff follows the MessageSent of a handoff.
type WorkHandedOff struct {
	Type                 string   `json:"type"`
	At                   string   `json:"at"`
	From                 string   `json:"from"`
	To                   string   `json:"to"`
	MessageID            string   `json:"messageId"`
	CorrelationID        string   `json:"correlationId"`
	ReplyTo              string   `json:"replyTo"`
	Summary              string   `json:"summary"`
	AuthorityTransferred []string `json:"authorityTransferred"`
}

// CommandRejected records a refusal.
type CommandRejected struct {
	Type    string `json:"type"`
	At      string `json:"at"`
	Command string `json:"command"`
	Reason  string `json:"reason"`
}

// UnknownEvent is a record of a type this version doesn't know. It is counted
// and otherwise ignored; Raw is its line.
type UnknownEvent struct {
	Type string
	At   string
	Raw  []byte
}

func (e *ActorRegistered) EventType() string { return e.Type }
func (e *MessageSent) EventType() string     { return e.Type }
func (e *AuthorityDenied) EventType() string { return e.Type }
func (e *InboxPolled) EventType() string     { return e.Type }
func (e *MessageAcked) EventType() string    { return e.Type }
func (e *ActorHeartbeat) EventType() string  { return e.Type }
func (e *WorkHandedOff) EventType() string   { return e.Type }
func (e *CommandRejected) EventType() string { return e.Type }
func (e *UnknownEvent) EventType() string    { return e.Type }

func (e *ActorRegistered) EventAt() string { return e.At }
func (e *MessageSent) EventAt() string     { return e.At }
func (e *AuthorityDenied) EventAt() string { return e.At }
func (e *InboxPolled) EventAt() string     { return e.At }
func (e *MessageAcked) EventAt() string    { return e.At }
func (e *ActorHeartbeat) EventAt() string  { return e.At }
func (e *WorkHandedOff) EventAt() string   { return e.At }
func (e *CommandRejected) EventAt() string { return e.At }
func (e *UnknownEvent) EventAt() string    { return e.At }
