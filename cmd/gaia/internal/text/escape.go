// Package text lays text out for people. What it prints may come from any
// process that can reach the bus, so all of it is escaped: no text moves the
// cursor, changes a colour, hides, or pretends to be a line of ours.
package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape shows on one line what a terminal would obey or hide: control
// characters, bidirectional overrides, invisible and separating characters,
// and bytes that aren't UTF-8, each as its escape. Other text is unchanged.
func Escape(s string) string {
	clean := true
	for _, r := range s {
		if hostile(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case !hostile(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// EscapeJSON spells in JSON what Escape would show as an escape as \u escapes:
// the same value in other bytes. What JSON's own syntax keeps out of strings
// is space between its tokens, and stays.
func EscapeJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hostileInJSON) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		switch {
		case !hostileInJSON(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func hostileInJSON(r rune) bool { return r >= ' ' && hostile(r) }

// Count is a number of things, "1 actor" or "2 actors".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// hostile tells the characters that act on the terminal or can't be seen.
// The joiners of emoji and of Indic and Arabic script are among the format
// characters; showing them as escapes is ugly and never misleading.
func hostile(r rune) bool {
	return r == utf8.RuneError || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}
