//go:build unix

package harness

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree holds the lanes of a trial and whatever they started: each lane
// leads a process group of its own, so that a terminal's Ctrl-C reaches the
// lab alone, which then ends them in order.
type tree struct {
	mu     sync.Mutex
	groups map[int]bool // by leader; gone once a lane ended in good order
}

func newTree() (*tree, error) { return &tree{groups: map[int]bool{}}, nil }

// prepare must be called before cmd starts, adopt right after.
func (t *tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (t *tree) adopt(cmd *exec.Cmd) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.groups[cmd.Process.Pid] = true
	return nil
}

// left says that a lane has ended in good order: it waited for its server.
func (t *tree) left(cmd *exec.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.groups, cmd.Process.Pid)
}

// kill ends everything that is left, at once.
func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for leader := range t.groups {
		_ = unix.Kill(-leader, unix.SIGKILL)
	}
}

// drain waits until nothing that was started runs any more, what killed lanes
// and killed taps left behind included, and ends it when grace is over. The
// lanes themselves were waited for.
func (t *tree) drain(grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for end := time.Now().Add(grace); len(t.groups) > 0; time.Sleep(2 * time.Millisecond) {
		over := time.Now().After(end)
		for leader := range t.groups {
			if over {
				_ = unix.Kill(-leader, unix.SIGKILL)
			}
			reapOrphans(leader)
			if over || errors.Is(unix.Kill(-leader, 0), unix.ESRCH) {
				delete(t.groups, leader)
			}
		}
	}
}

// close ends everything that is left and frees the tree.
func (t *tree) close() { t.kill() }

func suspend(p *os.Process) error { return p.Signal(unix.SIGSTOP) }
func resume(p *os.Process) error  { return p.Signal(unix.SIGCONT) }

// ownCPU is what this process has taken, its children apart.
func ownCPU() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
