package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesAreBoundedAndNoneIsLost(t *testing.T) {
	const max = 40 // longer than the reader's buffer, which is at least 16
	long := strings.Repeat("x", max)
	for name, c := range map[string]struct {
		in   string
		want []string // "!" stands for a line that was too long
	}{
		"nothing":                  {"", nil},
		"lines":                    {"a\n\nb\r\n", []string{"a", "", "b\r"}},
		"no newline at the end":    {"a\nb", []string{"a", "b"}},
		"as long as may be":        {long + "\nb\n", []string{long, "b"}},
		"as long, at the end":      {long, []string{long}},
		"one byte too long":        {long + "x\nb\n", []string{"!", "b"}},
		"far too long":             {strings.Repeat(long, 9) + "\nb\n", []string{"!", "b"}},
		"too long and never ended": {strings.Repeat(long, 9), []string{"!"}},
		"two too long":             {long + "x\n" + long + "y\nb", []string{"!", "!", "b"}},
	} {
		l := newLineReader(&piecewise{c.in}, max)
		var got []string
		for {
			line, err := l.next()
			if errors.Is(err, errLineTooLong) {
				line = []byte("!")
			} else if err != nil {
				if err != io.EOF {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			got = append(got, string(line))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// piecewise hands out text as pipes do.
type piecewise struct{ rest string }

func (p *piecewise) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 7)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
