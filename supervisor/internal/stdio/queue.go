package stdio

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

var (
	// errQueueFull fails one message, not the session.
	errQueueFull = errors.New("the write queue is full")
	// errQueueClosed: nothing is written to this process any more.
	errQueueClosed = errors.New("stdin is closed")
)

// item is one message on its way to the child.
type item struct {
	rest []byte     // not yet taken by the pipe
	mark *sent.Mark // nil for messages that nobody asks about
}

// queue writes messages to the child's stdin without ever blocking a caller. The usual message is
// taken by the pipe at once, on the caller's goroutine. Otherwise it waits, and one goroutine writes.
type queue struct {
	file    *os.File
	raw     syscall.RawConn
	limit   int           // bytes that may wait
	stall   time.Duration // no byte taken for so long: the child is deaf
	onBreak func(error)   // called once, when writing has become impossible; must not block

	mu      sync.Mutex
	items   []item // items[head:] wait; the slice is used again when it has run empty
	head    int
	bytes   int  // waiting, without the first item's part that went out already
	pumping bool // somebody is writing; whoever finds it false may begin
	closed  bool
}

func newQueue(f *os.File, limit int, stall time.Duration, onBreak func(error)) (*queue, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &queue{file: f, raw: raw, limit: limit, stall: stall, onBreak: onBreak}, nil
}

// write hands p over, in order, and keeps it. It fails at once if the queue is full or closed; nothing of p
// goes out then. Later failures end the session by way of onBreak.
func (q *queue) write(p []byte, m *sent.Mark) error {
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		return errQueueClosed
	case q.bytes > 0 && q.bytes+len(p) > q.limit: // an empty queue takes a message of any size
		q.mu.Unlock()
		return errQueueFull
	}
	q.items = append(q.items, item{p, m})
	q.bytes += len(p)
	if q.pumping {
		q.mu.Unlock()
		return nil
	}
	q.pumping = true
	q.mu.Unlock()

	blocked, err := q.pump(false)
	if err != nil {
		return q.broken(err)
	}
	if blocked {
		go func() {
			if _, err := q.pump(true); err != nil {
				_ = q.broken(err)
			}
		}()
	}
	return nil
}

// broken ends writing for good. It returns what the present caller is to be told.
func (q *queue) broken(err error) error {
	if !q.close() {
		return errQueueClosed
	}
	q.onBreak(err)
	return err
}

// withdraw takes a message back. It reports false if the message was begun, or is not here.
func (q *queue) withdraw(m *sent.Mark) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := q.head; i < len(q.items); i++ {
		if q.items[i].mark == m && !m.Begun() {
			q.bytes -= len(q.items[i].rest)
			q.items = append(q.items[:i], q.items[i+1:]...)
			return true
		}
	}
	return false
}

// close drops what waits and refuses everything from now on. Whoever was written to in part stays begun.
// It reports whether the queue was open.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	q.items, q.head, q.bytes = nil, 0, 0
	return true
}

// next returns what is to be written now, or nil: the one who pumps is done. The lock is held.
func (q *queue) next() *item {
	if q.head == len(q.items) || q.closed {
		q.pumping = false
		q.items, q.head = q.items[:0], 0
		return nil
	}
	return &q.items[q.head]
}

// took notes that the pipe took n bytes of the first item. The lock is held.
func (q *queue) took(it *item, n int) {
	it.mark.Begin()
	it.rest = it.rest[n:]
	q.bytes -= n
	if len(it.rest) == 0 {
		*it = item{} // let go of the message
		q.head++
	}
}
