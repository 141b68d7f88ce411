package harness

import (
	"math/bits"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32     = windows.NewLazySystemDLL("kernel32.dll")
	queryCounter = kernel32.NewProc("QueryPerformanceCounter")
	ticksASecond = sync.OnceValue(func() uint64 {
		var f int64
		_, _, _ = kernel32.NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&f)))
		return uint64(max(f, 1))
	})
)

// now is an instant in nanoseconds that can be compared across the processes
// of this host, and with nothing else.
func now() int64 {
	var ticks int64
	// It can't fail on any Windows that Go supports.
	_, _, _ = queryCounter.Call(uintptr(unsafe.Pointer(&ticks)))
	hi, lo := bits.Mul64(uint64(ticks), 1_000_000_000)
	ns, _ := bits.Div64(hi, lo, ticksASecond())
	return int64(ns)
}
