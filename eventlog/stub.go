package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LockState is what doctor and unlock see.
type LockState string

const (
	LockFree        LockState = "free"
	LockHeld        LockState = "held"
	LockAbandoned   LockState = "abandoned"
	LockEarlierBoot LockState = "earlier-boot"
	LockForeign     LockState = "foreign"
)

type LockStatus struct {
	State LockState
	Path  string
	PID   int
	At    string
	Age   time.Duration
	// Domain as recorded, "" where the marker has none
	Domain string
}

// InspectLock looks and touches nothing.
func InspectLock(dir string) (LockStatus, error) {
	st := LockStatus{State: LockFree, Path: filepath.Join(dir, lockName)}
	fi, err := os.Lstat(st.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	} else if err != nil {
		return st, &IOError{Op: "look at the lock", Path: st.Path, Err: err}
	}
	st.State, st.Age = LockForeign, max(time.Since(fi.ModTime()), 0)
	return st, nil
}
