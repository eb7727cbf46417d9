package supervisor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
	"github.com/unwedge/unwedge/supervisor/internal/redact"
	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

// httpDialer opens sessions over streamable HTTP and remembers which handshake the server is known for.
type httpDialer struct {
	server Server
	set    Settings
	client *mcp.Implementation
	redact *redact.Redactor

	era   Era // the handshake to begin with; AnyEra = ask
	fails int // in a row
}

// downgradeAfter is how many attempts in a row a server that is known to be modern may fail before the legacy handshake is
// tried on it again. One 503 must not turn it into a legacy server; a downgrade of the server must not lock us out.
const downgradeAfter = 3

func (d *httpDialer) next() string { return "a new session is being opened" }

func (d *httpDialer) again() bool { return false }

// dial opens a session. go-sdk's Connect can hang in spite of ctx; aborting the round tripper beneath it ends that.
func (d *httpDialer) dial(ctx context.Context, changed func()) (link, error) {
	l := &httpLink{gone: make(chan struct{}), redact: d.redact, probeTime: d.set.Liveness}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	rt, err := httplink.New(httplink.Options{
		Endpoint: d.server.URL, Headers: d.server.Headers,
		MaxBody: int64(d.set.MaxLine), DiscoverTimeout: d.set.ProbeTimeout,
		DeleteTimeout: min(d.set.StopGrace, httplink.DefaultDeleteTimeout),
		NoDowngrade:   d.server.Era == Modern || d.era == Modern && d.fails < downgradeAfter,
		OnFailure:     l.failed,
		OnStream: func(s httplink.StreamState) {
			if s == httplink.StreamReopened { // what was said meanwhile is lost
				changed()
			}
		},
	})
	if err != nil {
		return nil, err
	}
	l.rt = rt
	session, failure, err := d.handshake(ctx, l, changed)
	if err != nil {
		d.learnFromFailure(failure)
		return l, err
	}
	l.session = session
	l.modern.Store(session.InitializeResult().ProtocolVersion >= modernVersion)
	if d.server.Era != AnyEra && l.facts().era != d.server.Era {
		return l, errWrongEra
	}
	d.learn(l.facts().era, failure)
	return l, nil
}

func (d *httpDialer) handshake(ctx context.Context, l *httpLink, changed func()) (*mcp.ClientSession, *httplink.Failure, error) {
	version := modernVersion
	if d.era == Legacy {
		version = legacyVersion
	}
	client := newClient(d.client, changed)
	ctx, rec := httplink.WithRecorder(ctx)
	session, err := connectBounded(ctx, func() { l.rt.Abort(ctx.Err()) }, func() (*mcp.ClientSession, error) {
		t := &mcp.StreamableClientTransport{Endpoint: d.server.URL, HTTPClient: l.rt.Client()}
		return client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	})
	failure := rec.Failure()
	if err != nil && failure != nil {
		err = failure
	}
	return session, failure, err
}

// learn remembers the era of a session that works, unless it is legacy only because server/discover met a failure that says
// nothing about the era.
func (d *httpDialer) learn(spoken Era, discover *httplink.Failure) {
	d.fails = 0
	if d.server.Era != AnyEra {
		return
	}
	d.era = spoken
	if spoken == Legacy && discover != nil && discover.Kind != httplink.KindRefused && discover.RPCCode == 0 {
		d.era = AnyEra
	}
}

func (d *httpDialer) learnFromFailure(f *httplink.Failure) {
	d.fails++
	if d.server.Era == AnyEra && (d.fails >= downgradeAfter || f != nil && f.Kind == httplink.KindRefused) {
		d.era = AnyEra
	}
}

// httpLink is a session over streamable HTTP. The session outlives failures of single requests: it is dead when the server says
// that it does not know it, when no connection can be had any more, or when it is aborted.
type httpLink struct {
	rt        *httplink.Link
	session   *mcp.ClientSession // nil after a failed handshake
	modern    atomic.Bool
	redact    *redact.Redactor
	probeTime time.Duration

	ctx      context.Context // ends with the link; every call ends with it
	cancel   context.CancelFunc
	inflight atomic.Int64
	probes   sync.WaitGroup

	once sync.Once
	why  death
	gone chan struct{}
}

// failed hears of every failure of every request, streams and probes included.
func (l *httpLink) failed(f *httplink.Failure) {
	switch {
	case f.Kind == httplink.KindSessionGone:
		l.die(death{what: "the server does not know the session any more: " + f.Error(), kind: KindSession})
	case f.Kind == httplink.KindConnect && l.inflight.Load() <= 1: // others that are being answered are not to suffer
		l.die(death{what: "the server cannot be reached: " + f.Error(), kind: KindTransport})
	}
}

func (l *httpLink) die(d death) {
	l.once.Do(func() {
		l.why = d
		close(l.gone)
		l.cancel()
	})
}

// call ends with ctx, and with the link. What HTTP had to say of a failure is the error.
func (l *httpLink) call(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var result *mcp.CallToolResult
	err := l.do(ctx, func(ctx context.Context) (err error) {
		result, err = l.session.CallTool(ctx, p)
		return err
	})
	return result, err
}

func (l *httpLink) list(ctx context.Context) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	err := l.do(ctx, func(ctx context.Context) (err error) {
		tools, err = listAll(ctx, l.session)
		return err
	})
	return tools, err
}

func (l *httpLink) do(ctx context.Context, f func(context.Context) error) error {
	mark := sent.From(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	ctx, rec := httplink.WithRecorder(ctx)
	l.inflight.Add(1)
	defer l.inflight.Add(-1)
	err := f(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// The flow may have vanished, and others of the pool with it. This must be done before the caller can call again; the
		// round tripper learns of the timeout at its leisure.
		l.rt.Purge()
	}
	failure := rec.Failure()
	if failure == nil || !failure.NoEffect() {
		mark.Begin()
	}
	if failure != nil {
		return failure
	}
	return err
}

// withdraw: there is no queue. What has not begun when its context has ended never will.
func (l *httpLink) withdraw(m *sent.Mark) bool { return !m.Begun() }

// probe sends a request over the pool, as a call would. One that meets a dead flow makes the round tripper renew the pool.
func (l *httpLink) probe() {
	l.probes.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, l.probeTime)
		defer cancel()
		_ = l.rt.Probe(ctx) // its answer moves rx, its failure is heard by failed
	})
}

func (l *httpLink) rx() uint64            { return l.rt.Received() }
func (l *httpLink) dead() <-chan struct{} { return l.gone }
func (l *httpLink) death() death          { return l.why }
func (l *httpLink) doomed() bool          { return closed(l.gone) }
func (l *httpLink) frozen() bool          { return false }

// abort cuts all connections.
func (l *httpLink) abort(what string) {
	l.die(death{what: "the server " + what, kind: KindTransport})
	l.rt.Abort(errors.New(what))
}

// retire lets the calls in flight go and leaves the connections for the DELETE.
func (l *httpLink) retire(what string) {
	l.die(death{what: "the session " + what, kind: KindTransport})
}

// stop ends the session in good order (a DELETE, which is bounded) and then whatever is left.
func (l *httpLink) stop(grace time.Duration, hurry <-chan struct{}) {
	l.retire("was stopped by us")
	if l.session != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			closeSession(l.session)
		}()
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-done:
		case <-hurry:
		case <-t.C:
		}
		l.rt.Abort(nil)
		<-done // bounded by closeSession; at once, now that nothing is left to wait for
	}
	l.rt.Abort(nil)
	l.probes.Wait()
}

func (l *httpLink) facts() facts {
	f := facts{era: Legacy, noise: uint64(max(0, l.rt.Counters().Noise))}
	if l.modern.Load() {
		f.era = Modern
	}
	return f
}
