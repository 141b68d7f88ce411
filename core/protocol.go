package core

import "time"

// A Verb is one of the six names a call may have.
type Verb string

// The six verbs.
const (
	Register  Verb = "register"
	Send      Verb = "send"
	Inbox     Verb = "inbox"
	Ack       Verb = "ack"
	Heartbeat Verb = "heartbeat"
	Handoff   Verb = "handoff"
)

// Verbs are the six in the protocol's order. The caller may keep the slice.
func Verbs() []Verb { return []Verb{Register, Send, Inbox, Ack, Heartbeat, Handoff} }

// The constants of protocol gaia-interagent-bus/1.0.
const (
	Protocol   = "gaia-interagent-bus/1.0"
	ServerName = "gaia-interagent-bus"
	// ClientKey is the name under which clients' configurations list the server.
	ClientKey = "gaia-interagent"
	// StaleAfter is how far an actor's last sighting may lie behind the
	// newest event before it is shown as stale.
	StaleAfter = 30_000 * time.Millisecond
	// CorrelationCeiling is 2^53-1, the last integer every JSON reader agrees on.
	CorrelationCeiling = 1<<53 - 1
	// ClaimWindow bounds how far ahead of the issuer a caller may claim a cor-N.
	ClaimWindow = 1_000_000
	// MaxPeers bounds Peers.Actors.
	MaxPeers = 32
	// InboxPageBytes bounds the JSON of one inbox page's messages.
	InboxPageBytes = 40_000
	// MaxIdempotencyKey is in characters (UTF-16 code units, as JavaScript counts).
	MaxIdempotencyKey = 128
)
