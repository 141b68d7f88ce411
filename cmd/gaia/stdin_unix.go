//go:build unix

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// polled makes reads of a pipe or a socket wait in Go's poller, and tells
// whether they do. A read that blocks a thread keeps the process's one
// processor until Go's monitor takes it away: a commit that comes back from the
// disk meanwhile would wait for that, its lock in hand.
//
// Not to block is a property of all who share this end: whoever has it after
// us finds it as it was once Close has returned, and where an output is the
// same socket nothing is changed.
func polled(in io.ReadCloser, outputs ...io.Writer) (io.ReadCloser, bool) {
	f, ok := in.(*os.File)
	if !ok {
		return in, false
	}
	fi, err := f.Stat()
	if err != nil || fi.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return in, false
	}
	for _, w := range outputs {
		if out, ok := w.(*os.File); ok {
			if also, err := out.Stat(); err == nil && os.SameFile(fi, also) {
				return in, false
			}
		}
	}
	// A descriptor of its own, so that closing it, which wakes who reads,
	// leaves one by which to undo this.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return in, false
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return in, false
	}
	return &polledInput{os.NewFile(uintptr(fd), f.Name()), f}, true
}

type polledInput struct {
	*os.File
	inherited *os.File
}

func (p *polledInput) Close() error {
	err := p.File.Close()
	if errors.Is(err, os.ErrClosed) {
		return err
	}
	return errors.Join(err, unix.SetNonblock(int(p.inherited.Fd()), false), p.inherited.Close())
}
