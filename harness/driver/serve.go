package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Handler is what a target written in Go implements; [Serve] does the talking. Calls overlap, so every method
// must be safe for concurrent use. The context of a call carries the caller's deadline when the request has
// one (timeout_ms); with none, the configured call timeout is the handler's business. All contexts end when
// the target is being closed.
//
// A target that can do more implements [StatusHandler], [ReconnectHandler] or [EventHandler] too, and says so
// in Info.Supports.
type Handler interface {
	// Configure comes first and once. It should return within the connect timeout even if no server can be reached.
	Configure(ctx context.Context, c Config) (*Info, *Error)
	List(ctx context.Context) ([]Tool, *Error)
	Call(ctx context.Context, server, tool string, args json.RawMessage) (*Result, *Error)
	// Close stops everything that Configure started. It is called once, also without a Configure before it or
	// during a slow one, fails the calls in flight, and must bound itself.
	Close(ctx context.Context) *Error
}

// StatusHandler is a Handler that answers OpStatus.
type StatusHandler interface {
	Status(ctx context.Context) ([]ServerStatus, *Error)
}

// ReconnectHandler is a Handler that answers OpReconnect.
type ReconnectHandler interface {
	Reconnect(ctx context.Context, server string) *Error
}

// EventHandler is a Handler with events to tell. EmitTo is called once, before Configure. emit is safe for
// concurrent use and keeps the order of one goroutine's events; it blocks while the harness does not read.
type EventHandler interface {
	EmitTo(emit func(Event))
}

const (
	// drainWait is how long a closing target waits for calls in flight to answer once Close has returned and
	// their contexts have ended: time for a good handler to say "closed", not enough for a hung one to hold
	// up the exit.
	drainWait = 500 * time.Millisecond
	// lastWriteWait bounds the last answer when nobody reads any more.
	lastWriteWait = 5 * time.Second
)

// Serve answers the harness until it asks for a close, its stream ends, or ctx ends; then everything is
// closed, and it returns. The error says what went wrong with the streams; nil after a close and after the
// end of in. Serve may leave one goroutine behind that is still reading in, so the process is expected to
// exit soon.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h Handler) error {
	opCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{h: h, out: out, cancel: cancel, broken: make(chan struct{}), closed: make(chan struct{})}
	if e, ok := h.(EventHandler); ok {
		e.EmitTo(s.emit)
	}
	lines := make(chan readLine)
	go readLines(opCtx, in, lines)
	for n := 1; ; n++ {
		select {
		case l := <-lines:
			if l.err != nil && !errors.Is(l.err, errLineTooLong) {
				s.finish()
				return streamError("read request", l.err)
			}
			s.take(opCtx, n, l)
		case <-s.broken:
			s.finish()
			return streamError("write response", s.brokenBy)
		case <-s.closed:
			return nil
		case <-ctx.Done():
			s.finish()
			return ctx.Err()
		}
	}
}

type readLine struct {
	text []byte
	err  error
}

func readLines(ctx context.Context, in io.Reader, to chan<- readLine) {
	r := newLineReader(in)
	for {
		text, err := r.next()
		select {
		case to <- readLine{text, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

func streamError(doing string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("driver: %s: %w", doing, err)
}

// server is one run of Serve. ready and closing are touched by Serve's own goroutine only.
type server struct {
	h         Handler
	cancel    context.CancelFunc // ends the contexts of all ops
	closing   bool               // close was asked for: no more ops
	ready     chan struct{}      // closed when Configure has returned; nil before it was asked for
	configErr *Error             // valid once ready is closed
	ops       sync.WaitGroup

	mu       sync.Mutex // out
	out      io.Writer
	silent   bool          // the last answer was written
	brokenBy error         // the first write error, valid once broken is closed
	broken   chan struct{} // closed when the harness cannot be written to any more

	closeOnce sync.Once
	closed    chan struct{} // closed when everything is stopped and the last answer written
}

// take handles one line: it never blocks, since each op runs in its own goroutine.
func (s *server) take(ctx context.Context, n int, l readLine) {
	if l.err != nil {
		s.write(Response{Error: &Error{Kind: KindProtocol, Message: fmt.Sprintf("input line %d: %v", n, l.err)}})
		return
	}
	text := bytes.TrimSpace(l.text)
	if len(text) == 0 {
		return
	}
	var r Request
	if err := json.Unmarshal(text, &r); err != nil {
		s.write(Response{Error: &Error{
			Kind:    KindProtocol,
			Message: fmt.Sprintf("input line %d is not a request: %v: %s", n, err, clip(text)),
		}})
		return
	}
	switch {
	case s.closing:
		s.write(Response{ID: r.ID, Error: &Error{Kind: KindClosed, Message: "the target is being closed"}})
	case r.Op == OpClose:
		s.closing = true
		go s.close(&r)
	case r.Op == OpConfigure && s.ready == nil:
		ready := make(chan struct{})
		s.ready = ready
		s.start(ctx, r, func(ctx context.Context, r Request) Response {
			defer close(ready)
			return s.configure(ctx, r)
		})
	case s.ready == nil:
		s.write(Response{ID: r.ID, Error: &Error{Kind: KindProtocol, Message: "the first request must be \"configure\""}})
	default:
		ready := s.ready
		s.start(ctx, r, func(ctx context.Context, r Request) Response { return s.op(ctx, r, ready) })
	}
}

func (s *server) start(ctx context.Context, r Request, op func(context.Context, Request) Response) {
	s.ops.Add(1)
	go func() {
		defer s.ops.Done()
		resp := op(ctx, r)
		resp.ID, resp.OK = r.ID, resp.Error == nil
		s.write(resp)
	}()
}

func (s *server) configure(ctx context.Context, r Request) Response {
	if r.Config == nil {
		s.configErr = &Error{Kind: KindProtocol, Message: "configure without a config"}
		return Response{Error: s.configErr}
	}
	info, err := s.h.Configure(ctx, *r.Config)
	s.configErr = err
	if err == nil && info != nil && info.Protocol == 0 {
		info.Protocol = Version
	}
	return Response{Info: info, Error: err}
}

// op waits for a configure that is under way, since a client may send its first call behind it without waiting.
func (s *server) op(ctx context.Context, r Request, ready <-chan struct{}) Response {
	if err := s.awaitConfigured(ctx, ready); err != nil {
		return Response{Error: err}
	}
	switch r.Op {
	case OpList:
		tools, err := s.h.List(ctx)
		return Response{Tools: tools, Error: err}
	case OpCall:
		if r.TimeoutMS > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(r.TimeoutMS)*time.Millisecond)
			defer cancel()
		}
		result, err := s.h.Call(ctx, r.Server, r.Tool, r.Args)
		return Response{Result: result, Error: err}
	case OpStatus:
		if h, ok := s.h.(StatusHandler); ok {
			servers, err := h.Status(ctx)
			return Response{Servers: servers, Error: err}
		}
	case OpReconnect:
		if h, ok := s.h.(ReconnectHandler); ok {
			return Response{Error: h.Reconnect(ctx, r.Server)}
		}
	case OpConfigure:
		return Response{Error: &Error{Kind: KindProtocol, Message: "already configured"}}
	}
	return Response{Error: &Error{Kind: KindOther, Message: fmt.Sprintf("op %q is not supported", r.Op)}}
}

func (s *server) awaitConfigured(ctx context.Context, ready <-chan struct{}) *Error {
	select {
	case <-ready:
	case <-ctx.Done():
		return &Error{Kind: KindClosed, Message: "the target is being closed"}
	}
	if s.configErr != nil {
		return &Error{Kind: KindOther, Message: "configure failed: " + s.configErr.Message}
	}
	return nil
}

// finish closes without being asked, unless a "close" is under way: that wants its answer.
func (s *server) finish() {
	if !s.closing {
		s.close(nil)
	}
	<-s.closed
}

// close stops the handler once, however many ask for it, and answers r if there is one. The answer to "close"
// is the last line.
func (s *server) close(r *Request) {
	s.closeOnce.Do(func() {
		// The handler is asked first, so that its own "closed" reaches the calls in flight before their contexts end.
		err := s.h.Close(context.Background())
		s.cancel()
		within(drainWait, s.ops.Wait)
		if r != nil {
			within(lastWriteWait, func() { s.writeLast(Response{ID: r.ID, OK: err == nil, Error: err}) })
		}
		close(s.closed)
	})
	<-s.closed
}

// within runs f and returns when it is done or d has passed; f then goes on alone.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

func (s *server) emit(e Event) { s.write(Response{OK: true, Event: &e}) }

// write puts one line out; lines never mix. The first error marks the harness as gone.
func (s *server) write(r Response) { s.put(r, false) }

// writeLast writes the answer to "close"; a late event of a handler that goes on telling is dropped.
func (s *server) writeLast(r Response) { s.put(r, true) }

func (s *server) put(r Response, last bool) {
	line, err := json.Marshal(r)
	if err != nil { // only a handler's raw JSON can be at fault, and no type here carries any
		line, _ = json.Marshal(Response{ID: r.ID, Error: &Error{Kind: KindOther, Message: "encode response: " + err.Error()}})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.brokenBy != nil || s.silent {
		return
	}
	s.silent = last
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		s.brokenBy = err
		close(s.broken)
	}
}
