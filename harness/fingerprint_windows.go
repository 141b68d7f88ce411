package harness

import (
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"gaia/results"
)

func describeHost(e *results.Environment, dir string) {
	v := windows.RtlGetVersion()
	e.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	if k, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE); err == nil {
		e.CPU, _, _ = k.GetStringValue("ProcessorNameString") // "" is unknown
		_ = k.Close()
	}
	// MEMORYSTATUSEX
	var m struct {
		size, load uint32
		total      uint64
		rest       [6]uint64
	}
	m.size = uint32(unsafe.Sizeof(m))
	if ok, _, _ := kernel32.NewProc("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&m))); ok != 0 {
		e.Memory = int64(m.total)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		if root, err := windows.UTF16PtrFromString(filepath.VolumeName(abs) + `\`); err == nil {
			var name [64]uint16
			var flags uint32
			if windows.GetVolumeInformation(root, nil, 0, nil, nil, &flags, &name[0], uint32(len(name))) == nil {
				e.Filesystem = windows.UTF16ToString(name[:])
				e.MountOptions = fmt.Sprintf("flags 0x%x", flags)
			}
		}
	}
	// Wine's ntdll says what it is.
	if ntdll.NewProc("wine_get_version").Find() == nil {
		e.Virtual = "wine"
	}
}
