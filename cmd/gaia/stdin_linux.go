package main

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// polled makes reads of a pipe or a socket wait in Go's poller, and tells
// whether they do. A read that blocks a thread keeps the process's one
// processor until Go's monitor takes it away: a commit that comes back from the
// disk meanwhile would wait for that, its lock in hand.
//
// Go polls only what doesn't block, and not to block is a property of all who
// share the input: the shell that started us, or a client that has both ends.
// So the input stays as it is and is watched through a descriptor of our own,
// whose readiness is the input's.
func polled(in io.ReadCloser) (io.ReadCloser, bool) {
	f, ok := in.(*os.File)
	if !ok {
		return in, false
	}
	fd := int(f.Fd())
	own, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return in, false
	}
	// A file on a disk can't be watched and is refused here.
	err = unix.EpollCtl(own, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	if err = errors.Join(err, unix.SetNonblock(own, true)); err != nil {
		unix.Close(own)
		return in, false
	}
	p := &polledInput{File: f, fd: fd, ready: os.NewFile(uintptr(own), "input")}
	// Only what Go could take into its poller has deadlines.
	if err := p.ready.SetReadDeadline(time.Time{}); err != nil {
		p.ready.Close()
		return in, false
	}
	return p, true
}

type polledInput struct {
	*os.File
	fd    int
	ready *os.File // Go's poller tells when the input has something
}

// Read waits until there is something and reads that. Should another who
// shares the input take it in between, it blocks as any read does.
func (p *polledInput) Read(b []byte) (n int, err error) {
	conn, err := p.ready.SyscallConn()
	if err != nil {
		return 0, err
	}
	waited := conn.Read(func(uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		if some, err := unix.Poll(fds, 0); err == nil && some == 0 {
			return false
		}
		n, err = p.File.Read(b)
		return true
	})
	if err != nil { // io.EOF above all, as it is
		return n, err
	}
	return n, waited
}

// Close wakes who reads.
func (p *polledInput) Close() error { return errors.Join(p.ready.Close(), p.File.Close()) }
