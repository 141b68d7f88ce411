//go:build unix

package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// logFlags: the kernel places each append at the end, whatever somebody
// outside the protocol did meanwhile.
const logFlags = os.O_RDWR | os.O_APPEND

// open is os.OpenFile without the five system calls by which that finds out,
// at every file, that a file on a disk can't be polled.
func open(path string, flags int, mode uint32) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, mode)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case unix.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// openRead never waits for a writer of a named pipe somebody put there.
func openRead(path string) (*os.File, error) { return open(path, os.O_RDONLY|unix.O_NONBLOCK, 0) }

func (osDisk) SyncDir(dir string) error {
	f, err := open(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err // the two left out: this filesystem has no such thing
	}
	return nil
}

func (osDisk) RenameDir(from, to string) error {
	err := renameNoReplace(from, to)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		return errors.ErrUnsupported
	case errors.Is(err, unix.ENOTEMPTY):
		return fs.ErrExist
	}
	return err
}

func (f osLog) Append(p []byte, _ int64) (int, error) { return f.Write(p) }

func (f osLog) ID() (string, error) {
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.ErrUnsupported
	}
	return fmt.Sprintf("%x.%x", uint64(st.Dev), uint64(st.Ino)), nil
}

// Gate is the kernel's lock on the data directory, which is held only while
// waiting for the log's: who waits at the log has the gate, so that who just
// left can't pass it. A gate that can't be had costs fairness and nothing else.
func (f osLog) Gate() io.Closer {
	gate, err := f.gate()
	if err != nil {
		return nil
	}
	if flock(gate, unix.LOCK_EX) != nil {
		gate.Close()
		return nil
	}
	return gate
}

func (f osLog) Lock(shared bool) error { return flock(f.File, how(shared)) }

func (f osLog) TryLock(shared bool) error {
	if gate, err := f.gate(); err == nil {
		defer gate.Close()
		if err := flock(gate, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, errBusy) {
			return err
		}
	}
	return flock(f.File, how(shared)|unix.LOCK_NB)
}

func (f osLog) gate() (*os.File, error) { return open(filepath.Dir(f.Name()), os.O_RDONLY, 0) }

func how(shared bool) int {
	if shared {
		return unix.LOCK_SH
	}
	return unix.LOCK_EX
}

func flock(f *os.File, how int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), how); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errBusy
		case unix.ENOLCK, unix.ENOSYS, unix.ENOTSUP, unix.EINVAL:
			return errors.ErrUnsupported
		default:
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// contended: only Windows answers a taken name with "access denied".
func contended(error) bool { return false }
