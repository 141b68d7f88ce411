package mcp

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gaia/eventlog"
)

// Envelope is what every call answers, as the text of its one content item
// and as its structuredContent, the same bytes in both. Result stays raw,
// byte for byte, and is null on a refusal.
type Envelope struct {
	OK             bool           `json:"ok"`
	FailClosed     bool           `json:"failClosed,omitzero"`
	Code           string         `json:"code,omitzero"`
	Error          *string        `json:"error"`
	Result         jsontext.Value `json:"result"`
	EventsAppended EventTypes     `json:"eventsAppended"` // nil only where the outcome is unknown
}

// EventTypes are the types of events in their order. Nil is JSON's null: not
// known, where empty is none.
type EventTypes []string

// MarshalJSONTo keeps the two apart.
func (t EventTypes) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t == nil {
		return enc.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(enc, []string(t))
}

// The codes of a fail-closed envelope: nothing was written, or it isn't known,
// and a person must look.
const (
	CodeLockTimeout  = "GAIA_LOCK_TIMEOUT"
	CodeLogCorrupt   = "GAIA_LOG_CORRUPT"
	CodeUnreplayable = "GAIA_LOG_UNREPLAYABLE"
	CodeIO           = "GAIA_IO"
)

// FailClosed is the envelope for an error of the log's.
func FailClosed(err error) Envelope {
	var (
		timeout      *eventlog.LockTimeoutError
		corrupt      *eventlog.CorruptError
		unreplayable *eventlog.UnreplayableError
		io           *eventlog.IOError
	)
	text := err.Error()
	e := Envelope{FailClosed: true, Code: CodeIO, Error: &text, EventsAppended: EventTypes{}}
	switch {
	case errors.As(err, &timeout):
		e.Code = CodeLockTimeout
	case errors.As(err, &corrupt):
		e.Code = CodeLogCorrupt
	case errors.As(err, &unreplayable):
		e.Code = CodeUnreplayable
	case errors.As(err, &io) && io.OutcomeUnknown:
		e.EventsAppended = nil
	case errors.As(err, &io):
		text += "; check the disk and the directory's permissions, then run `gaia doctor`"
	}
	return e
}

// encode gives the bytes that go on the wire, in JSON.stringify's spelling.
func (e Envelope) encode() ([]byte, error) {
	return json.Marshal(e, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
}
