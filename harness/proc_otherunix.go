//go:build unix && !linux

package harness

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// peakMemory is the peak resident size of a running process, in bytes; 0: it
// can't be read here while it runs.
func peakMemory(*os.Process) int64 { return 0 }

// privateMemory is what a running process has of its own in memory; 0: not
// known here.
func privateMemory(*os.Process) int64 { return 0 }

// cpuOf is what a running process has taken so far; 0: not known here, so
// that its start counts with its work.
func cpuOf(*os.Process) time.Duration { return 0 }

// peakOf is the peak of an ended process.
func peakOf(st *os.ProcessState) int64 {
	r, ok := st.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}

// What a killed lane leaves behind is init's here.
func adoptOrphans()   {}
func reapOrphans(int) {}
