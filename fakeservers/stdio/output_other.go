//go:build !unix

package stdio

import (
	"errors"
	"os"
	"syscall"
)

const (
	stdout = 1
	stderr = 2
)

// brokenPipe and noData are ERROR_BROKEN_PIPE and ERROR_NO_DATA: the reader closed its end.
const (
	brokenPipe = syscall.Errno(109)
	noData     = syscall.Errno(232)
)

func writeTo(fd int, b []byte) error {
	f := os.Stdout
	if fd == stderr {
		f = os.Stderr
	}
	_, err := f.Write(b)
	if errors.Is(err, brokenPipe) || errors.Is(err, noData) {
		return errBroken
	}
	return err
}

func closeStdout() { _ = os.Stdout.Close() }
