package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is every file call the package makes, so that a test can fail or cut
// short any of them. Errors are the system's own, for errors.Is with fs.Err*.
type disk interface {
	// MakeDir makes a directory and its parents, mode 0700, and their entries
	// durable.
	MakeDir(dir string) error
	// Mkdir makes one directory, mode 0700; fs.ErrExist where the name is taken.
	Mkdir(path string) error
	Lstat(path string) (fs.FileInfo, error)
	// Stat follows symbolic links.
	Stat(path string) (fs.FileInfo, error)
	// ReadHead is the first n bytes of a file, or all it has.
	ReadHead(path string, n int) ([]byte, error)
	// Write makes data all that is in a file, which is made, mode 0600, where
	// there is none. It writes over what the file has: to cut it off first
	// makes an ext4 flush the file when it is closed, 0.1 ms.
	Write(path string, data []byte) error
	Remove(path string) error
	// RenameFile moves a file over another.
	RenameFile(from, to string) error
	// RenameDir moves a directory to a name that is free: fs.ErrExist where
	// it isn't, errors.ErrUnsupported where the filesystem can't promise that.
	RenameDir(from, to string) error
	Names(dir string) ([]string, error)
	// SyncDir makes a directory's entries durable.
	SyncDir(dir string) error
	// OpenLog opens the log; fs.ErrNotExist where there is none. For writing
	// it is created when create says so.
	OpenLog(path string, write, create bool) (logFile, error)
}

// logFile is the open log.
type logFile interface {
	ReadAt(p []byte, off int64) (int, error)
	// Append writes at the end, which the caller knows to be at.
	Append(p []byte, at int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	// ID names device and inode (volume and file id) on this machine.
	ID() (string, error)
	// Gate blocks until nobody but the lock's holder is before this process,
	// and until the gate is closed nobody is let by. Nil where there is none.
	Gate() io.Closer
	// Lock takes the kernel's lock, exclusive or shared, and blocks until it
	// is had. errors.ErrUnsupported where the filesystem has no such lock.
	// Close drops it.
	Lock(shared bool) error
	// TryLock is Lock without waiting: errBusy where the lock isn't free.
	TryLock(shared bool) error
	Close() error
}

var errBusy = errors.New("the kernel's lock is held")

// osDisk is the real one; its parts that differ by system are in the twins.
type osDisk struct{}

func (osDisk) Mkdir(path string) error                { return os.Mkdir(path, 0o700) }
func (osDisk) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }
func (osDisk) Stat(path string) (fs.FileInfo, error)  { return os.Stat(path) }
func (osDisk) Remove(path string) error               { return os.Remove(path) }
func (osDisk) RenameFile(from, to string) error       { return os.Rename(from, to) }

func (d osDisk) MakeDir(dir string) error {
	var grown []string // the directories that get an entry
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		grown = append(grown, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, at := range grown {
		// Whoever may add to a directory need not be allowed to read it.
		if err := d.SyncDir(at); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func (osDisk) ReadHead(path string, n int) ([]byte, error) {
	f, err := openRead(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, n)
	read := 0
	for read < n {
		m, err := f.Read(buf[read:])
		read += m
		if m == 0 || err != nil {
			break
		}
	}
	return buf[:read], nil
}

func (osDisk) Write(path string, data []byte) error {
	f, err := open(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if fi, statErr := f.Stat(); statErr != nil {
		err = errors.Join(err, statErr)
	} else if size := int64(len(data)); fi.Size() > size {
		err = errors.Join(err, f.Truncate(size))
	}
	return errors.Join(err, f.Close())
}

func (osDisk) Names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (osDisk) OpenLog(path string, write, create bool) (logFile, error) {
	if !write {
		f, err := openRead(path)
		if err != nil {
			return nil, err
		}
		return osLog{f}, nil
	}
	for {
		f, err := open(path, logFlags, 0)
		if err == nil {
			return osLog{f}, nil
		}
		if !create || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		f, err = open(path, logFlags|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return osLog{f}, nil
		}
		// Somebody else made it between the two calls: open theirs.
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, err // a link that leads nowhere would loop
		}
	}
}

// osLog is the log as the system opens it.
type osLog struct{ *os.File }
