package harness

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// ErrUsage is returned when a trial can't be meant as it was given: no lanes,
// no calls, an unknown fault, a command that doesn't parse. Nothing was
// started or written.
var ErrUsage = errors.New("cannot run such a trial")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
}

// A StartError is returned when a lane's server can't start or doesn't speak
// the six verbs, or when its client makes no call. Every process of the trial has ended.
type StartError struct {
	Lane    int    // from 1
	What    string // "server" or "client"
	Command string // as it was run, paths cut to their base names
	Reason  string // one line, safe to print
	Stderr  string // the last line it said, safe to print; may be empty
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("lane %d: %s %q can't start: %s", e.Lane, e.What, e.Command, e.Reason)
	if e.Stderr != "" {
		s += "; it said: " + e.Stderr
	}
	return s
}

// printable makes one safe line of text that somebody else wrote: control and
// bidirectional characters are escaped, and it is cut at 500 bytes.
func printable(s string) string {
	const limit = 500
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		if b.Len() >= limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default: // controls and formats, among them the bidirectional ones
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// tail is a writer that keeps the last few kilobytes. It may be used from
// several goroutines; a process's stderr never blocks on it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// lastLine is the last line that isn't blank, safe to print.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return printable(lines[len(lines)-1])
}
