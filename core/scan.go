package core

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FoldLine parses one line of the log, without its newline, and applies it.
// It is [ParseEvent] and [Apply], with a shorter way for the lines that this
// bus writes: their members stand in one known order, so most of a line is
// compared and not parsed. Whatever deviates by a byte goes the long way,
// and a fuzz test holds the two equal.
func FoldLine(s *State, line []byte) error {
	e, err := s.read(line)
	if err == nil {
		Apply(s, e)
	}
	return err
}

// CheckLine tells whether FoldLine would take a line. It folds nothing.
func CheckLine(s *State, line []byte) error {
	_, err := s.read(line)
	return err
}

func (s *State) read(line []byte) (Event, error) {
	if e := s.scan(line); e != nil {
		return e, nil
	}
	return ParseEvent(line)
}

// scan reads a line that is byte for byte as we write it, or returns nil. What
// Apply doesn't look at (a summary, a reason) is checked and not built, and
// the event is good until the next call.
func (s *State) scan(line []byte) Event {
	typ, rest, ok := bytes.Cut(line, []byte(`","at":"`))
	if !ok || !utf8.Valid(line) {
		return nil
	}
	c := &cursor{rest: rest, symbols: &s.symbols}
	rawAt, escaped := c.raw()
	at := c.value(rawAt, escaped)
	var e Event
	switch string(typ) {
	case `{"type":"message.sent`:
		e = s.scanMessage(c, at, rawAt)
	case `{"type":"inbox.polled`:
		p := &InboxPolled{Type: "inbox.polled", At: at, ActorID: c.name(`,"actorId":"`)}
		p.MessageIDs = c.list(`,"messageIds":[`)
		e = p
	case `{"type":"message.acked`:
		e = &MessageAcked{Type: "message.acked", At: at, ActorID: c.name(`,"actorId":"`), MessageID: c.text(`,"messageId":"`), Note: c.textOrNull(`,"note":`)}
	case `{"type":"actor.heartbeat`:
		h := &ActorHeartbeat{Type: "actor.heartbeat", At: at, ActorID: c.name(`,"actorId":"`)}
		c.textOrNull(`,"note":`)
		e = h
	case `{"type":"authority.denied`:
		e = &AuthorityDenied{Type: "authority.denied", At: at, MessageID: c.text(`,"messageId":"`), From: c.name(`,"from":"`), To: c.name(`,"to":"`),
			Requested: c.list(`,"requested":[`)}
		c.literal(`,"outcome":"` + deniedOutcome + `"`)
	case `{"type":"work.handed-off`:
		h := &WorkHandedOff{Type: "work.handed-off", At: at, From: c.name(`,"from":"`), To: c.name(`,"to":"`), MessageID: c.text(`,"messageId":"`)}
		c.skip(`,"correlationId":"`)
		h.ReplyTo = c.name(`,"replyTo":"`)
		c.skip(`,"summary":"`)
		c.literal(`,"authorityTransferred":[]`)
		e = h
	case `{"type":"command.rejected`:
		e = &CommandRejected{Type: "command.rejected", At: at}
		c.skip(`,"command":"`)
		c.skip(`,"reason":"`)
	default:
		return nil
	}
	c.literal(`}`)
	if c.failed || len(c.rest) > 0 {
		return nil
	}
	return e
}

const (
	trustAndGranted = `,"trust":"` + trustLabel + `","authority":{"granted":[`
	effectAndNever  = `,"effect":"none","neverGrantable":["approve","merge","push","commit","deploy","config-write","credential-read","grant-authority","execute","admin"]},"flags":[`
	endOfMessage    = `,"delivery":"` + delivery + `","deliveredAt":null,"ackedBy":null,"ackedAt":null}`
)

func (s *State) scanMessage(c *cursor, at string, rawAt []byte) Event {
	e := &s.scratch
	*e = MessageSent{Type: "message.sent", At: at}
	m := &e.Message
	m.MessageID = c.text(`,"message":{"messageId":"`)
	m.CorrelationID = c.text(`,"correlationId":"`)
	m.From, m.FromName = c.name(`,"from":"`), c.name(`,"fromName":"`)
	m.To, m.ToName = c.name(`,"to":"`), c.name(`,"toName":"`)
	m.ReplyTo, m.ReplyToName = c.name(`,"replyTo":"`), c.name(`,"replyToName":"`)
	if m.ExpectsReply = c.has(`,"expectsReply":true`); !m.ExpectsReply {
		c.literal(`,"expectsReply":false`)
	}
	m.Kind = c.name(`,"kind":"`)
	m.Text = c.text(`,"text":"`)
	m.Trust, m.Delivery = trustLabel, delivery
	m.Authority = Authority{Granted: c.list(trustAndGranted), Denied: c.list(`,"denied":[`), Effect: "none", NeverGrantable: neverGrantable}
	c.literal(effectAndNever)
	if c.has(`"` + authorityFlag + `"]`) {
		m.Flags = flagsSet
	} else {
		m.Flags = noStrings
		c.literal(`]`)
	}
	if c.has(`,"sentAt":"` + string(rawAt) + `"`) { // what stands there, not what it means
		m.SentAt = at
	} else {
		m.SentAt = c.text(`,"sentAt":"`)
	}
	c.literal(endOfMessage)
	if c.has(`,"idempotencyKey":`) {
		e.IdempotencyKey = c.text(`"`)
		c.failed = c.failed || e.IdempotencyKey == "" // not as we write it
	}
	return e
}

// A cursor walks a line that should be ours. It fails once and for good.
type cursor struct {
	rest    []byte
	symbols *symbols
	failed  bool
}

func (c *cursor) has(prefix string) bool {
	if len(c.rest) < len(prefix) || string(c.rest[:len(prefix)]) != prefix {
		return false
	}
	c.rest = c.rest[len(prefix):]
	return true
}

func (c *cursor) literal(want string) {
	if !c.has(want) {
		c.fail()
	}
}

func (c *cursor) fail() { c.failed, c.rest = true, nil }

// raw is the JSON string whose opening quote is behind: what stands between
// the quotes, and whether it holds escapes.
func (c *cursor) raw() (inner []byte, escaped bool) {
	for i := 0; i < len(c.rest); i++ {
		switch b := c.rest[i]; {
		case b == '"':
			inner, c.rest = c.rest[:i], c.rest[i+1:]
			return inner, escaped
		case b == '\\':
			escaped = true
			i++
		case b < ' ':
			c.fail()
			return nil, false
		}
	}
	c.fail()
	return nil, false
}

// open reads a string whose opening quote is behind.
func (c *cursor) open() string { return c.value(c.raw()) }

func (c *cursor) value(inner []byte, escaped bool) string {
	if !escaped {
		return string(inner)
	}
	return string(c.unquote(inner))
}

func (c *cursor) unquote(inner []byte) []byte {
	quoted := append(append([]byte{'"'}, inner...), '"')
	b, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		c.fail() // a lone surrogate, say: the long way knows
		return nil
	}
	return b
}

// text reads the string after prefix, which ends with its opening quote.
func (c *cursor) text(prefix string) string {
	c.literal(prefix)
	return c.open()
}

// name is text for what recurs in a log.
func (c *cursor) name(prefix string) string {
	c.literal(prefix)
	inner, escaped := c.raw()
	if c.failed {
		return ""
	}
	if escaped {
		inner = c.unquote(inner)
	}
	return c.symbols.ofBytes(inner)
}

// skip checks a string and builds nothing.
func (c *cursor) skip(prefix string) {
	c.literal(prefix)
	if inner, escaped := c.raw(); escaped {
		c.unquote(inner)
	}
}

func (c *cursor) textOrNull(prefix string) *string {
	c.literal(prefix)
	if c.has(`null`) {
		return nil
	}
	t := c.text(`"`)
	return &t
}

// list reads an array of strings whose opening bracket ends prefix.
func (c *cursor) list(prefix string) []string {
	c.literal(prefix)
	if c.has(`]`) {
		return noStrings
	}
	var l []string
	for !c.failed {
		l = append(l, c.text(`"`))
		if c.has(`]`) {
			break
		}
		c.literal(`,`)
	}
	return l
}
