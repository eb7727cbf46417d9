//go:build unix

package mono

import "golang.org/x/sys/unix"

func now() Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("monotonic clock cannot be read: " + err.Error())
	}
	return Time(ts.Nano())
}
