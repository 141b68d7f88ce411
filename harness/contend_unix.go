//go:build unix

package harness

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// BareLocks are the candidates that this system has for a fair lock among
// processes: flock alone, which favours whoever unlocked last, and behind a
// gate, a flock on the directory that is held only while waiting.
func BareLocks() []string { return []string{"flock", "gate"} }

// bareLock gives the two halves of a lock on f. It is the harness's own, as
// all it measures the bus by.
func bareLock(name string, f *os.File) (take, drop func() error, err error) {
	lock := func(fd uintptr, how int) error {
		for {
			if err := unix.Flock(int(fd), how); err != unix.EINTR {
				return os.NewSyscallError("flock", err)
			}
		}
	}
	drop = func() error { return lock(f.Fd(), unix.LOCK_UN) }
	switch name {
	case "flock":
		return func() error { return lock(f.Fd(), unix.LOCK_EX) }, drop, nil
	case "gate":
		return func() error {
			gate, err := os.Open(filepath.Dir(f.Name()))
			if err != nil {
				return err
			}
			defer gate.Close()
			if err := lock(gate.Fd(), unix.LOCK_EX); err != nil {
				return err
			}
			return lock(f.Fd(), unix.LOCK_EX)
		}, drop, nil
	}
	return nil, nil, usagef("no bare lock %q; there are flock and gate", name)
}
