package harness

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// peakMemory is the peak resident size of a running process, in bytes. The
// kernel's rusage won't do: a child inherits in it what its parent had at the
// fork.
func peakMemory(p *os.Process) int64 { return memory(p, "VmHWM:") }

// privateMemory is what a running process has of its own in memory, in bytes:
// not the pages of its program, which all servers share.
func privateMemory(p *os.Process) int64 { return memory(p, "RssAnon:") }

func memory(p *os.Process, name string) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.Pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kb, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// cpuOf is what a running process has taken so far; 0: not known here.
func cpuOf(p *os.Process) time.Duration {
	// The kernel's number for "the CPU clock of all threads of this process".
	clock := int32(^p.Pid<<3 | 2)
	var ts unix.Timespec
	if unix.ClockGettime(clock, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// peakOf is the peak of an ended process where none was read while it ran.
// See peakMemory for why the kernel's figure isn't taken.
func peakOf(*os.ProcessState) int64 { return 0 }

// adoptOrphans makes what a killed lane leaves behind this process's
// children, from now on, so that they can be waited for.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it they are init's
}

// reapOrphans waits for the ended ones of a group.
func reapOrphans(leader int) {
	for {
		if pid, err := unix.Wait4(-leader, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
