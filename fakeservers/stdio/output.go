package stdio

import (
	"errors"
	"sync"
	"sync/atomic"
)

var (
	errClosed = errors.New("closed by the script")
	errBroken = errors.New("nobody reads it any more")
)

// output writes to standard output, one writer at a time.
type output struct {
	mu     sync.Mutex
	closed bool
	sealed atomic.Bool
}

func newOutput() *output { return &output{} }

// seal lets no new write begin: the process is about to end.
func (o *output) seal() { o.sealed.Store(true) }

// write writes all of b, or says why not.
func (o *output) write(b []byte) error {
	return o.hold(func(put func([]byte) error) error { return put(b) })
}

// hold gives a writer standard output for itself until it returns.
func (o *output) hold(use func(put func([]byte) error) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errClosed
	}
	return use(func(b []byte) error {
		if o.sealed.Load() {
			return errClosed
		}
		return writeTo(stdout, b)
	})
}

// close closes standard output once the present writer is through.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		closeStdout()
	}
}

// writeStderr is output.hold for standard error, which nobody else writes to.
func writeStderr(use func(put func([]byte) error) error) error {
	return use(func(b []byte) error { return writeTo(stderr, b) })
}
