//go:build unix

package harness

import (
	"errors"

	"github.com/mattn/go-shellwords"
)

// splitWords splits a command line as a shell would: quotes and backslashes,
// nothing expanded, no shell asked. Leading NAME=value words are the
// command's environment.
func splitWords(line string) (env, argv []string, err error) {
	p := shellwords.NewParser()
	p.ParseEnv, p.ParseBacktick = false, false
	env, argv, err = p.ParseWithEnvs(line)
	if err == nil && p.Position >= 0 { // it stopped there, and a shell would not
		err = errors.New("there is no shell: ; & | < > must be quoted")
	}
	return env, argv, err
}
