package harness

import (
	"os"
	"path/filepath"
	"strconv"
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

// unwaited lists this process's own children that have ended and that nobody
// waited for.
func unwaited(t *testing.T) (dead []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (name) state parent …
		fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			dead = append(dead, string(text))
		}
	}
	return dead
}
