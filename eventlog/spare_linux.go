package eventlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// spares keeps one file without a name, ready to become the next owner.json.
//
// Making a file can cost more than all the rest of a commit but the fsync: an
// ext4 without a journal looks at every inode freed in the last minute before
// it picks one, 0.3 ms at a busy bus's rate. Made ahead, while the fsync
// waits for the disk, it costs the lock's holder one link(2). A file without
// a name is gone when its process is.
type spares struct {
	mu     sync.Mutex
	file   *os.File
	making bool
	idle   *time.Timer
}

// spareIdle is how long a spare waits for its call; an idle process holds
// nothing open.
const spareIdle = time.Second

// prepare makes a spare in the background, on the filesystem of dir.
func (s *spares) prepare(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil || s.making {
		return
	}
	s.making = true
	go func() {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.making = false
		if err != nil {
			return // a filesystem without such files
		}
		s.file = os.NewFile(uintptr(fd), filepath.Join(dir, "spare"))
		s.idle = time.AfterFunc(spareIdle, func() {
			if f := s.take(); f != nil {
				f.Close()
			}
		})
	}()
}

func (s *spares) take() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	if f != nil {
		s.file = nil
		s.idle.Stop()
	}
	return f
}

// become turns the spare into a new file, where there is one and it can.
func (s *spares) become(path string, data []byte) bool {
	f := s.take()
	if f == nil {
		return false
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return false
	}
	self := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	return unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW) == nil
}
