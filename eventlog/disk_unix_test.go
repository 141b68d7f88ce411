//go:build unix

package eventlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe or a folder in the log's place is refused, nothing is put into it,
// and nobody waits for its other end.
func TestWhatIsNoFileIsRefusedInTheLogsPlace(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, put(filepath.Join(dir, logName)))
			l := Open(dir, Options{Adoption: true, LockTimeout: 300 * time.Millisecond})
			_, viewed := seen(l)
			for what, err := range map[string]error{"a reader": viewed, "a writer": numbered(l, strings.Repeat("x", 100_000))} {
				if _, ok := errors.AsType[*IOError](err); !ok {
					t.Errorf("%s: %v", what, err)
				}
			}
			if left := listing(t, dir); len(left) != 1 {
				t.Errorf("left %v", left)
			}
		})
	}
}
