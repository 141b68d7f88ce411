package core

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// trim cuts what JavaScript's String.prototype.trim cuts: U+FEFF and the
// Unicode space separators too, U+0085 not.
func trim(s string) string { return strings.TrimFunc(s, isJSSpace) }

func isJSSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

// quote shows a caller's text in a refusal: at most maxQuoted characters of it.
func quote(s string) string { return `"` + clip(s) + `"` }

const maxQuoted = 200

func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxQuoted {
		return s
	}
	n := 0
	for i := range s {
		if n == maxQuoted {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// A ref is act-, msg- or cor- and a number padded to four digits.
func mint(prefix string, n int64) string {
	d := strconv.FormatInt(n, 10)
	if len(d) < 4 {
		d = "0000"[len(d):] + d
	}
	return prefix + d
}

// digits returns what follows prefix, if it is one or more ASCII digits.
func digits(s, prefix string) (string, bool) {
	d, ok := strings.CutPrefix(s, prefix)
	if !ok || d == "" {
		return "", false
	}
	for i := range len(d) {
		if d[i] < '0' || d[i] > '9' {
			return "", false
		}
	}
	return d, true
}

func refShaped(s string) bool { _, ok := digits(s, "act-"); return ok }

// claim reads the number of a cor-<digits>. claims is false for any other name;
// n is past the ceiling where the digits are too many.
func claim(id string) (n int64, claims bool) {
	d, ok := digits(id, "cor-")
	if !ok {
		return 0, false
	}
	if len(d) > 16 {
		return CorrelationCeiling + 1, true
	}
	n, err := strconv.ParseInt(d, 10, 64)
	if err != nil {
		return CorrelationCeiling + 1, true
	}
	return n, true
}

// authorityLanguage finds words that sound like an instruction to use power.
// A hint for a person who reads the log; it blocks nothing and is not complete.
var authorityLanguage = regexp.MustCompile(strings.ReplaceAll(`(?i)\b(?:approve|merge|push|deploy|commit|mutate|grant|you +(?:now +)?have +admin|ignore +(?:the +)?(?:previous|above))\b`+
	`|\b(?:credential|secret|(?:change|update) +(?:the +)?config)`, " ", jsBlank))

// jsBlank is JavaScript's \s: what trim cuts.
const jsBlank = `[\s\v\x{A0}\x{FEFF}\p{Z}]`

// soundsOfAuthority tells whether a text has such words. The expression costs
// 0.5 us a byte, in the lock, and hardly any text has a word that it could
// match, so the words' beginnings are looked at first.
func soundsOfAuthority(text string) bool {
	return mayMatch(text) && authorityLanguage.MatchString(text)
}

// stems begin each word that the expression can begin with.
var stems = []string{"approve", "merge", "push", "deploy", "commit", "mutate", "grant", "you", "ignore", "credential", "secret", "change", "update"}

// mayMatch is false only where the expression can't match.
func mayMatch(text string) bool {
	inWord := false
	for i := range len(text) {
		b := text[i]
		if b == 0xC5 || b == 0xE2 {
			return true // perhaps U+017F or U+212A, which fold to s and k
		}
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if letter && !inWord {
			for _, stem := range stems {
				if stem[0] == b|0x20 && len(text)-i >= len(stem) && strings.EqualFold(text[i:i+len(stem)], stem) {
					return true
				}
			}
		}
		inWord = letter || b == '_' || '0' <= b && b <= '9'
	}
	return false
}

const authorityFlag = "authority-language-detected"
