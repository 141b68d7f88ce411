package harness

import (
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree holds the lanes of a trial and whatever they started, in a job
// object: when it is closed, or this process ends, all of it ends. A lane is
// put into the job before it has read its order, so its server is born there.
type tree struct{ job windows.Handle }

func newTree() (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return nil, os.NewSyscallError("SetInformationJobObject", err)
	}
	return &tree{job}, nil
}

// prepare must be called before cmd starts, adopt right after.
func (t *tree) prepare(cmd *exec.Cmd) {
	// Ctrl-C reaches the lab alone, which then ends the lanes in order.
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (t *tree) adopt(cmd *exec.Cmd) error {
	const rights = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	h, err := windows.OpenProcess(rights, false, uint32(cmd.Process.Pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(t.job, h))
}

// left says that a lane has ended in good order: it waited for its server.
// The job keeps count.
func (t *tree) left(*exec.Cmd) {}

// kill ends everything that is left, at once.
func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

// drain waits until nothing that was started runs any more, what killed lanes
// and killed taps left behind included, and ends it when grace is over. The
// lanes themselves were waited for.
func (t *tree) drain(grace time.Duration) {
	for end := time.Now().Add(grace); ; time.Sleep(2 * time.Millisecond) {
		// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		var info struct {
			times                                 [4]int64
			faults, processes, active, terminated uint32
		}
		err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
		if err == nil && info.active == 0 {
			return
		}
		if err != nil || time.Now().After(end) {
			t.kill()
			return
		}
	}
}

// close ends everything that is left and frees the tree.
func (t *tree) close() {
	t.kill()
	_ = windows.CloseHandle(t.job)
}

var (
	ntdll     = windows.NewLazySystemDLL("ntdll.dll")
	ntSuspend = ntdll.NewProc("NtSuspendProcess")
	ntResume  = ntdll.NewProc("NtResumeProcess")
	psapi     = windows.NewLazySystemDLL("psapi.dll")
	memInfo   = psapi.NewProc("GetProcessMemoryInfo")
)

func suspend(p *os.Process) error { return withProcess(p, ntSuspend) }
func resume(p *os.Process) error  { return withProcess(p, ntResume) }

func withProcess(p *os.Process, proc *windows.LazyProc) error {
	h, err := windows.OpenProcess(windows.PROCESS_SUSPEND_RESUME, false, uint32(p.Pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if err := proc.Find(); err != nil {
		return err
	}
	if status, _, _ := proc.Call(uintptr(h)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// peakMemory is the peak working set of a running process, in bytes.
func peakMemory(p *os.Process) int64 {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p.Pid))
	if err != nil {
		return 0
	}
	defer func() { _ = windows.CloseHandle(h) }()
	// PROCESS_MEMORY_COUNTERS
	var m struct {
		size, faults uint32
		peak, now    uintptr
		quotas       [4]uintptr
		page, most   uintptr
	}
	m.size = uint32(unsafe.Sizeof(m))
	if memInfo.Find() != nil {
		return 0
	}
	if ok, _, _ := memInfo.Call(uintptr(h), uintptr(unsafe.Pointer(&m)), uintptr(m.size)); ok == 0 {
		return 0
	}
	return int64(m.peak)
}

// peakOf can't be known once the process has ended.
func peakOf(*os.ProcessState) int64 { return 0 }

// ownCPU is what this process has taken.
func ownCPU() time.Duration { return times(windows.CurrentProcess()) }

// privateMemory is what a running process has of its own in memory; 0: not
// known here.
func privateMemory(*os.Process) int64 { return 0 }

// cpuOf is what a running process has taken so far; 0: not known here.
func cpuOf(p *os.Process) time.Duration {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p.Pid))
	if err != nil {
		return 0
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return times(h)
}

func times(process windows.Handle) time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	ticks := func(f windows.Filetime) time.Duration {
		return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
	}
	return ticks(kernel) + ticks(user)
}

// What a killed lane leaves behind is in the job.
func adoptOrphans() {}
