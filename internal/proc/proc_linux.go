package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Read returns what /proc/PID/stat says; ErrGone when there is no such process.
func Read(pid int) (Info, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// ESRCH: it ended between open and read.
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return Info{}, ErrGone
		}
		return Info{}, err
	}
	return parseStat(b)
}

// parseStat reads proc_pid_stat(5). The name may hold spaces and brackets, so fields are counted from the last ')'.
func parseStat(b []byte) (Info, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Info{}, fmt.Errorf("unreadable stat line %q", b)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	if err != nil {
		return Info{}, fmt.Errorf("unreadable stat line: %w", err)
	}
	const (
		state, ppid, pgrp, session, starttime = 0, 1, 2, 3, 19 // fields 3, 4, 5, 6 and 22 of the manual page
	)
	f := strings.Fields(string(b[end+1:]))
	if len(f) <= starttime {
		return Info{}, fmt.Errorf("short stat line %q", b)
	}
	i := Info{Pid: pid, State: f[state][0], Comm: string(b[open+1 : end])}
	i.PPid, _ = strconv.Atoi(f[ppid])
	i.Pgrp, _ = strconv.Atoi(f[pgrp])
	i.Session, _ = strconv.Atoi(f[session])
	i.Start, err = strconv.ParseUint(f[starttime], 10, 64)
	return i, err
}

// List returns every process that can be seen.
func List() ([]Info, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if i, err := Read(pid); err == nil {
			out = append(out, i)
		}
	}
	return out, nil
}

func alive(pid int, start uint64) bool {
	i, err := Read(pid)
	return err == nil && !i.Dead() && (start == 0 || i.Start == start)
}

// Cmdline returns the arguments of pid, empty for zombies and kernel threads.
func Cmdline(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, gone(err)
	}
	if len(b) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// FDs returns how many file descriptors pid has open.
func FDs(pid int) (int, error) {
	d, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return 0, gone(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, gone(err)
	}
	if pid == os.Getpid() {
		return len(names) - 1, nil // the one this look needed
	}
	return len(names), nil
}

// RSS returns the resident memory of pid in bytes.
func RSS(pid int) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, gone(err)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, ErrGone
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}

// Signal sends sig to the process named by pid and start and to nothing else: the pidfd is taken first, then the start time
// is compared, so a pid that was reused in between is never hit. A process that is gone, a zombie, or another one gives
// ErrGone. start must be known.
func Signal(pid int, start uint64, sig syscall.Signal) error {
	if pid <= 0 || start == 0 {
		return fmt.Errorf("signal %s to pid %d: start time unknown", unix.SignalName(sig), pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			return ErrGone
		}
		return fmt.Errorf("pidfd of %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !alive(pid, start) {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal %s to pid %d: %w", unix.SignalName(sig), pid, err)
	}
	return nil
}

// AwaitExit waits until the process named by pid and start has ended (a zombie has), or ctx is done.
func AwaitExit(ctx context.Context, pid int, start uint64) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			return nil
		}
		return fmt.Errorf("pidfd of %d: %w", pid, err)
	}
	// The runtime's poller waits for it, so that a thousand waits do not cost a thousand threads.
	f := os.NewFile(uintptr(fd), "pidfd")
	if f == nil {
		unix.Close(fd)
		return fmt.Errorf("pidfd of %d: no file", pid)
	}
	defer f.Close()
	if !alive(pid, start) {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { f.Close() })
	defer stop()
	err = raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		return err == nil && n > 0
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
