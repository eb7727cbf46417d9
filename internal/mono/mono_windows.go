//go:build windows

package mono

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")
	counter  = kernel32.NewProc("QueryPerformanceCounter")
	freq     = kernel32.NewProc("QueryPerformanceFrequency")
)

func now() Time {
	var c, f int64
	counter.Call(uintptr(unsafe.Pointer(&c)))
	freq.Call(uintptr(unsafe.Pointer(&f)))
	return Time(c/f*1e9 + c%f*1e9/f)
}
