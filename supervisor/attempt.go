package supervisor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slotHold bounds how long one attempt keeps its place among those that may connect at once. Starting a
// process is what costs; a server that is slow to answer must not keep the others waiting (SUP-11).
const slotHold = 1 * time.Second

// attempt is one try to connect.
type attempt struct {
	began   time.Time
	cancel  context.CancelFunc
	results chan result // takes one without waiting
}

// result of no attempt never comes.
func (a *attempt) result() <-chan result {
	if a == nil {
		return nil
	}
	return a.results
}

type result struct {
	link    link // on failure: to be stopped, or nil
	err     error
	tools   []*mcp.Tool
	listErr error // the session works, its list does not
	changes *atomic.Uint64
	covered uint64
	timeout bool // the attempt had its whole time
}

// begin starts an attempt.
func (o *owner) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{began: time.Now(), cancel: cancel, results: make(chan result, 1)}
	o.trying, o.lastStart, o.urgent = a, a.began, false
	o.board.set(func(b *Status) { b.Connects++ })
	o.setState(StateConnecting, "")
	go func() { a.results <- o.connect(ctx) }()
}

// connect is the attempt itself: a place among those that may connect, a handshake, a list of tools. It
// always returns, since dial does.
func (o *owner) connect(ctx context.Context) result {
	release, err := o.shared.connects.acquire(ctx)
	if err != nil {
		return result{err: err}
	}
	hold := time.AfterFunc(slotHold, release)
	defer func() { hold.Stop(); release() }()

	ctx, cancel := context.WithTimeout(ctx, o.set.ConnectTimeout)
	defer cancel()
	r := result{changes: new(atomic.Uint64)}
	r.link, r.err = o.dialer.dial(ctx, func() {
		r.changes.Add(1)
		o.mail.tell(request{kind: reqChanged})
	})
	if r.err == nil {
		r.covered = r.changes.Load()
		o.count.lists.Add(1)
		if r.tools, err = r.link.list(ctx); err != nil {
			r.listErr = err
			if !isAnswer(err) || r.link.doomed() { // it did not answer: the session is not worth having
				r.err = fmt.Errorf("tools/list: %w", err)
			}
		}
	}
	r.timeout = r.err != nil && ctx.Err() == context.DeadlineExceeded
	return r
}

// limiter lets a number of attempts connect at once, first come, first served.
type limiter struct{ slots chan struct{} }

func newLimiter(n int) limiter { return limiter{make(chan struct{}, n)} }

// acquire waits for a place. release may be called more than once.
func (l limiter) acquire(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			<-l.slots
		}
	}, nil
}
