package mcp

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gaia/eventlog"
)

// Any bytes in: one reply to each line that wants one, nothing else out, and
// the log still valid. The corpus is what the conversations send.
//
//	go test ./mcp -run '^$' -fuzz FuzzSession -fuzztime 30s -fuzzminimizetime 5x
func FuzzSession(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no conversations", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var sent strings.Builder
		for line := range strings.Lines(section(ar, "in")) {
			switch line = strings.TrimSuffix(line, "\n"); strings.Fields(line + " x")[0] {
			case "!hold", "!release", "!await":
			default:
				sent.WriteString(clientText(f, line))
			}
		}
		if sent.Len() < 64<<10 {
			f.Add([]byte(sent.String()))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newTestServer(t, eventlog.Options{})
		p := play(s, serveTo(t.Context(), make(chan error, 1)))
		p.send(t, string(in))
		out := p.finish(t)
		if out != "" && !strings.HasSuffix(out, "\n") {
			t.Errorf("the output doesn't end in a newline: %q", out)
		}
		replies := 0
		for line := range strings.Lines(out) {
			replies++
			if err := isReply(strings.TrimSuffix(line, "\n")); err != nil {
				t.Errorf("%v: %q", err, line)
			}
		}
		want := 0
		for line := range bytes.Lines(in) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			if len(bytes.Trim(line, " \t\r")) == 0 {
				continue
			}
			if m, bad := parseMessage(line); bad != nil || m.id != nil && !m.response {
				want++
			}
		}
		if replies != want {
			t.Errorf("%d replies, want %d:\n%s", replies, want, out)
		}
		lines(t, s.log)
	})
}
