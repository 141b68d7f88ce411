package core

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// members is one JSON object's members, read strictly and typed on demand. The
// first failing read sticks, so that a caller reads all and checks once.
type members struct {
	names  []string
	values map[string]jsontext.Value
	err    error
}

var errMissing = errors.New("missing")

// readMembers splits one JSON object. Duplicate names and invalid UTF-8 are
// errors; surrogates is whether a lone surrogate escape is readable (as U+FFFD).
func readMembers(object []byte, surrogates bool) (members, error) {
	m := members{values: map[string]jsontext.Value{}}
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(surrogates))
	open, err := dec.ReadToken()
	if err != nil {
		return m, err
	}
	if open.Kind() != '{' {
		return m, fmt.Errorf("a JSON %s where an object belongs", kindName(open.Kind()))
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return m, err
		}
		n := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return m, err
		}
		m.names = append(m.names, n)
		m.values[n] = v.Clone()
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return m, errors.New("more than one JSON value")
	}
	return m, nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "value"
}

func (m *members) fail(name, want string) {
	if m.err == nil {
		v, ok := m.values[name]
		if !ok {
			m.err = fmt.Errorf("%s: missing", name)
		} else {
			m.err = fmt.Errorf("%s: a JSON %s where %s belongs", name, kindName(v.Kind()), want)
		}
	}
}

func text(v jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil && len(b) == 0 {
		return ""
	}
	return string(b)
}

func (m *members) str(name string) string {
	v := m.values[name]
	if v.Kind() != '"' {
		m.fail(name, "a string")
		return ""
	}
	return text(v)
}

func (m *members) strOrNull(name string) *string {
	v := m.values[name]
	switch v.Kind() {
	case 'n':
		return nil
	case '"':
		s := text(v)
		return &s
	}
	m.fail(name, "a string or null")
	return nil
}

func (m *members) boolean(name string) bool {
	v := m.values[name]
	switch v.Kind() {
	case 't':
		return true
	case 'f':
		return false
	}
	m.fail(name, "a boolean")
	return false
}

func (m *members) strs(name string) []string {
	out, ok := stringArray(m.values[name])
	if !ok {
		m.fail(name, "an array of strings")
	}
	return out
}

func stringArray(v jsontext.Value) ([]string, bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	out := []string{}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	dec.ReadToken()
	for dec.PeekKind() != ']' {
		e, err := dec.ReadToken()
		if err != nil || e.Kind() != '"' {
			return nil, false
		}
		out = append(out, e.String())
	}
	return out, true
}

func (m *members) object(name string) members {
	v := m.values[name]
	if v.Kind() != '{' {
		m.fail(name, "an object")
		return members{err: errMissing}
	}
	inner, err := readMembers(v, true)
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("%s: %w", name, err)
	}
	return inner
}

func (m *members) adopt(name string, inner *members) {
	if m.err == nil && inner.err != nil {
		m.err = fmt.Errorf("%s.%w", name, inner.err)
	}
}
