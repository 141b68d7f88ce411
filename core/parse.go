package core

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNotEvent is returned when a line is not one JSON object with a string
// type: damage. ErrUnreplayable is returned when a line of a known type has a
// missing or mistyped member.
var (
	ErrNotEvent     = errors.New("not an event")
	ErrUnreplayable = errors.New("not replayable")
)

// ParseEvent reads one line of the log, without its newline.
func ParseEvent(line []byte) (Event, error) {
	if !utf8.Valid(line) {
		return nil, fmt.Errorf("%w: invalid UTF-8", ErrNotEvent)
	}
	m, err := readMembers(line, true)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotEvent, err)
	}
	typ := m.str("type")
	if m.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotEvent, m.err)
	}
	e := readEvent(typ, &m)
	if e == nil {
		at := ""
		if v := m.values["at"]; v.Kind() == '"' {
			at = text(v)
		}
		return &UnknownEvent{Type: typ, At: at, Raw: append([]byte(nil), line...)}, nil
	}
	if m.err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreplayable, typ, m.err)
	}
	return e, nil
}

func readEvent(typ string, m *members) Event {
	switch typ {
	case "actor.registered":
		return &ActorRegistered{typ, m.str("at"), m.str("ref"), m.str("name"), m.boolean("isNew"), m.str("kind"), m.strs("declaredCapabilities"), m.strs("busAuthority")}
	case "message.sent":
		e := &MessageSent{Type: typ, At: m.str("at")}
		g := m.object("message")
		a := g.object("authority")
		e.Message = Message{
			MessageID: g.str("messageId"), CorrelationID: g.str("correlationId"), From: g.str("from"), FromName: g.str("fromName"),
			To: g.str("to"), ToName: g.str("toName"), ReplyTo: g.str("replyTo"), ReplyToName: g.str("replyToName"),
			ExpectsReply: g.boolean("expectsReply"), Kind: g.str("kind"), Text: g.str("text"), Trust: g.str("trust"),
			Authority: Authority{Granted: a.strs("granted"), Denied: a.strs("denied"), Effect: a.str("effect"), NeverGrantable: a.strs("neverGrantable")},
			Flags:     g.strs("flags"), SentAt: g.str("sentAt"), Delivery: g.str("delivery"),
			DeliveredAt: g.strOrNull("deliveredAt"), AckedBy: g.strOrNull("ackedBy"), AckedAt: g.strOrNull("ackedAt"),
		}
		g.adopt("authority", &a)
		m.adopt("message", &g)
		if _, ok := m.values["idempotencyKey"]; ok {
			e.IdempotencyKey = m.str("idempotencyKey")
		}
		return e
	case "authority.denied":
		return &AuthorityDenied{typ, m.str("at"), m.str("messageId"), m.str("from"), m.str("to"), m.strs("requested"), m.str("outcome")}
	case "inbox.polled":
		return &InboxPolled{typ, m.str("at"), m.str("actorId"), m.strs("messageIds")}
	case "message.acked":
		return &MessageAcked{typ, m.str("at"), m.str("actorId"), m.str("messageId"), m.strOrNull("note")}
	case "actor.heartbeat":
		return &ActorHeartbeat{typ, m.str("at"), m.str("actorId"), m.strOrNull("note")}
	case "work.handed-off":
		return &WorkHandedOff{typ, m.str("at"), m.str("from"), m.str("to"), m.str("messageId"), m.str("correlationId"), m.str("replyTo"), m.str("summary"), m.strs("authorityTransferred")}
	case "command.rejected":
		return &CommandRejected{typ, m.str("at"), m.str("command"), m.str("reason")}
	}
	return nil
}

// AppendEvent appends the event's line, without a newline, to dst.
func AppendEvent(dst []byte, e Event) []byte {
	if u, ok := e.(*UnknownEvent); ok {
		return append(dst, u.Raw...)
	}
	return appendJSON(dst, e)
}

// AppendResult appends the result's JSON to dst.
func AppendResult(dst []byte, r Result) []byte { return appendJSON(dst, r) }

func appendJSON(dst []byte, v any) []byte {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("core: an event or result that can't be JSON: " + err.Error()) // only our own structs come here
	}
	return append(dst, b...)
}

// FormatTime writes an instant as events do: RFC 3339, UTC, milliseconds, Z.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
