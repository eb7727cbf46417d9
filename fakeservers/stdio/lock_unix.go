//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// exclusive opens and locks a file, or says that somebody else has it. The lock ends with the process.
func exclusive(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
