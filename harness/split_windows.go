package harness

import "golang.org/x/sys/windows"

// splitWords splits a command line as Windows programs do: double quotes,
// backslashes kept, nothing expanded, no shell asked. No environment can be
// given in it.
func splitWords(line string) (env, argv []string, err error) {
	argv, err = windows.DecomposeCommandLine(line)
	return nil, argv, err
}
