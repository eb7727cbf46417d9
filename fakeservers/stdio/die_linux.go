package stdio

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieBySignal gives the signal back its default action, behind the back of Go's runtime, which would print a trace and
// exit with status 2 instead, and raises it.
func dieBySignal(sig syscall.Signal) {
	// A limit of 0 does not keep a core from a core_pattern that is a pipe; not being dumpable does.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	runtime.LockOSThread()
	var dfl [64]byte // struct sigaction of all zeros: SIG_DFL, no flags, nothing masked, whatever its layout
	const sigsetSize = 8
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&dfl)), 0, sigsetSize, 0, 0)
	_ = unix.Kill(os.Getpid(), sig)
	select {} // it comes at once
}
