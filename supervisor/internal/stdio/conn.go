package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

// probePrefix begins the id of a probe. go-sdk numbers its requests, so no answer of its own is filtered out.
const probePrefix = "unwedge-probe-"

// Discover is what became of the server/discover that go-sdk asked with: the evidence for the era.
type Discover uint8

const (
	NotAsked Discover = iota
	Pending           // asked, neither answered nor given up
	Answered
	Unknown // refused as an unknown method
	Refused // refused for another reason
	Silent  // not answered in time
	Late    // answered, but after it had been given up
)

// conn is what go-sdk sees: messages in, messages out. Neither side ever waits for the other.
type conn struct {
	p      *Process
	lines  *lineReader
	frames frames
	next   int           // frames.ready[next:] is to be handed out; only the reader
	left   chan struct{} // closed when Read has failed
	leave  sync.Once
	probes atomic.Uint64

	mu        sync.Mutex
	finishing bool              // the process is dead: read what is there, do not wait
	inject    []jsonrpc.Message // to be handed out as if the server had sent them
	discover  Discover
	asked     any // id of the pending server/discover
	timer     *time.Timer
}

// Connect implements mcp.Transport. A Process is good for one session.
func (p *Process) Connect(context.Context) (mcp.Connection, error) { return p.conn, nil }

func newConn(p *Process) *conn {
	c := &conn{p: p, left: make(chan struct{})}
	c.lines = newLineReader(stdoutReader{c}, p.config.MaxLine)
	c.frames.noise = func(line []byte) {
		p.noise.Add(1)
		if p.config.OnNoise != nil {
			p.config.OnNoise(line)
		}
	}
	return c
}

// Read hands out the next message for go-sdk. It fails when the process is dead, and not before.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for c.next < len(c.frames.ready) {
			m := c.frames.ready[c.next]
			c.frames.ready[c.next] = nil
			c.next++
			if c.passes(m) {
				return m, nil
			}
		}
		c.frames.ready, c.next = c.frames.ready[:0], 0
		if m := c.injected(); m != nil {
			return m, nil
		}
		line, tooLong, err := c.lines.next()
		switch {
		case err == nil && tooLong:
			c.tooLong(line)
		case err == nil:
			c.frames.take(line)
		case errors.Is(err, os.ErrDeadlineExceeded): // woken up, for something to inject
		default:
			if errors.Is(err, io.EOF) {
				err = nil
			}
			c.p.readBroke(err)
			c.leave.Do(func() { close(c.left) })
			return nil, io.EOF
		}
	}
}

// passes looks at an answer before go-sdk gets it. Answers to probes stop here.
func (c *conn) passes(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return true
	}
	switch id := r.ID.Raw().(type) {
	case string:
		return !strings.HasPrefix(id, probePrefix)
	default:
		c.discovered(id, r.Error)
	}
	return true
}

// tooLong answers, in the server's place, the call whose answer exceeds MaxLine.
func (c *conn) tooLong(line []byte) {
	c.frames.noise(line)
	if id, ok := idOf(line); ok {
		e := &FrameError{fmt.Sprintf("the answer is longer than %d bytes", c.p.config.MaxLine)}
		c.frames.ready = append(c.frames.ready, &jsonrpc.Response{ID: id, Error: e})
	}
}

// Write hands one message to the queue.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err // nobody waits for it any more
	}
	if c.p.doomed.Load() {
		return errQueueClosed
	}
	var mark *sent.Mark
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() { // a notification in the same context is not the call
		mark = sent.From(ctx)
		if r.Method == "server/discover" {
			c.ask(r.ID.Raw())
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return &Rejected{err}
	}
	err = c.p.queue.write(append(data, '\n'), mark)
	if errors.Is(err, errQueueFull) {
		return &Rejected{err}
	}
	return err
}

// Rejected fails one message and leaves the session alone: go-sdk takes it for its own "rejected by
// transport".
type Rejected struct{ Cause error }

func (r *Rejected) Error() string { return r.Cause.Error() }
func (r *Rejected) Unwrap() error { return r.Cause }

// codeRejected is go-sdk's internal ErrRejected, which is compared by its code.
const codeRejected = -32005

// Is makes errors.Is(r, jsonrpc2.ErrRejected) true.
func (r *Rejected) Is(target error) bool {
	e, ok := target.(*jsonrpc.Error)
	return ok && e.Code == codeRejected
}

// Close implements mcp.Connection. It never blocks: go-sdk calls it with its lock held. It does so after a
// failed write as well; the reason for that is about to be known then, and is the better one.
func (c *conn) Close() error {
	if !c.p.doomed.Load() {
		c.p.Abort("was given up")
	}
	return nil
}

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return "" }

// Withdraw takes back a call that is still waiting to be written. It reports false if that is too late.
func (p *Process) Withdraw(m *sent.Mark) bool { return p.queue.withdraw(m) }

// Discovered says what became of go-sdk's server/discover.
func (p *Process) Discovered() Discover {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	return p.conn.discover
}

// ask notes that server/discover is on its way. A server that does not know it may stay silent, and go-sdk
// would wait for the whole connect timeout; so silence is answered for it, and it goes on to initialize.
func (c *conn) ask(id any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discover, c.asked = Pending, id
	c.timer = time.AfterFunc(c.p.config.DiscoverTimeout, func() {
		rid, err := jsonrpc.MakeID(toFloat(id))
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.discover != Pending || c.asked != id || err != nil {
			return
		}
		c.discover = Silent
		c.inject = append(c.inject, &jsonrpc.Response{
			ID: rid, Error: &FrameError{"server/discover was not answered in time"},
		})
		wake(c.p.stdout)
	})
}

// discovered notes the answer to server/discover.
func (c *conn) discovered(id any, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.discover == Silent && c.asked == id && err == nil {
		c.discover = Late // a server that is slow to start is no legacy server
		return
	}
	if c.discover != Pending || c.asked != id {
		return
	}
	c.timer.Stop()
	var e *jsonrpc.Error
	switch {
	case err == nil:
		c.discover = Answered
	case errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound:
		c.discover = Unknown
	default:
		c.discover = Refused
	}
}

// toFloat gives MakeID the form in which JSON numbers come.
func toFloat(id any) any {
	if n, ok := id.(int64); ok {
		return float64(n)
	}
	return id
}

func (c *conn) injected() jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inject) == 0 {
		return nil
	}
	m := c.inject[0]
	c.inject = c.inject[1:]
	return m
}

// finish makes the reader read what is in the pipe and then end.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishing = true
	wake(c.p.stdout)
}

// wakeReader makes a waiting reader look at the state of things.
func (c *conn) wakeReader() {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake(c.p.stdout)
}

// stdoutReader reads the child's stdout on the goroutine that wants the bytes. A read that waits is woken by
// a deadline in the past; what for is said by the state under the lock.
type stdoutReader struct{ *conn }

func (r stdoutReader) Read(b []byte) (int, error) {
	for {
		n, err := r.p.stdout.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		r.mu.Lock()
		finishing, inject := r.finishing, len(r.inject) > 0
		select {
		case <-r.p.dead:
			r.mu.Unlock()
			return 0, io.EOF
		default:
			unwake(r.p.stdout)
		}
		r.mu.Unlock()
		if finishing {
			n, again, err := readNow(r.p.stdout, b)
			if again {
				err = io.EOF
			}
			wake(r.p.stdout) // the next read comes here again
			return n, err
		}
		if inject {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// Probe asks for a sign of life beneath go-sdk: a request with a private id, whose answer is filtered
// out. Whatever the answer is, its bytes are counted by Rx. It does not wait.
func (p *Process) Probe(modern bool) {
	method, params := "ping", ""
	if modern {
		method = "server/discover"
		params = `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"unwedge-probe","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s%d","method":%q%s}`+"\n", probePrefix, p.conn.probes.Add(1), method, params)
	_ = p.queue.write([]byte(frame), nil) // if it cannot be written, it is not answered: a miss
}
