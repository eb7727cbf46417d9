package httplink

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// dialTimeout and tlsTimeout bound what goes on behind a request that has been given up already.
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	// keepAlive lets the kernel find peers that vanished, in about a minute and without our doing.
	keepAlive = 15 * time.Second
	// idleTimeout is below that of the usual load balancers (60 s and more), so that it is rather us who
	// close an idle connection.
	idleTimeout = 50 * time.Second
	// maxHeaderBytes of an answer: a session id and some cookies.
	maxHeaderBytes = 1 << 20
)

func baseTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16, // as many calls in parallel as are usual; more would dial anew each time
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    tlsTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// pool holds the transport in use. renew replaces it, so that what is dialled later cannot end up on an old
// connection, HTTP/2's single one included; the old one is emptied when its last request has ended.
type pool struct {
	mk func() *http.Transport

	mu     sync.Mutex
	cur    *generation
	closed bool
}

type generation struct {
	t       *http.Transport
	users   int
	retired bool
}

func newPool(base func() *http.Transport, watch func(net.Conn) net.Conn) *pool {
	mk := func() *http.Transport {
		t := base()
		t.DialContext = watchDial(t.DialContext, watch)
		if t.DialTLSContext != nil {
			t.DialTLSContext = watchDial(t.DialTLSContext, watch)
		}
		return t
	}
	return &pool{mk: mk, cur: &generation{t: mk()}}
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func watchDial(dial dialFunc, watch func(net.Conn) net.Conn) dialFunc {
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return watch(c), nil
	}
}

// take gives the transport for one request; put gives it back when the answer's body has ended.
func (p *pool) take() *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cur.users++
	return p.cur
}

func (p *pool) put(g *generation) {
	p.mu.Lock()
	g.users--
	empty := g.retired && g.users == 0
	p.mu.Unlock()
	if empty {
		g.t.CloseIdleConnections()
	}
}

func (p *pool) renew() {
	p.mu.Lock()
	old := p.cur
	old.retired = true
	p.cur = &generation{t: p.mk(), retired: p.closed}
	p.mu.Unlock()
	old.t.CloseIdleConnections()
}

// close retires everything: what is still used, such as the DELETE after an abort, is closed when it ends.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.cur.retired = true
	cur := p.cur
	p.mu.Unlock()
	cur.t.CloseIdleConnections()
}

// watch lets the link see every byte that a connection receives: bytes are life, whatever they mean.
func (l *Link) watch(c net.Conn) net.Conn {
	l.count.dials.Add(1)
	return &watchedConn{Conn: c, l: l}
}

type watchedConn struct {
	net.Conn
	l *Link
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.l.count.bytesIn.Add(int64(n))
		c.l.lastByte.Store(int64(time.Since(c.l.start)))
	}
	return n, err
}
