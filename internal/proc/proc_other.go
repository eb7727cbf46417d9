//go:build !linux

package proc

import (
	"context"
	"time"
)

// pollEvery is how often a wait looks again where the kernel does not tell us.
const pollEvery = 20 * time.Millisecond

// Read is not supported here.
func Read(pid int) (Info, error) {
	if !alive(pid, 0) {
		return Info{}, ErrGone
	}
	return Info{}, ErrUnsupported
}

// List is not supported here.
func List() ([]Info, error) { return nil, ErrUnsupported }

// Cmdline is not supported here.
func Cmdline(int) ([]string, error) { return nil, ErrUnsupported }

// FDs is not supported here.
func FDs(int) (int, error) { return 0, ErrUnsupported }

// RSS is not supported here.
func RSS(int) (int64, error) { return 0, ErrUnsupported }

// AwaitExit waits until no process has the pid any more, or ctx is done.
func AwaitExit(ctx context.Context, pid int, start uint64) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for alive(pid, start) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}
