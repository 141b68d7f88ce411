package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Filesystem names the kind of filesystem that dir is on, or will be, and
// tells whether it is a network's, on which the kernel's lock may exclude
// this host's processes only. name "" means that the system doesn't say.
func Filesystem(dir string) (name string, network bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	for {
		_, err := os.Stat(dir)
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return filesystem(dir)
		}
		dir = parent
	}
}
