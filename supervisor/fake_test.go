package supervisor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

// fakeLink is a session whose server does what a test says. It runs in a synctest bubble.
type fakeLink struct {
	n       int // which one of its dialer's
	gone    chan struct{}
	once    sync.Once
	why     death
	bytes   atomic.Uint64
	mute    atomic.Bool // answers nothing
	stopped atomic.Bool // SIGSTOP
	probes  atomic.Int64
	lists   atomic.Int64
	ended   atomic.Bool
	stopFor time.Duration // how long stop takes
	unsent  bool          // calls fail before a byte of them has left
	onCall  func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error)
	onList  func() ([]*mcp.Tool, error)
	changed func()
}

var errFake = errors.New("fake transport error")

func (l *fakeLink) die(what string) {
	l.once.Do(func() {
		l.why = death{what: what, exit: what, kind: KindTransport}
		close(l.gone)
	})
}

func (l *fakeLink) call(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if !l.unsent {
		sent.From(ctx).Begin()
	}
	if l.onCall != nil {
		return l.onCall(ctx, p)
	}
	if l.mute.Load() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.gone:
			return nil, errFake
		}
	}
	if l.doomed() {
		return nil, errFake
	}
	l.bytes.Add(1)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: p.Name}}}, nil
}

func (l *fakeLink) list(ctx context.Context) ([]*mcp.Tool, error) {
	l.lists.Add(1)
	l.bytes.Add(1)
	if l.onList != nil {
		return l.onList()
	}
	return []*mcp.Tool{{Name: "safe", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, {Name: "unsafe"}}, nil
}

func (l *fakeLink) probe() {
	l.probes.Add(1)
	if !l.mute.Load() {
		l.bytes.Add(1)
	}
}

func (l *fakeLink) withdraw(*sent.Mark) bool { return false }
func (l *fakeLink) rx() uint64               { return l.bytes.Load() }
func (l *fakeLink) dead() <-chan struct{}    { return l.gone }
func (l *fakeLink) death() death             { return l.why }
func (l *fakeLink) doomed() bool             { return closed(l.gone) }
func (l *fakeLink) frozen() bool             { return l.stopped.Load() }
func (l *fakeLink) abort(what string)        { l.die(what) }
func (l *fakeLink) retire(what string)       { l.die(what) }
func (l *fakeLink) facts() facts             { return facts{pid: l.n, era: Legacy} }

func (l *fakeLink) stop(time.Duration, <-chan struct{}) {
	l.die("stopped")
	time.Sleep(l.stopFor)
	l.ended.Store(true)
}

// fakeDialer makes fake links, and records when.
type fakeDialer struct {
	mu      sync.Mutex
	at      []time.Time
	links   []*fakeLink
	running int // attempts now
	retry   bool
	// outcome says what becomes of the n-th attempt, from 1: nil = a link.
	outcome func(n int, l *fakeLink) error
	takes   time.Duration
}

func (d *fakeDialer) next() string { return "a new session is being opened" }
func (d *fakeDialer) again() bool  { return d.retry }

func (d *fakeDialer) dial(ctx context.Context, changed func()) (link, error) {
	d.mu.Lock()
	n := len(d.at) + 1
	d.at = append(d.at, time.Now())
	d.running++
	l := &fakeLink{n: n, gone: make(chan struct{}), changed: changed}
	d.links = append(d.links, l)
	outcome := d.outcome
	d.mu.Unlock()
	defer func() { d.mu.Lock(); d.running--; d.mu.Unlock() }()
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if outcome != nil {
		if err := outcome(n, l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (d *fakeDialer) set(outcome func(n int, l *fakeLink) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outcome = outcome
}

func (d *fakeDialer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.at)
}

// last is the latest link.
func (d *fakeDialer) last() *fakeLink {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.links[len(d.links)-1]
}

// bubble runs a test in fake time with one supervisor of default settings and one fake server "srv". Whatever the
// supervisor started must have ended when the test returns, or synctest reports it.
func bubble(t *testing.T, d *fakeDialer, change func(*Settings), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		set := Settings{Liveness: -1}
		if change != nil {
			change(&set)
		}
		s, err := New(Options{Settings: set, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{TB: t, Supervisor: s, ctx: t.Context()}
		if d.outcome == nil {
			d.outcome = func(int, *fakeLink) error { return nil }
		}
		if err := s.add(Server{Name: "srv"}, nil, d); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
			for _, l := range d.links {
				if l.doomed() && !l.ended.Load() {
					t.Errorf("link %d was left running", l.n)
				}
			}
		}()
		synctest.Wait()
		test(w)
	})
}

// within makes a call with a deadline of its own.
func (w *world) within(d time.Duration, tool string) error {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	_, err := w.Call(ctx, "srv", tool, nil)
	return err
}

func (w *world) kind(err error) Kind {
	w.Helper()
	e := as[*Error](err)
	if e == nil {
		w.Fatalf("%v is no *Error", err)
	}
	if e.Error() == "" || e.Server == "" {
		w.Errorf("an error without text or server: %#v", e)
	}
	return e.Kind
}

func never(int, *fakeLink) error { return errFake }

func always(int, *fakeLink) error { return nil }
