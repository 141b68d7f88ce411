//go:build unix

package doctor

import "golang.org/x/sys/unix"

// mayWrite asks the system whether this user may write to a file, or make and
// remove files in a directory.
func mayWrite(path string) error {
	mode := uint32(unix.W_OK)
	if isDir(path) {
		mode |= unix.X_OK
	}
	return unix.Access(path, mode)
}
