package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gaia/cmd/gaia/internal/text"
)

// outputFormat is the value of --output.
type outputFormat string

const (
	outputAuto outputFormat = ""
	outputJSON outputFormat = "json"
	outputText outputFormat = "text"
)

func (f *outputFormat) String() string { return string(*f) }
func (f *outputFormat) Type() string   { return "json|text" }

func (f *outputFormat) Set(s string) error {
	if s != string(outputJSON) && s != string(outputText) {
		return errors.New("want json or text")
	}
	*f = outputFormat(s)
	return nil
}

// json tells whether the command prints JSON: always to a pipe, and where
// what was asked for is JSON.
func (a *app) json() bool {
	return a.flags.output == outputJSON || a.flags.output == outputAuto && (a.width == 0 || a.flags.pretty || a.flags.quiet)
}

// labJSON is [app.json] of what the lab measures: it tells how far it is, line
// by line, into a pipe too, so JSON must be asked for.
func (a *app) labJSON() bool {
	return a.flags.output == outputJSON || a.flags.output == outputAuto && (a.flags.pretty || a.flags.quiet)
}

// An answer is what a command prints: as JSON, or as text.
type answer struct {
	body any // its JSON
	// result is what --quiet prints; empty: the body.
	result jsontext.Value
	text   func(*text.Page)
	code   int // exitOK or exitNo
}

// print prints an answer and returns the error that ends the command with its code.
func (a *app) print(ans answer) error {
	var out []byte
	if a.json() {
		body := ans.result
		if !a.flags.quiet || len(body) == 0 {
			var err error
			if body, err = encode(ans.body); err != nil {
				return err
			}
		}
		if a.flags.pretty {
			var err error
			if body, err = pretty(body); err != nil {
				return err
			}
		}
		out = append(a.shown(body), '\n')
	} else {
		page := a.page()
		ans.text(page)
		out = page.Bytes()
	}
	if err := a.write(out); err != nil {
		return err
	}
	if ans.code != exitOK {
		return &exitError{code: ans.code}
	}
	return nil
}

// shown spells JSON for where it goes: a pipe gets it as it is, a terminal
// nothing raw that it would obey. The value is the same.
func (a *app) shown(body []byte) []byte {
	if a.width == 0 {
		return body
	}
	return text.EscapeJSON(body)
}

func (a *app) page() *text.Page {
	width := a.width
	color := width > 0 && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	return text.NewPage(width, color)
}

// write writes to standard output.
func (a *app) write(b []byte) error {
	if err := a.emit(b); !gone(err) {
		return err
	}
	return nil
}

// emit does, and tells when nobody reads any more.
func (a *app) emit(b []byte) error {
	if _, err := a.stdout.Write(b); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// gone tells that the reader of standard output went away: it wanted no more,
// which is no error.
func gone(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) }

// encode is JSON.stringify, but for text that isn't UTF-8 (a path may be
// such): its bad bytes become U+FFFD.
func encode(v any) (jsontext.Value, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), json.Deterministic(true))
}

// pretty is JSON.stringify(v, null, 2). Strings and numbers keep their spelling.
func pretty(v jsontext.Value) (jsontext.Value, error) {
	return jsontext.AppendFormat(nil, v, jsontext.WithIndent("  "),
		jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shellWord quotes a word where the user's shell would take it apart.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r == '/' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			r == '\\' && runtime.GOOS == "windows"
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	if runtime.GOOS == "windows" { // PowerShell
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
