package httplink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Options, and limits that are no options.
const (
	// DefaultMaxBody is go-sdk's own cap of a frame on stdio.
	DefaultMaxBody = 16 << 20
	// DefaultDeleteTimeout: the DELETE is a courtesy, and go-sdk holds a lock meanwhile that every other call needs.
	DefaultDeleteTimeout = 1 * time.Second
	// DefaultDiscoverTimeout is for servers that never answer an unknown method. Half of what the caller has
	// left, if that is less, so that the fallback has the other half.
	DefaultDiscoverTimeout = 10 * time.Second
	// DefaultStreamRetryMin and Max are the waits before a server-initiated stream is opened again; doubled,
	// never a tight loop.
	DefaultStreamRetryMin = 1 * time.Second
	DefaultStreamRetryMax = 30 * time.Second

	// maxErrorBody is how much of a failed answer is read: enough for a JSON-RPC error or the head of an HTML page.
	maxErrorBody = 64 << 10
	// errorBodyWait bounds that reading. The status is known already; a body that stalls must not hold up the error.
	errorBodyWait = 1 * time.Second
	// maxHops of redirects within one origin. One is a missing slash; more is a loop.
	maxHops = 3
	// notifyTimeout bounds a message that nobody waits for, beside the sender's own context.
	notifyTimeout = 10 * time.Second
)

// ErrAborted is in the chain of every failure that [Link.Abort] brought about.
var ErrAborted = errors.New("connection was aborted")

// Options of a Link. Only Endpoint is needed.
type Options struct {
	// Endpoint is the server's URL. Headers go to its origin and nowhere else.
	Endpoint string
	// Headers are sent with every request. Their values are secrets: they are removed from every text that
	// leaves this package. They cannot replace the headers of the protocol itself.
	Headers map[string]string
	// Base makes a new transport; it is called again by Purge. nil: a clone of http.DefaultTransport with
	// short dial timeouts. Its dial functions are wrapped so that every received byte is seen.
	Base func() *http.Transport
	// MaxBody bounds a JSON answer, and each single event of a stream, in bytes. 16 MiB.
	MaxBody int64
	// DeleteTimeout bounds the DELETE that ends a session. 1 s.
	DeleteTimeout time.Duration
	// DiscoverTimeout bounds server/discover; after it, go-sdk is told to fall back. 10 s, at most half of
	// the caller's time.
	DiscoverTimeout time.Duration
	// NoDowngrade makes a connect fail whose server/discover met a failure that says nothing about the era
	// (429, 5xx, auth, reset, no answer), instead of falling back to the legacy handshake for the whole life
	// of the session. For a server that is known to be modern; a legacy server that answers unknown methods
	// with 500 could never be reached with it.
	NoDowngrade bool
	// StreamRetryMin and StreamRetryMax bound the wait before a lost stream of server-initiated messages is
	// opened again. 1 s, 30 s.
	StreamRetryMin, StreamRetryMax time.Duration
	// OnFailure is told every failure, also of messages that nobody waits for. It must not block; it may call
	// Abort and Purge.
	OnFailure func(*Failure)
	// OnStream is told when a stream of server-initiated messages was lost and when it is open again;
	// messages may have been missed between, so lists should be fetched anew after the latter. It must not
	// block.
	OnStream func(StreamState)
}

// Counters count since New.
type Counters struct {
	Requests   int64 // sent or tried, redirects and stream openings included
	Failures   int64
	Noise      int64 // events, lines and messages that were dropped because they were no JSON-RPC, or not for this call
	BytesIn    int64 // received on all connections, TLS included
	Dials      int64 // connections that were opened
	Purges     int64
	Reopened   int64 // streams of server-initiated messages that were opened again
	NewSession int64 // answers that carried another session id than the session's; it was ignored
}

// Link is the round tripper. All methods are safe for concurrent use.
type Link struct {
	opts     Options
	endpoint *url.URL
	headers  http.Header
	hide     *strings.Replacer // configured values -> "[redacted]"
	start    time.Time

	ctx   context.Context // ends with Abort; its cause is what Abort was given
	abort context.CancelCauseFunc
	pool  *pool

	lastByte atomic.Int64 // nanoseconds since start
	count    struct {
		requests, failures, noise, bytesIn, dials, purges, reopened, newSession atomic.Int64
	}

	mu       sync.Mutex
	session  string               // the session id in use, from what go-sdk sends; "" in the modern era
	version  string               // the protocol version in use
	gone     bool                 // the server has said that it does not know the session
	discover []byte               // the server/discover that was sent, to be used again as a probe
	doubt    *Failure             // a failed server/discover that says nothing about the era
	resumes  map[string]*exchange // calls whose stream was cut, by the last event id that go-sdk saw
	probes   int64
}

// New checks the options and makes a Link. It opens no connection.
func New(o Options) (*Link, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("endpoint is no http or https URL") // without its text, which may hold a key
	}
	l := &Link{endpoint: u, headers: http.Header{}, start: time.Now(), resumes: map[string]*exchange{}}
	var secrets []string
	for name, value := range o.Headers {
		if err := l.addHeader(name, value); err != nil {
			return nil, err
		}
		secrets = append(secrets, value)
	}
	l.hide = redactor(append(secrets, secretsOf(u)...))
	l.opts = o.withDefaults()
	l.ctx, l.abort = context.WithCancelCause(context.Background())
	l.pool = newPool(l.opts.Base, l.watch)
	return l, nil
}

func (o Options) withDefaults() Options {
	if o.Base == nil {
		o.Base = baseTransport
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&o.DeleteTimeout, DefaultDeleteTimeout},
		{&o.DiscoverTimeout, DefaultDiscoverTimeout},
		{&o.StreamRetryMin, DefaultStreamRetryMin},
		{&o.StreamRetryMax, DefaultStreamRetryMax},
	} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	return o
}

// Client is the http.Client to put into mcp.StreamableClientTransport. It follows no redirects by itself; the
// Link does, within the endpoint's origin. It has no timeout of its own: contexts have.
func (l *Link) Client() *http.Client {
	return &http.Client{
		Transport:     l,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Abort fails every request, and every body that is being read, at once, and everything later. The first err
// stays the cause. Aborting twice, or after the end of the session, is harmless.
func (l *Link) Abort(err error) {
	if err == nil {
		err = ErrAborted
	} else if !errors.Is(err, ErrAborted) {
		err = fmt.Errorf("%w: %w", ErrAborted, err)
	}
	l.abort(err)
	l.pool.close()
}

// Aborted is closed by Abort.
func (l *Link) Aborted() <-chan struct{} { return l.ctx.Done() }

func (l *Link) isAborted() bool { return l.ctx.Err() != nil }

// Purge makes the next request use a new connection. Idle connections are closed now, busy ones when their
// request has ended. The Link does so by itself when a request ends in silence or a connection breaks, since
// then the others are likely to be dead too.
func (l *Link) Purge() {
	l.count.purges.Add(1)
	l.pool.renew()
}

// LastByte is when a byte was last received on any connection: the server, or something in front of it, was
// alive then. Before the first byte it is the time of New.
func (l *Link) LastByte() time.Time { return l.start.Add(time.Duration(l.lastByte.Load())) }

// Received counts the bytes received on all connections; it never goes down. A cheap way to see whether there
// was life.
func (l *Link) Received() uint64 { return uint64(l.count.bytesIn.Load()) }

// SessionGone says whether the server has answered that it does not know the session any more.
func (l *Link) SessionGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// Counters returns a snapshot.
func (l *Link) Counters() Counters {
	c := &l.count
	return Counters{
		Requests: c.requests.Load(), Failures: c.failures.Load(), Noise: c.noise.Load(), BytesIn: c.bytesIn.Load(),
		Dials: c.dials.Load(), Purges: c.purges.Load(), Reopened: c.reopened.Load(), NewSession: c.newSession.Load(),
	}
}

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(req *http.Request) (*http.Response, error) {
	m, err := readMessage(req)
	if err != nil {
		return nil, fmt.Errorf("read the request to be sent: %w", err)
	}
	l.learn(req, m)
	switch {
	case req.Method == http.MethodDelete:
		return l.endSession(req)
	case req.Method == http.MethodGet && req.Header.Get(headerLastEvent) != "":
		return l.resume(req)
	case req.Method == http.MethodGet:
		return l.listenGet(req)
	case m.isCall() && m.method == methodListen:
		return l.listenPost(req, m)
	case m.isCall():
		return l.call(req, m)
	}
	return l.notify(req, m)
}

// learn keeps what later requests of our own need: go-sdk knows session and version, and tells nobody else.
func (l *Link) learn(req *http.Request, m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := req.Header.Get(headerSession); id != "" {
		l.session = id
	}
	if v := req.Header.Get(headerVersion); v != "" {
		l.version = v
	}
	if m.method == methodDiscover {
		l.discover = m.body
	}
}

// fail records a failure: for the caller, if it left a Recorder in ctx, and for the owner of the link.
func (l *Link) fail(ctx context.Context, f *Failure) {
	l.count.failures.Add(1)
	if f.Kind == KindSessionGone {
		l.mu.Lock()
		l.gone = true
		l.mu.Unlock()
	}
	if r := recorderOf(ctx); r != nil && f.Method != "" && !f.Notification {
		r.set(f)
	}
	if l.opts.OnFailure != nil {
		l.opts.OnFailure(f)
	}
}
