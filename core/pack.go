package core

import (
	"slices"
	"time"
)

// What a fold keeps of a log lives in every server process, so it is packed:
// repeated strings are kept once, instants and minted ids as numbers, and of a
// message only what can't be derived. A message that isn't as this bus writes
// them is kept whole beside its packed form, so that it is shown and reported
// as it stands in the log.

// A symbol is a string of the fold's table; 0 is none.
type symbol int32

// symbols keeps each string once.
type symbols struct {
	strings []string
	index   map[string]symbol
}

func newSymbols() symbols {
	return symbols{[]string{""}, map[string]symbol{}}
}

func (t *symbols) of(s string) symbol {
	if y, ok := t.index[s]; ok {
		return y
	}
	return t.add(s)
}

func (t *symbols) add(s string) symbol {
	y := symbol(len(t.strings))
	t.strings = append(t.strings, s)
	t.index[s] = y
	return y
}

// ofBytes gives the table's own string for b, so that a repeated one costs
// no memory.
func (t *symbols) ofBytes(b []byte) string {
	if y, ok := t.index[string(b)]; ok {
		return t.strings[y]
	}
	return t.strings[t.add(string(b))]
}

func (t *symbols) string(y symbol) string { return t.strings[y] }

// An instant is milliseconds since 1970 where that spells the very text that
// stood in the log, else minus the text's symbol; 0 is none.
type instant int64

func (s *State) instantOf(text string) instant {
	if ms, ok := parseInstant(text); ok {
		return instant(ms)
	}
	return -instant(s.symbols.of(text))
}

func (s *State) textOf(i instant) string {
	if i <= 0 {
		return s.symbols.string(symbol(-i))
	}
	return FormatTime(time.UnixMilli(int64(i)))
}

// textOrNil is textOf, nil for none.
func (s *State) textOrNil(i instant) *string {
	if i == 0 {
		return nil
	}
	t := s.textOf(i)
	return &t
}

// millis is the instant as a number; ok is false for a text that is no instant.
func (s *State) millis(i instant) (ms int64, ok bool) {
	if i > 0 {
		return int64(i), true
	}
	t, err := time.Parse(time.RFC3339Nano, s.textOf(i))
	return t.UnixMilli(), err == nil
}

// parseInstant reads exactly what FormatTime writes, after 1970.
func parseInstant(s string) (ms int64, ok bool) {
	if len(s) != len("2006-01-02T15:04:05.000Z") {
		return 0, false
	}
	n := func(from, to int) int {
		v := 0
		for _, c := range []byte(s[from:to]) {
			if c < '0' || c > '9' {
				ok = false
				return 0
			}
			v = v*10 + int(c-'0')
		}
		return v
	}
	ok = true
	year, month, day := n(0, 4), n(5, 7), n(8, 10)
	hour, minute, second, milli := n(11, 13), n(14, 16), n(17, 19), n(20, 23)
	if !ok || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != '.' || s[23] != 'Z' ||
		month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	ms = (daysSince1970(year, month, day)*86400+int64(hour*3600+minute*60+second))*1000 + int64(milli)
	return ms, ms > 0
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts days of the proleptic Gregorian calendar, with years
// that begin in March so that the leap day comes last.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return int64(365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468)
}

// message is one message as the fold keeps it.
type message struct {
	text                      string
	odd                       *Message // as it stood, where it isn't as this bus writes
	asked                     *asked   // nil: no authority was asked for
	ackNote                   *string
	cor                       int64 // n of a cor-NNNN as minted, else minus a symbol
	sentAt, delivered, acked  instant
	from, to, reply, ackedBy  symbol
	fromName, toName, replyNm symbol
	kind                      symbol
	expects, flagged          bool
	minted                    bool // the correlation id is the issuer's next: the bus's choice, or a caller's guess of it
	handoff                   bool
}

// messages is a list that grows without moving: a slice that grows is copied
// again and again, which was a third of a first call on 100,000 messages.
type messages struct {
	blocks []*[messageBlock]message
	n      int
}

const messageBlock = 256

func (l *messages) at(i int) *message { return &l.blocks[i/messageBlock][i%messageBlock] }

func (l *messages) add(p message) {
	if l.n == len(l.blocks)*messageBlock {
		l.blocks = append(l.blocks, new([messageBlock]message))
	}
	l.n++
	*l.at(l.n - 1) = p
}

// asked is what became of the authority that a message asked for.
type asked struct{ granted, denied []string }

// Shared and never changed.
var (
	busAuthority   = []string{"send", "receive", "ack", "heartbeat", "handoff"}
	grantable      = []string{"read", "observe", "suggest", "draft", "report"}
	neverGrantable = []string{"approve", "merge", "push", "commit", "deploy", "config-write", "credential-read", "grant-authority", "execute", "admin"}
	noStrings      = []string{}
	flagsSet       = []string{authorityFlag}
)

// BusAuthority is what every actor may do: one constant list.
func BusAuthority() []string { return slices.Clone(busAuthority) }

// Grantable are the five advisory words; granting one has no effect.
func Grantable() []string { return slices.Clone(grantable) }

// NeverGrantable are the words that every reply lists as out of reach.
func NeverGrantable() []string { return slices.Clone(neverGrantable) }

// pack keeps m as the message numbered id.
func (s *State) pack(m *Message, id string) message {
	y := &s.symbols
	p := message{
		text: m.Text, sentAt: s.instantOf(m.SentAt),
		from: y.of(m.From), to: y.of(m.To), reply: y.of(m.ReplyTo),
		fromName: y.of(m.FromName), toName: y.of(m.ToName), replyNm: y.of(m.ReplyToName),
		kind: y.of(m.Kind), expects: m.ExpectsReply, flagged: len(m.Flags) > 0,
	}
	if n, ok := number(m.CorrelationID, "cor-"); ok && n > 0 {
		p.cor = n
	} else {
		p.cor = -int64(y.of(m.CorrelationID))
	}
	if m.DeliveredAt != nil {
		p.delivered = s.instantOf(*m.DeliveredAt)
	}
	if m.AckedBy != nil {
		p.ackedBy = y.of(*m.AckedBy)
	}
	if m.AckedAt != nil {
		p.acked = s.instantOf(*m.AckedAt)
	}
	if len(m.Authority.Granted)+len(m.Authority.Denied) > 0 {
		p.asked = &asked{slices.Clone(m.Authority.Granted), slices.Clone(m.Authority.Denied)}
	}
	if m.MessageID != id || m.Trust != trustLabel || m.Delivery != delivery || m.Authority.Effect != "none" ||
		!slices.Equal(m.Authority.NeverGrantable, neverGrantable) || len(m.Flags) > 1 || p.flagged && m.Flags[0] != authorityFlag {
		whole := *m
		whole.Flags = slices.Clone(m.Flags)
		whole.Authority.Granted = slices.Clone(m.Authority.Granted)
		whole.Authority.Denied = slices.Clone(m.Authority.Denied)
		whole.Authority.NeverGrantable = slices.Clone(m.Authority.NeverGrantable)
		p.odd = &whole
	}
	return p
}

// message is the i-th message as it is now. Its slices are shared: they must
// not be changed.
func (s *State) message(i int) Message {
	p := s.messages.at(i)
	var m Message
	if p.odd != nil {
		m = *p.odd
	} else {
		y := &s.symbols
		m = Message{
			MessageID: s.messageID(i), CorrelationID: s.correlationOf(p),
			From: y.string(p.from), FromName: y.string(p.fromName), To: y.string(p.to), ToName: y.string(p.toName),
			ReplyTo: y.string(p.reply), ReplyToName: y.string(p.replyNm), ExpectsReply: p.expects, Kind: y.string(p.kind),
			Text: p.text, Trust: trustLabel, Authority: Authority{noStrings, noStrings, "none", neverGrantable},
			Flags: noStrings, SentAt: s.textOf(p.sentAt), Delivery: delivery,
		}
		if p.asked != nil {
			m.Authority.Granted, m.Authority.Denied = p.asked.granted, p.asked.denied
		}
		if p.flagged {
			m.Flags = flagsSet
		}
	}
	if p.delivered != 0 {
		m.DeliveredAt = s.textOrNil(p.delivered)
	}
	if p.ackedBy != 0 {
		by := s.symbols.string(p.ackedBy)
		m.AckedBy = &by
	}
	if p.acked != 0 {
		m.AckedAt = s.textOrNil(p.acked)
	}
	return m
}

func (s *State) correlationOf(p *message) string {
	if p.cor > 0 {
		return mint("cor-", p.cor)
	}
	return s.symbols.string(symbol(-p.cor))
}

// messageID is the i-th message's id: its number is its place, but for logs
// that another hand wrote.
func (s *State) messageID(i int) string {
	if odd := s.messages.at(i).odd; odd != nil {
		return odd.MessageID
	}
	return mint("msg-", int64(i)+1)
}

// messageAt finds a message by its id: the newest of that id.
func (s *State) messageAt(id string) (int, bool) {
	if i, ok := s.oddIDs[id]; ok {
		return i, true
	}
	n, ok := number(id, "msg-")
	if !ok || n < 1 || n > int64(s.messages.n) || s.messages.at(int(n-1)).odd != nil && s.messages.at(int(n-1)).odd.MessageID != id {
		return 0, false
	}
	return int(n - 1), true
}
