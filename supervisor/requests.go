package supervisor

import (
	"context"
	"sync"
	"time"
)

// mailbox takes requests for the owner without making anybody wait. A request is data under a lock; the wake-up
// is only a hint, and never lost, since it stays in its channel until it is read.
type mailbox struct {
	mu     sync.Mutex
	box    []request
	closed *Error
	wake   chan struct{}
}

type requestKind uint8

const (
	reqWait    requestKind = iota // a call needs a session
	reqLeave                      // it needs it no more
	reqAsk                        // somebody asks for a fresh session
	reqForget                     // and has given up waiting for it
	reqChanged                    // the server says that its tools changed
	reqHung                       // calls have found the session to be silent
)

type request struct {
	kind   requestKind
	waiter *waiter
	ask    *ask
	sess   *session
	text   string
}

// waiter is a call that waits for a session.
type waiter struct {
	answer   chan answer // takes one without waiting
	not      *session    // which has failed the call before
	deadline time.Time   // zero = none
}

type answer struct {
	sess *session
	err  *Error
}

// ask is a request for a fresh session.
type ask struct {
	answer chan *Error // takes one without waiting; nil = it is up
	at     time.Time
}

// post puts a request into the box. After the owner's end it says so.
func (m *mailbox) post(r request) *Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed != nil {
		return m.closed
	}
	if r.kind == reqChanged && len(m.box) > 0 && m.box[len(m.box)-1].kind == reqChanged {
		return nil // a flood of notifications is one request
	}
	m.box = append(m.box, r)
	select {
	case m.wake <- struct{}{}:
	default: // the owner has not yet read the last hint, and will find this one with it
	}
	return nil
}

// tell is post for what need not be answered.
func (m *mailbox) tell(r request) { _ = m.post(r) }

func (m *mailbox) take() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	box := m.box
	m.box = nil
	return box
}

// close answers what nobody will read any more.
func (m *mailbox) close(e *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = e
	for _, r := range m.box {
		switch r.kind {
		case reqWait:
			r.waiter.answer <- answer{err: e}
		case reqAsk:
			r.ask.answer <- e
		}
	}
	m.box = nil
}

func (o *owner) readMail() {
	for _, r := range o.mail.take() {
		switch r.kind {
		case reqWait:
			o.wait(r.waiter)
		case reqLeave:
			delete(o.waiting, r.waiter)
		case reqAsk:
			o.asked(r.ask)
		case reqForget:
			o.forget(r.ask)
		case reqChanged:
			o.changed()
		case reqHung:
			if r.sess == o.sess && o.sess != nil {
				o.sess.link.abort(r.text) // its death arrives like any other
			}
		}
	}
}

// wait keeps a call until there is a session, or until an attempt has failed. A call whose deadline comes
// before the next attempt can is told so at once.
func (o *owner) wait(w *waiter) {
	if o.sess != nil && o.sess != w.not && !o.sess.link.doomed() {
		w.answer <- answer{sess: o.sess}
		return
	}
	o.demand()
	o.waiting[w] = struct{}{}
	if o.sess == nil && o.trying == nil && !w.deadline.IsZero() && w.deadline.Before(o.due) && !o.urgent {
		delete(o.waiting, w)
		w.answer <- answer{err: o.notConnected()}
	}
}

func (o *owner) serveWaiting(s *session) {
	for w := range o.waiting {
		if w.not != s {
			w.answer <- answer{sess: s}
			delete(o.waiting, w)
		}
	}
	for _, a := range o.asks {
		a.answer <- nil
	}
	o.asks = nil
}

// failWaiting answers the calls that wait. Requests for a reconnect wait on: there will be other attempts.
func (o *owner) failWaiting(e *Error) {
	for w := range o.waiting {
		w.answer <- answer{err: e}
		delete(o.waiting, w)
	}
}

// asked makes an attempt now, in whatever state the owner is. One that is under way serves all who ask.
func (o *owner) asked(a *ask) {
	o.asks = append(o.asks, a)
	o.shared.events.publish(Event{Server: o.server.Name, Kind: EventReconnect, Detail: "asked for"})
	if o.trying != nil {
		return // it may be served by that; if not, another one follows at once
	}
	if o.sess != nil {
		o.replace()
	}
	o.urgent = true
}

func (o *owner) forget(a *ask) {
	for i := range o.asks {
		if o.asks[i] == a {
			o.asks = append(o.asks[:i], o.asks[i+1:]...)
			return
		}
	}
}

// session returns the live session, or waits for one that is not the given one.
func (o *owner) session(ctx context.Context, not *session) (*session, *Error) {
	if s := o.live.Load(); s != nil && s != not && !s.link.doomed() {
		return s, nil
	}
	w := &waiter{answer: make(chan answer, 1), not: not}
	w.deadline, _ = ctx.Deadline()
	if e := o.mail.post(request{kind: reqWait, waiter: w}); e != nil {
		return nil, e
	}
	select {
	case a := <-w.answer:
		return a.sess, a.err
	case <-ctx.Done():
		o.mail.tell(request{kind: reqLeave, waiter: w})
		e := o.notConnected()
		e.Cause = ctx.Err()
		if ctx.Err() == context.Canceled {
			e.Kind = KindCancelled
			e.What = "the caller gave up while the server was not connected"
		}
		return nil, e
	}
}

// reconnect asks for a fresh session and waits until it is up.
func (o *owner) reconnect(ctx context.Context) *Error {
	a := &ask{answer: make(chan *Error, 1), at: time.Now()}
	if e := o.mail.post(request{kind: reqAsk, ask: a}); e != nil {
		return e
	}
	select {
	case e := <-a.answer:
		return e
	case <-ctx.Done():
		o.mail.tell(request{kind: reqForget, ask: a})
		e := o.notConnected()
		e.Cause = ctx.Err()
		return e
	}
}
