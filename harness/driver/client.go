package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// ErrTargetGone says that the target will not answer: its output ended, or its input cannot be written to.
// The errors of [Client.Do] that match it are *GoneError.
var ErrTargetGone = errors.New("target is gone")

// GoneError is an ErrTargetGone with what was seen last.
type GoneError struct {
	Cause error    // of the stream; nil when its output just ended
	Noise []string // the last few lines that were no responses, oldest first
}

func (e *GoneError) Error() string {
	var b strings.Builder
	b.WriteString(ErrTargetGone.Error())
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	} else {
		b.WriteString(": its output ended")
	}
	if len(e.Noise) > 0 {
		fmt.Fprintf(&b, "; it last wrote: %s", strings.Join(e.Noise, " | "))
	}
	return b.String()
}

// Is makes errors.Is(err, ErrTargetGone) true.
func (e *GoneError) Is(target error) bool { return target == ErrTargetGone }

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Cause }

// Client is the harness's half of the protocol. It is safe for concurrent use. No method blocks after the
// target's end, and none for longer than its context: a target that does not read its input holds up the
// queue behind it, never a caller.
type Client struct {
	in      io.Writer
	onEvent func(Event)
	queue   chan *pending
	gone    chan struct{} // closed once goneErr is set

	mu      sync.Mutex
	nextID  int64
	waiting map[int64]chan Response
	noise   []string // last lines, at most noiseKept
	noises  int
	goneErr error
}

// pending is a request that waits for its turn to be written; it is skipped when its caller has given up by then.
type pending struct {
	ctx  context.Context
	line []byte
	lost chan error // has room for the one error that says that the line could not be written
}

const (
	noiseKept   = 5   // enough for a banner or the head of a stack trace
	queueLength = 256 // requests that wait for a target to read; more wait in their callers, inside their contexts
)

// Option changes a Client.
type Option func(*Client)

// WithEvents has f called for each event of the target, in order, from the goroutine that reads its output: f
// must not block and must not call the client.
func WithEvents(f func(Event)) Option { return func(c *Client) { c.onEvent = f } }

// NewClient speaks to a target: in is its stdin, out its stdout. Its goroutines end when out ends and in
// fails or is idle; both streams stay the caller's to close, see [Client.CloseInput].
func NewClient(in io.Writer, out io.Reader, opts ...Option) *Client {
	c := &Client{
		in:      in,
		queue:   make(chan *pending, queueLength),
		gone:    make(chan struct{}),
		waiting: map[int64]chan Response{},
	}
	for _, o := range opts {
		o(c)
	}
	go c.readLoop(out)
	go c.writeLoop()
	return c
}

// Do sends one request, with an id of its own, and waits for its response. The error is ctx's own or a
// *GoneError; what the target itself has to say against the request is in Response.Error.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	answer := make(chan Response, 1)
	c.mu.Lock()
	c.nextID++
	r.ID = c.nextID
	c.waiting[r.ID] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, r.ID)
		c.mu.Unlock()
	}()
	line, err := json.Marshal(r)
	if err != nil {
		return Response{}, fmt.Errorf("encode request %q: %w", r.Op, err)
	}
	p := &pending{ctx: ctx, line: append(line, '\n'), lost: make(chan error, 1)}
	select {
	case c.queue <- p:
	case <-c.gone:
		return Response{}, c.goneError()
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
	select {
	case resp := <-answer:
		return resp, nil
	case err := <-p.lost:
		return Response{}, err
	case <-c.gone:
	case <-ctx.Done():
	}
	select { // an answer that came in the same instant counts
	case resp := <-answer:
		return resp, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	return Response{}, c.goneError()
}

// Gone is closed when the target will answer nothing more.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Noise returns how many lines of the target's output were no responses, and the last few of them, clipped.
func (c *Client) Noise() (count int, last []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noises, append([]string(nil), c.noise...)
}

// CloseInput ends the target's stdin, which tells it to stop, if in can be closed.
func (c *Client) CloseInput() error {
	if closer, ok := c.in.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// writeLoop writes one request after the other. A target that closed its stdin may still answer what it has
// read, so only the end of its output ends those; what can no longer be written fails at once.
func (c *Client) writeLoop() {
	var broken error
	for {
		select {
		case p := <-c.queue:
			if broken == nil && p.ctx.Err() == nil {
				_, broken = c.in.Write(p.line)
			}
			if broken != nil {
				p.lost <- c.newGoneError(fmt.Errorf("write request: %w", broken))
			}
		case <-c.gone:
			return
		}
	}
}

func (c *Client) readLoop(out io.Reader) {
	r := newLineReader(out)
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, errLineTooLong):
			c.addNoise([]byte(err.Error()))
		case errors.Is(err, io.EOF):
			c.setGone(nil)
			return
		case err != nil:
			c.setGone(fmt.Errorf("read response: %w", err))
			return
		default:
			c.handle(line)
		}
	}
}

// handle delivers one line. An answer to a request whose caller has given up is dropped: it is late, not noise.
func (c *Client) handle(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	var r Response
	if err := json.Unmarshal(line, &r); err != nil {
		c.addNoise(line)
		return
	}
	if r.ID == 0 {
		switch {
		case r.Event == nil:
			c.addNoise(line) // a complaint about a line of ours, or JSON that means nothing here
		case c.onEvent != nil:
			c.onEvent(*r.Event)
		}
		return
	}
	c.mu.Lock()
	answer := c.waiting[r.ID]
	delete(c.waiting, r.ID)
	c.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}

func (c *Client) addNoise(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noises++
	c.noise = append(c.noise, clip(line))
	if len(c.noise) > noiseKept {
		c.noise = c.noise[len(c.noise)-noiseKept:]
	}
}

func (c *Client) setGone(cause error) {
	err := c.newGoneError(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.goneErr = err
	close(c.gone)
}

func (c *Client) newGoneError(cause error) error {
	_, noise := c.Noise()
	return &GoneError{Cause: cause, Noise: noise}
}

func (c *Client) goneError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goneErr
}
