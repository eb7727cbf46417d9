package stdio

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has exited and is not yet reaped, so that its group can still be
// addressed safely. It waits in the runtime's poller: a thousand children cost a thousand
// descriptors, not a thousand threads (SUP-7). False means that it cannot be known this way (Linux before 5.3,
// a sandbox without pidfd); the caller then waits in wait4.
func awaitExit(p *os.Process) bool {
	// Our own descriptor: making that of os.Process non-blocking would confuse its Wait.
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n == 1
	}) == nil
}

// frozen reports whether the process is stopped (SIGSTOP, a debugger): it can answer nothing, and handles
// neither the end of its stdin nor SIGTERM.
func frozen(pid int) bool {
	state, _ := stat(strconv.Itoa(pid))
	return state == 'T' || state == 't'
}

// onlyZombies reports whether all that is left of a group waits to be reaped. Orphans are reaped by init, and
// in a container there may be an init that never does.
func onlyZombies(group int) bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if state, pgrp := stat(name); pgrp == group && state != 'Z' && state != 'X' {
			return false
		}
	}
	return true
}

// stat reads the state and the process group from /proc/PID/stat: "pid (comm) state ppid pgrp ...".
func stat(pid string) (state byte, group int) {
	line, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 3 || len(fields[0]) != 1 {
		return 0, 0
	}
	group, _ = strconv.Atoi(string(fields[2]))
	return fields[0][0], group
}
