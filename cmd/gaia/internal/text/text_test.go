package text

import (
	"strings"
	"testing"
)

func TestEscapeLeavesNothingThatActsOnATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"naïve 日本 🙂":            "naïve 日本 🙂",
		"a\x1b[2Jb":             `a\u001b[2Jb`,
		"a\nb\tc\rd":            `a\nb\tc\rd`,
		"\u202egnp.exe":         `\u202egnp.exe`,
		"\u2066x\u2069":         `\u2066x\u2069`,
		"zero\u200bwidth":       `zero\u200bwidth`,
		"\ufeffbom":             `\ufeffbom`,
		"sep\u2028x\u2029":      `sep\u2028x\u2029`,
		"c1\u009b31m":           `c1\u009b31m`,
		"bad\xffbyte":           `bad\xffbyte`,
		"real \ufffd":           `real \ufffd`,
		"tag\U000e0041":         `tag\U000e0041`,
		"private\ue000":         `private\ue000`,
		"filler\u3164\u115f":    `filler\u3164\u115f`,
		"del\x7f nul\x00":       `del\u007f nul\u0000`,
		"selector \u2764\ufe0f": `selector ❤\ufe0f`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestNoLineOfATerminalPageIsWiderThanTheTerminal(t *testing.T) {
	p := NewPage(80, false)
	long := strings.Repeat("word and 日本語 ", 40)
	p.Line("%s", long)
	p.Mark(Bad, "FAIL ", "%s", long)
	p.Field("name", "%s", strings.Repeat("x", 500))
	p.Body(long + "\n" + strings.Repeat("日", 100))
	p.Table([]string{"REF", "NAME", "KIND"}, [][]string{{"act-0001", long, strings.Repeat("k", 90)}})
	for _, line := range strings.Split(string(p.Bytes()), "\n") {
		if textWidth(line) > 80 {
			t.Errorf("%d columns: %q", textWidth(line), line)
		}
	}
}

func TestBreakingALineLosesNoText(t *testing.T) {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, text := range []string{strings.Repeat("word and 日本語 ", 40), strings.Repeat("日", 100), strings.Repeat("x", 81), "  led by spaces " + strings.Repeat("y", 90)} {
		p := NewPage(80, false)
		p.Line("%s", text)
		if got := squeeze(string(p.Bytes())); got != squeeze(text) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAPipeGetsUnbrokenLinesWithoutColour(t *testing.T) {
	p := NewPage(0, false)
	p.Mark(Good, "ok   ", "%s", strings.Repeat("long ", 100))
	if got := string(p.Bytes()); strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestABodyCannotPoseAsALineOfThePage(t *testing.T) {
	p := NewPage(80, true)
	p.Body("first\nok   verified\r\n\x1b[31mred")
	if got, want := string(p.Bytes()), "  | first\n  | ok   verified\n  | \\u001b[31mred\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyOurOwnWordsAreColoured(t *testing.T) {
	p := NewPage(80, true)
	p.Mark(Bad, "FAIL ", "reason")
	if got, want := string(p.Bytes()), "\x1b[31mFAIL \x1b[0mreason\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEscapeJSONChangesTheSpellingAndNotTheSyntax(t *testing.T) {
	for in, want := range map[string]string{
		"{\n  \"a\": \"naïve 日本 🙂\"\n}\n":   "{\n  \"a\": \"naïve 日本 🙂\"\n}\n",
		"\"c1\u009b31m del\x7f\"":           `"c1\u009b31m del\u007f"`,
		"\"\\\\\u202egnp.exe sep\u2028\"":   `"\\\u202egnp.exe sep\u2028"`,
		"\"tag\U000e0041 filler\u3164\"":    `"tag\udb40\udc41 filler\u3164"`,
		"\"escaped \\u001b stays, \ufffd\"": `"escaped \u001b stays, \ufffd"`,
	} {
		if got := string(EscapeJSON([]byte(in))); got != want {
			t.Errorf("EscapeJSON(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestOneThingIsNotMany(t *testing.T) {
	for n, want := range map[int]string{0: "0 actors", 1: "1 actor", 2: "2 actors"} {
		if got := Count(n, "actor"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
