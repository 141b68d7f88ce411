package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// logFlags lack O_APPEND: a handle that may only append can't be cut back.
const logFlags = os.O_RDWR

func open(path string, flags int, mode uint32) (*os.File, error) {
	return os.OpenFile(path, flags, fs.FileMode(mode))
}

func openRead(path string) (*os.File, error) { return os.Open(path) }

// SyncDir does nothing: NTFS journals its directories, and a directory's
// handle can't be flushed without the right to write to it.
func (osDisk) SyncDir(string) error { return nil }

func (osDisk) RenameDir(from, to string) error {
	f, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	t, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(f, t, 0); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (f osLog) Append(p []byte, at int64) (int, error) { return f.WriteAt(p, at) }

func (f osLog) ID() (string, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x.%x", info.VolumeSerialNumber, uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)), nil
}

// Gate is none: Windows is said to hand a freed range to who waits longest.
func (f osLog) Gate() io.Closer { return nil }

func (f osLog) Lock(shared bool) error { return f.lock(shared, 0) }

func (f osLog) TryLock(shared bool) error {
	return f.lock(shared, windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// lock takes one byte far past any end of file, for ranges are mandatory here.
func (f osLog) lock(shared bool, flags uint32) error {
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := windows.Overlapped{OffsetHigh: 0x7fff_ffff, Offset: 0xffff_fff0}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return errBusy
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION), errors.Is(err, windows.ERROR_NOT_SUPPORTED):
		return errors.ErrUnsupported
	case err != nil:
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// contended tells the errors that Windows gives for a name which is taken or
// about to be free: a directory whose deletion is pending, or that a virus
// scanner has open. They may as well mean an ACL that denies; only time tells.
func contended(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}

// bootID names this boot of this machine.
func bootID() (string, error) {
	machine, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return "", err
	}
	defer machine.Close()
	guid, _, err := machine.GetStringValue("MachineGuid")
	if err != nil {
		return "", err
	}
	boots, err := registry.OpenKey(registry.LOCAL_MACHINE,
		`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`, registry.QUERY_VALUE)
	if err == nil {
		defer boots.Close()
		if n, _, err := boots.GetIntegerValue("BootId"); err == nil {
			return fmt.Sprintf("%s.%d", guid, n), nil
		}
	}
	// Without a count of boots, the instant of this one: BootTime follows
	// the clock when somebody sets it, and the bias tells by how much.
	var t struct {
		BootTime, CurrentTime, TimeZoneBias int64
		TimeZoneID, _                       uint32
		BootTimeBias, SleepTimeBias         int64
	}
	const systemTimeOfDayInformation = 3
	if err := windows.NtQuerySystemInformation(systemTimeOfDayInformation, unsafe.Pointer(&t), uint32(unsafe.Sizeof(t)), nil); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s.t%d", guid, t.BootTime-t.BootTimeBias), nil
}
