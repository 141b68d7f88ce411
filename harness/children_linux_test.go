package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// children lists the processes of this test's program that run a fake's part.
func children(t *testing.T) (left []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dirs {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if words[0] == self && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
			left = append(left, strings.Join(words[1:], " "))
		}
	}
	return left
}
