//go:build unix

package stdio

import (
	"time"

	"golang.org/x/sys/unix"
)

// pump writes until nothing is left. When the pipe is full it waits, or, without wait, returns blocked; the
// caller then sees to it that somebody waits, and is still the one who pumps.
//
// The lock is held around each write(2), which cannot block, so that withdraw and the mark are exact.
func (q *queue) pump(wait bool) (blocked bool, err error) {
	if wait {
		q.allow(q.stall)
	}
	fail := q.raw.Write(func(fd uintptr) (done bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		blocked = false
		for it := q.next(); it != nil; it = q.next() {
			n, e := unix.Write(int(fd), it.rest)
			switch {
			case n > 0:
				q.took(it, n)
				if wait { // it takes something: it is slow, not deaf
					q.allow(q.stall)
				}
			case e == unix.EINTR:
			case e == unix.EAGAIN:
				blocked = true
				return !wait
			default:
				err = e
				return true
			}
		}
		if wait { // the next direct write must not meet our deadline
			_ = q.file.SetWriteDeadline(time.Time{})
		}
		return true
	})
	if err == nil {
		err = fail
	}
	return blocked, err
}

// allow gives the pipe this long to take the next byte. It cannot fail on an open pipe, and on a closed one
// nobody waits.
func (q *queue) allow(d time.Duration) { _ = q.file.SetWriteDeadline(time.Now().Add(d)) }
