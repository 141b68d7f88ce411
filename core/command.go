package core

import "github.com/go-json-experiment/json/jsontext"

// A Command is one call to the bus, before anything about it is trusted.
type Command struct {
	// Verb is the name as the caller spelled it. It may be any text;
	// UnknownVerb where the caller gave none.
	Verb string
	// At is the instant of the call in the form of [FormatTime]. The edge
	// reads the clock once a call, inside the lock.
	At string
	// Args is the JSON value of the arguments, as it arrived. Empty and null
	// mean no arguments; anything but an object is refused.
	Args jsontext.Value
}

// UnknownVerb stands in command.rejected where the caller named no verb.
const UnknownVerb = "unknown"

// A Decision is what a command does to the bus, as a value.
type Decision struct {
	// Events are what to append, in order. Empty only when an idempotency
	// key is answered again.
	Events []Event
	// Result is the verb's result, nil for a refusal.
	Result Result
	// Refusal says in one line why the bus said no; empty when it said yes.
	Refusal string
}

// Refused tells whether the bus said no.
func (d Decision) Refused() bool { return d.Refusal != "" }
