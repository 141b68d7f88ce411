//go:build unix && !linux && !darwin

package eventlog

import "errors"

// Without a rename that can't replace, and without a boot's name, a lock
// can't be proven abandoned: these systems have the seed's behaviour.
func renameNoReplace(from, to string) error { return errors.ErrUnsupported }

func bootID() (string, error) { return "", errors.ErrUnsupported }
