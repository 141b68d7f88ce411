package harness

import (
	"encoding/binary"
	"path/filepath"

	"golang.org/x/sys/unix"

	"gaia/results"
)

func describeHost(e *results.Environment, dir string) {
	if release, err := unix.Sysctl("kern.osrelease"); err == nil {
		e.Kernel = "Darwin " + release
	}
	if version, err := unix.Sysctl("kern.osproductversion"); err == nil {
		e.Kernel += " (macOS " + version + ")"
	}
	e.CPU, _ = unix.Sysctl("machdep.cpu.brand_string") // "" is unknown
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		e.Memory = int64(n)
	}
	// struct loadavg { fixpt_t ldavg[3]; long fscale; }
	if raw, err := unix.SysctlRaw("vm.loadavg"); err == nil && len(raw) >= 24 {
		if scale := binary.LittleEndian.Uint64(raw[16:]); scale > 0 {
			e.LoadBefore = float64(binary.LittleEndian.Uint32(raw)) / float64(scale)
		}
	}
	e.Virtual = "none"
	if n, err := unix.SysctlUint32("kern.hv_vmm_present"); err != nil {
		e.Virtual = "unknown"
	} else if n != 0 {
		e.Virtual = "vm"
	}
	for {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			e.Filesystem = unix.ByteSliceToString(st.Fstypename[:])
			e.MountOptions = mountFlags(st.Flags)
			return
		}
		up := filepath.Dir(dir)
		if up == dir {
			return
		}
		dir = up
	}
}

func mountFlags(flags uint32) string {
	s := "rw"
	if flags&unix.MNT_RDONLY != 0 {
		s = "ro"
	}
	for _, f := range []struct {
		bit  uint32
		name string
	}{{unix.MNT_SYNCHRONOUS, "sync"}, {unix.MNT_ASYNC, "async"}, {unix.MNT_LOCAL, "local"}, {unix.MNT_JOURNALED, "journaled"}, {unix.MNT_NOATIME, "noatime"}} {
		if flags&f.bit != 0 {
			s += "," + f.name
		}
	}
	return s
}
