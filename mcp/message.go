package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of our own, outside the range that JSON-RPC reserves for itself.
const (
	codeCancelled    = -32800 // the client took the call back, in time
	codeShuttingDown = -32801 // the server was told to end before the call's turn came
)

// A message is one line as far as the wire is concerned: its values are the
// line's own bytes. No id makes it a notification, no method a response.
type message struct {
	id       jsontext.Value
	method   string
	params   jsontext.Value // nil where absent or null
	response bool
}

// What the wire lets pass and leaves to the bus to refuse, so that the refusal
// is on record: lone surrogates and names given twice, inside arguments.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parseMessage reads one line. An error of it is answered with a null id.
func parseMessage(line []byte) (message, *jsonrpc.Error) {
	if !utf8.Valid(line) {
		return message{}, parseError("the line is not UTF-8")
	}
	var m message
	var version, method jsontext.Value
	answers := false
	err := eachMember(line, func(name string, value jsontext.Value) error {
		var dst *jsontext.Value
		switch name {
		case "jsonrpc":
			dst = &version
		case "id":
			dst = &m.id
		case "method":
			dst = &method
		case "params":
			dst = &m.params
		case "result", "error":
			answers = true
			return nil
		default:
			return nil
		}
		if *dst != nil {
			return fmt.Errorf("member %q is given twice", name)
		}
		*dst = value
		return nil
	})
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		return message{}, parseError("the line is not one JSON value: " + brief(strings.TrimPrefix(syntax.Error(), "jsontext: ")))
	case err != nil:
		return message{}, invalidRequest(err.Error())
	case string(version) != `"2.0"`:
		return message{}, invalidRequest(`want "jsonrpc":"2.0"`)
	case m.id != nil && m.id.Kind() != '"' && m.id.Kind() != '0':
		return message{}, invalidRequest("an id is a string or a number")
	case method == nil && m.id == nil:
		return message{}, invalidRequest("neither a method nor an id")
	case method == nil && !answers:
		return message{}, invalidRequest("an id without a method, a result or an error")
	case method != nil && method.Kind() != '"':
		return message{}, invalidRequest("a method is a string")
	}
	m.method, m.response = unquote(method), method == nil
	if string(m.params) == "null" {
		m.params = nil
	}
	return m, nil
}

// idKey is equal for ids that a client would take for the same: strings by
// their text, numbers by their digits.
func idKey(id jsontext.Value) string {
	if id.Kind() == '"' {
		return `"` + unquote(id)
	}
	return string(id)
}

// A toolCall is what the bus needs of tools/call's params.
type toolCall struct {
	name string // empty where there is none, or it isn't a string
	args jsontext.Value
	meta jsontext.Value
}

func parseToolCall(params jsontext.Value) (toolCall, *jsonrpc.Error) {
	var t toolCall
	if len(params) == 0 {
		return t, nil
	}
	seen := map[string]bool{}
	err := eachMember(params, func(name string, value jsontext.Value) error {
		if seen[name] {
			return fmt.Errorf("params: member %q is given twice", name)
		}
		seen[name] = true
		switch name {
		case "name":
			t.name = unquote(value)
		case "arguments":
			t.args = value
		case "_meta":
			t.meta = value
			return metaError(value)
		}
		return nil
	})
	if err != nil {
		return t, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: brief(err.Error())}
	}
	return t, nil
}

// checkMeta looks at another request's params: the SDK would refuse what is
// wrong there without naming it.
func checkMeta(params jsontext.Value) *jsonrpc.Error {
	if len(params) == 0 {
		return nil
	}
	err := eachMember(params, func(name string, value jsontext.Value) error {
		if name == "_meta" {
			return metaError(value)
		}
		return nil
	})
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: brief(err.Error())}
	}
	return nil
}

func metaError(meta jsontext.Value) error {
	if k := meta.Kind(); k != '{' && k != 'n' {
		return errors.New("invalid params: _meta: want an object")
	}
	return nil
}

// eachMember walks the members of the one object that data must hold. Values
// alias data.
func eachMember(data []byte, each func(name string, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), lenient...)
	if d.PeekKind() != '{' {
		// Read it all the same: what isn't JSON gets the other error.
		if err := d.SkipValue(); errors.Is(err, io.EOF) {
			return &jsontext.SyntacticError{Err: io.ErrUnexpectedEOF}
		} else if err != nil {
			return err
		}
		if err := onlySpace(d); err != nil {
			return err
		}
		return errors.New("want one JSON object a line; batches are not supported")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var bad error
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return cutShort(err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return cutShort(err)
		}
		if bad == nil {
			end := int(d.InputOffset())
			bad = each(name, data[end-len(value):end:end])
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return cutShort(err)
	}
	if err := onlySpace(d); err != nil {
		return err
	}
	return bad
}

func onlySpace(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	return &jsontext.SyntacticError{ByteOffset: d.InputOffset(), Err: errors.New("more than one value on the line")}
}

// cutShort makes an end inside a value the syntax error that it is here.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &jsontext.SyntacticError{Err: io.ErrUnexpectedEOF}
	}
	return err
}

// unquote gives a JSON string's text, lone surrogates as U+FFFD, and nothing
// for any other value.
func unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, v)
	return string(text)
}

// quote appends a JSON string in JSON.stringify's spelling.
func quote(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\uFFFD"))
	return dst
}

// brief keeps an error of another package to a length worth reading.
func brief(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func parseError(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: " + why}
}

func invalidRequest(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + why}
}
