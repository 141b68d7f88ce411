package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gaia/core"
)

// A small filesystem of its own, where the machine lets a process make one:
// what a full disk and one that turned read-only really answer.
func TestOnARealSmallDiskAFailedCallLosesNothing(t *testing.T) {
	for _, kind := range []string{"full", "full-at-first", "read-only"} {
		t.Run(kind, func(t *testing.T) {
			c := child("small-disk", t.TempDir(), kind, 0)
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			}
			out, err := c.CombinedOutput()
			if errors.Is(err, fs.ErrPermission) || c.ProcessState != nil && c.ProcessState.ExitCode() == exitNoMount {
				t.Skipf("this machine lets no user mount a filesystem: %v %s", err, out)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

const exitNoMount = 7

func smallDisk(mount, kind string) {
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=128k"); err != nil {
		fmt.Println(err)
		os.Exit(exitNoMount)
	}
	if err := onSmallDisk(mount, kind); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func onSmallDisk(mount, kind string) error {
	dir, ballast := filepath.Join(mount, "data"), filepath.Join(mount, "ballast")
	fillUp := func() error {
		f, err := os.Create(ballast)
		if err != nil {
			return err
		}
		defer f.Close()
		for page := make([]byte, 4096); err == nil; _, err = f.Write(page) {
		}
		if !errors.Is(err, unix.ENOSPC) {
			return err
		}
		return nil
	}
	var spoil, mend func() error
	var want error
	switch kind {
	case "read-only":
		remount := func(flags uintptr) func() error {
			return func() error { return unix.Mount("", mount, "", unix.MS_REMOUNT|flags, "") }
		}
		spoil, mend, want = remount(unix.MS_RDONLY), remount(0), unix.EROFS
	default:
		spoil, mend, want = fillUp, func() error { return os.Remove(ballast) }, unix.ENOSPC
	}
	l := Open(dir, Options{Adoption: true, Stderr: os.Stdout, ReleaseRetries: 1, ReleaseRetryDelay: time.Millisecond})
	defer l.Close()
	done := 0
	works := func() error {
		if err := numbered(l, strconv.Itoa(done)); err != nil {
			return fmt.Errorf("after %d records: %w", done, err)
		}
		done++
		return nil
	}
	if kind != "full-at-first" {
		for range 3 {
			if err := works(); err != nil {
				return err
			}
		}
	}
	if err := spoil(); err != nil {
		return fmt.Errorf("spoil: %w", err)
	}
	// The log's last page still has room for some.
	failed := error(nil)
	for range 100 {
		if failed = works(); failed != nil {
			break
		}
	}
	for try := range 3 {
		broken, ok := errors.AsType[*IOError](failed)
		if !ok || broken.OutcomeUnknown || !errors.Is(failed, want) {
			return fmt.Errorf("try %d: %w", try, failed)
		}
		fmt.Println("as it should:", failed)
		if err := l.View(context.Background(), func(s *core.State) error {
			if s.Events() != done {
				return fmt.Errorf("a reader sees %d records of %d", s.Events(), done)
			}
			return nil
		}); err != nil {
			return err
		}
		if by, err := checkNumbered(dir); len(by) != done || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%d records of %d: %w", len(by), done, err)
		}
		failed = works()
	}
	if err := mend(); err != nil {
		return fmt.Errorf("mend: %w", err)
	}
	for range 3 {
		if err := works(); err != nil {
			return err
		}
	}
	l.Close()
	by, err := checkNumbered(dir)
	if len(by) != done || err != nil {
		return fmt.Errorf("at the end %d records of %d: %w", len(by), done, err)
	}
	left, err := os.ReadDir(dir)
	if len(left) != 1 || err != nil {
		return fmt.Errorf("left %v: %w", left, err)
	}
	return nil
}
