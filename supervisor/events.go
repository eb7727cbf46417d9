package supervisor

import (
	"sync"
	"sync/atomic"
	"time"
)

// eventBuffer is how far a listener may fall behind before it loses the oldest events.
const eventBuffer = 256

// hub gives every event to every listener and waits for none of them.
type hub struct {
	any atomic.Bool // somebody listens

	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    bool
}

type listener struct {
	ch   chan Event
	lost int
}

func (h *hub) listen() (<-chan Event, func()) {
	l := &listener{ch: make(chan Event, eventBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(l.ch)
		return l.ch, func() {}
	}
	if h.listeners == nil {
		h.listeners = map[*listener]struct{}{}
	}
	h.listeners[l] = struct{}{}
	h.any.Store(true)
	return l.ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.listeners[l]; ok {
			delete(h.listeners, l)
			close(l.ch)
			h.any.Store(len(h.listeners) > 0)
		}
	}
}

func (h *hub) publish(e Event) {
	if !h.any.Load() {
		return
	}
	e.Time = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		l.put(e)
	}
}

// put never waits: only the hub sends, under its lock, so after one receive there is room.
func (l *listener) put(e Event) {
	for {
		e.Lost = l.lost
		select {
		case l.ch <- e:
			l.lost = 0
			return
		default:
		}
		select {
		case old := <-l.ch:
			l.lost += 1 + old.Lost
		default:
		}
	}
}

// close ends all streams, after what is in them.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.listeners {
		delete(h.listeners, l)
		close(l.ch)
	}
	h.any.Store(false)
}
