package harness

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/windows"
)

var envWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*=`)

// splitWords splits a command line as Windows programs do: double quotes,
// backslashes kept, nothing expanded, no shell asked. Leading NAME=value words
// are the command's environment.
func splitWords(line string) (env, argv []string, err error) {
	if strings.Count(line, `"`)%2 != 0 {
		return nil, nil, errors.New("a quote isn't closed")
	}
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, nil, nil
	}
	// The first word of a Windows command line has rules of its own; a
	// program's name before it keeps them away from ours.
	words, err := windows.DecomposeCommandLine("x " + line)
	if err != nil {
		return nil, nil, err
	}
	argv = words[1:]
	if slices.ContainsFunc(argv, func(w string) bool { return slices.Contains([]string{";", "&", "|", "<", ">"}, w) }) {
		return nil, nil, errors.New("there is no shell: ; & | < > must be quoted")
	}
	for len(argv) > 0 && envWord.MatchString(argv[0]) {
		env, argv = append(env, argv[0]), argv[1:]
	}
	return env, argv, nil
}
