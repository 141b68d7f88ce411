package harness

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gaia/results"
)

func describeHost(e *results.Environment, dir string) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		e.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		e.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	if load, _, ok := strings.Cut(readText("/proc/loadavg"), " "); ok {
		e.LoadBefore, _ = strconv.ParseFloat(load, 64)
	}
	cpu := readText("/proc/cpuinfo")
	for _, name := range []string{"model name", "Model", "Processor", "cpu model", "CPU part"} {
		if e.CPU = cpuField(cpu, name); e.CPU != "" {
			break
		}
	}
	e.Filesystem, e.MountOptions = mountOf(readText("/proc/self/mountinfo"), nearest(dir))
	e.Virtual = virtual(cpu)
}

func readText(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

func cpuField(cpuinfo, name string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// nearest is dir or the nearest folder above it that exists, links resolved.
func nearest(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "/"
	}
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == "/" {
			return real
		}
		dir = filepath.Dir(dir)
	}
}

// mountOf finds in /proc/self/mountinfo the filesystem that path lies on: the
// longest mount point above it, the last of several. Options that name paths
// (an overlay's layers) are left out.
func mountOf(mountinfo, path string) (filesystem, options string) {
	best := -1
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 6 || len(types) < 3 {
			continue
		}
		point := unescapeMount(fields[4])
		under := path == point || strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/")
		if !under || len(point) < best {
			continue
		}
		best = len(point)
		filesystem = types[0]
		var kept []string
		for _, o := range append(strings.Split(fields[5], ","), strings.Split(types[2], ",")...) {
			if !strings.ContainsAny(o, `/\`) && !slices.Contains(kept, o) {
				kept = append(kept, o)
			}
		}
		options = strings.Join(kept, ",")
	}
	return filesystem, options
}

// unescapeMount undoes mountinfo's \040 and the like.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// virtual names what this system runs in, the innermost first.
func virtual(cpuinfo string) string {
	var in []string
	if _, err := os.Stat("/.dockerenv"); err == nil {
		in = append(in, "docker")
	} else if _, err := os.Stat("/run/.containerenv"); err == nil {
		in = append(in, "podman")
	} else if c := readText("/run/systemd/container"); c != "" {
		in = append(in, c)
	} else if g := readText("/proc/1/cgroup"); strings.Contains(g, "docker") || strings.Contains(g, "kubepods") || strings.Contains(g, "lxc") {
		in = append(in, "container")
	}
	if strings.Contains(strings.ToLower(readText("/proc/sys/kernel/osrelease")), "microsoft") {
		in = append(in, "wsl")
	} else if strings.Contains(cpuField(cpuinfo, "flags"), "hypervisor") {
		vm := "vm"
		switch product := readText("/sys/class/dmi/id/sys_vendor") + " " + readText("/sys/class/dmi/id/product_name"); {
		case strings.Contains(product, "QEMU"):
			vm = "kvm (qemu)"
		case strings.Contains(product, "VMware"):
			vm = "vmware"
		case strings.Contains(product, "VirtualBox"):
			vm = "virtualbox"
		case strings.Contains(product, "Microsoft"):
			vm = "hyper-v"
		case strings.Contains(product, "Amazon"):
			vm = "amazon"
		case strings.Contains(product, "Google"):
			vm = "google"
		case strings.Contains(readText("/proc/sys/kernel/osrelease"), "-fc") || strings.Contains(readText("/proc/cmdline"), "firecracker"):
			vm = "firecracker"
		}
		in = append(in, vm)
	}
	if len(in) == 0 {
		return "none"
	}
	return strings.Join(in, " in ")
}
