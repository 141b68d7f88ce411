package harness

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"gaia/results"
)

// A command is a command line, split.
type command struct {
	env, argv []string
}

// parseCommand splits a command line and finds its program, so that a
// misspelt one is told before anything starts.
func parseCommand(line string) (command, error) {
	env, argv, err := splitWords(line)
	if err != nil {
		return command{}, usagef("command %q can't be split into words: %v", printable(line), err)
	}
	if len(argv) == 0 {
		return command{}, usagef("command %q names no program", printable(line))
	}
	return command{env, argv}, nil
}

// Words are a command line's words as records carry them: every path in them
// cut to its base name.
func Words(line string) ([]string, error) {
	c, err := parseCommand(line)
	if err != nil {
		return nil, err
	}
	return c.shown(), nil
}

// shown is the command as records and errors carry it: every path that could
// tell a user's name cut to its base name.
func (c command) shown() []string {
	words := make([]string, 0, len(c.env)+len(c.argv))
	for _, w := range append(append([]string{}, c.env...), c.argv...) {
		words = append(words, withoutPath(w))
	}
	if len(c.argv) > 0 {
		words[len(c.env)] = filepath.Base(c.argv[0])
	}
	return words
}

func (c command) String() string { return printable(strings.Join(c.shown(), " ")) }

// FindCommand tells whether a command line can be split, and its program found.
func FindCommand(line string) error {
	c, err := parseCommand(line)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(c.argv[0]); err != nil {
		return usagef("command %q: %v", printable(line), err)
	}
	return nil
}

// withoutPaths is a text on one line, printable and with every word that is a
// path cut to its base name.
func withoutPaths(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		bare := strings.TrimLeft(w, "\"'`([<")
		words[i] = w[:len(w)-len(bare)] + withoutPath(bare)
	}
	return printable(strings.Join(words, " "))
}

// withoutPath cuts an absolute path, alone or after name=, to its base name.
func withoutPath(word string) string {
	name, value, hasName := strings.Cut(word, "=")
	if !hasName {
		name, value = "", word
	}
	windowsPath := len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
	if !windowsPath && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, `\\`) && !strings.HasPrefix(value, "~") {
		return word
	}
	base := value[strings.LastIndexAny(value, `/\`)+1:]
	if hasName {
		return name + "=" + base
	}
	return base
}

// own is the command of the gaia binary: self, or where that is empty the
// running executable.
func own(self []string) ([]string, error) {
	if len(self) > 0 {
		return self, nil
	}
	path, err := os.Executable()
	return []string{path}, err
}

// Lab identifies the gaia binary that measures. Self is as in [TrialSpec].
func Lab(self []string) (results.Binary, error) {
	argv, err := own(self)
	if err != nil {
		return results.Binary{}, err
	}
	return identify(command{argv: argv}), nil
}

// identify tells what it can of a command's program. What it can't is empty:
// a program that isn't there is told by the start that fails.
func identify(c command) results.Binary {
	b := results.Binary{Argv: c.shown()}
	path, err := exec.LookPath(c.argv[0])
	if err != nil {
		return b
	}
	if info, err := buildinfo.ReadFile(path); err == nil {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
	}
	b.SHA256 = sums.of(path)
	return b
}

// sums are the digests of the programs of this run: a trial must not pay for
// hashing again what hasn't changed.
var sums digests

type digests struct {
	mu    sync.Mutex
	known map[fileState]string
}

type fileState struct {
	path     string
	size, at int64
}

func (d *digests) of(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	state := fileState{path, info.Size(), info.ModTime().UnixNano()}
	d.mu.Lock()
	defer d.mu.Unlock()
	if sum, ok := d.known[state]; ok {
		return sum
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	if d.known == nil {
		d.known = map[fileState]string{}
	}
	d.known[state] = hex.EncodeToString(h.Sum(nil))
	return d.known[state]
}
