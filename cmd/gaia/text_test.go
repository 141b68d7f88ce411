package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rivo/uniseg"
)

// hostile is text that would move the cursor, colour, hide or reorder.
const hostile = "\x1b[2J\x1b[31mred\u202egnp.exe\u200b\u2066\r\u009bover\u2028"

// hostileBus is a bus on which every text is hostile and long.
func hostileBus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	long := hostile + strings.Repeat(" 日本語 and more words", 30)
	must(t, dir, "register", "--actorId", "a "+long, "--kind", "k"+hostile, "--capabilities", "cwd=/x"+hostile+",branch=b"+hostile)
	must(t, dir, "register", "--actorId", "b "+long, "--capabilities", "cwd=/x"+hostile+",branch=c"+hostile)
	must(t, dir, "send", "--from", "act-0001", "--to", "act-0002", "--text", long+"\n"+long, "--kind", "n"+hostile,
		"--correlationId", "thread"+hostile, "--requestedAuthority", "x"+hostile)
	must(t, dir, "heartbeat", "--actorId", "act-0001", "--note", long)
	if r := runIn(t, dir, 0, "ack", "--actorId", "act-0001", "--messageId", long); r.code != exitNo {
		t.Fatalf("%+v", r)
	}
	return dir
}

var (
	ourColours = regexp.MustCompile("\x1b\\[(0|1|31|32|33)m")
	acts       = regexp.MustCompile("[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
)

func TestUntrustedTextNeverReachesATerminalRawAndLinesFit(t *testing.T) {
	dir := hostileBus(t)
	for _, args := range [][]string{
		{"status"}, {"doctor"}, {"events"}, {"state"}, {"verify"}, {"lanes"}, {"unlock"}, {"uninstall-preview"}, {"initialize"}, {"tools"}, {"version"},
		{"inbox", "--actorId", "act-0002"},
		{"register", "--actorId", "c" + hostile},
		{"send", "--from", "act-0001", "--to", "nobody" + hostile, "--text", "x"},
		{"send", "--from", "act-0001", "--to", "act-0002", "--text", hostile},
		{"handoff", "--from", "act-0001", "--to", "act-0002", "--summary", hostile, "--correlationId", "c" + hostile},
		{"heartbeat", "--actorId", "act-0001"},
		{"ack", "--actorId", "act-0002", "--messageId", "msg-0001"},
		{"config", "--client", "codex", "--out", t.TempDir()},
		{"config", "--client", "x" + hostile, "--out", "y"},
		{"unknown" + hostile},
		{"status", "--data-dir", filepath.Join(t.TempDir(), "d"+hostile)},
		{"verify", "--evidence", "/none" + hostile},
		{"watch", "--for", "n" + hostile, "--timeout", "1ms"},
	} {
		for _, width := range []int{80, 0} {
			run := args
			if width == 0 {
				run = append([]string{"--output", "text"}, args...)
			}
			r := runIn(t, dir, width, run...)
			plain := ourColours.ReplaceAllString(r.stdout, "")
			if width == 0 && plain != r.stdout {
				t.Errorf("%q: colour without a terminal", args)
			}
			if found := acts.FindString(plain + r.stderr); found != "" {
				t.Errorf("%q: %+q reached the terminal: %+q", args, found, plain+r.stderr)
			}
			for line := range strings.Lines(plain) {
				if w := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); width > 0 && w > 80 {
					t.Errorf("%q: %d columns: %q", args, w, line)
				}
			}
		}
	}
}

func TestColourOnlyOnATerminalAndNeverWithNoColor(t *testing.T) {
	for _, c := range []struct {
		width         int
		noColor, term string
		coloured      bool
	}{{80, "", "xterm", true}, {80, "1", "xterm", false}, {80, "", "dumb", false}, {0, "", "xterm", false}} {
		a := testApp(t, t.TempDir(), c.width)
		env := a.getenv
		a.getenv = func(k string) string {
			switch k {
			case "NO_COLOR":
				return c.noColor
			case "TERM":
				return c.term
			}
			return env(k)
		}
		a.run(t.Context(), []string{"doctor", "--output", "text"})
		if out := a.stdout.(*bytes.Buffer).String(); strings.Contains(out, "\x1b[") != c.coloured {
			t.Errorf("%+v: %q", c, out)
		}
	}
}

func TestATerminalGetsTextAndAPipeJSONUnlessTold(t *testing.T) {
	for _, c := range []struct {
		width int
		args  []string
		json  bool
	}{
		{0, nil, true}, {80, nil, false}, {80, []string{"--output", "json"}, true}, {0, []string{"--output", "text"}, false},
		{80, []string{"--pretty"}, true}, {80, []string{"--quiet"}, true},
	} {
		r := runIn(t, t.TempDir(), c.width, append([]string{"tools"}, c.args...)...)
		if got := strings.HasPrefix(r.stdout, "{") || strings.HasPrefix(r.stdout, "["); got != c.json {
			t.Errorf("%+v: %s", c, r.stdout)
		}
	}
}

func TestPathsThatAreNotUTF8AreNoReasonToFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bad\xff")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip("this filesystem has no such names:", err)
	}
	if r := runIn(t, dir, 0, "doctor"); r.code != exitOK || !strings.Contains(r.stdout, `"replayable":true`) {
		t.Errorf("%+v", r)
	}
}

func TestJSONOnATerminalHoldsNothingRawAndTheSameValue(t *testing.T) {
	dir := hostileBus(t)
	must(t, dir, "register", "--actorId", "c", "--kind", "emoji \U0001f642 tag\U000e0041 del\x7f")
	for _, args := range [][]string{
		{"state", "--pretty"}, {"state", "--quiet"}, {"events", "--pretty"}, {"events", "--output", "json"}, {"status", "--quiet"},
		{"watch", "--after", "2", "--for", "act-0002", "--output", "json", "--timeout", "1m"},
	} {
		pipe, terminal := runIn(t, dir, 0, args...), runIn(t, dir, 80, args...)
		if pipe.code != exitOK || terminal.code != exitOK {
			t.Fatalf("%q: %+v", args, terminal)
		}
		if found := acts.FindString(terminal.stdout); found != "" {
			t.Errorf("%q: %+q reached the terminal", args, found)
		}
		if acts.FindString(pipe.stdout) == "" {
			t.Errorf("%q: a pipe didn't get the bytes as they are", args)
		}
		var raw, spelled any
		if err := errors.Join(json.Unmarshal([]byte(pipe.stdout), &raw), json.Unmarshal([]byte(terminal.stdout), &spelled)); err != nil {
			t.Errorf("%q: %v", args, err)
		} else if !reflect.DeepEqual(raw, spelled) {
			t.Errorf("%q: the terminal was shown another value:\n%s\n%s", args, pipe.stdout, terminal.stdout)
		}
	}
}
