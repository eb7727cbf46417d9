//go:build unix

package faults

import (
	"os"

	"golang.org/x/sys/unix"
)

var stopSignal, contSignal os.Signal = unix.SIGSTOP, unix.SIGCONT
