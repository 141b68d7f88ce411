package harness

import (
	"os"

	"golang.org/x/sys/windows"
)

// BareLocks are the candidates that this system has for a fair lock among
// processes.
func BareLocks() []string { return []string{"LockFileEx"} }

// bareLock gives the two halves of a lock on f: one byte far past its end,
// for ranges are mandatory here.
func bareLock(name string, f *os.File) (take, drop func() error, err error) {
	if name != "LockFileEx" {
		return nil, nil, usagef("no bare lock %q; there is LockFileEx", name)
	}
	h := windows.Handle(f.Fd())
	at := func() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 0x7fff_ffff, Offset: 0xffff_fff0} }
	take = func() error {
		return os.NewSyscallError("LockFileEx", windows.LockFileEx(h, windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, at()))
	}
	drop = func() error { return os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(h, 0, 1, 0, at())) }
	return take, drop, nil
}
