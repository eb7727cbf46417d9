package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// site is go-sdk's own HTTP server behind a fault layer, on the loopback.
type site struct {
	era     Era
	server  *httptest.Server
	handler atomic.Pointer[http.Handler]
	fault   atomic.Pointer[func(w http.ResponseWriter, r *http.Request, method string) bool]
	mu      sync.Mutex
	methods map[string]int
	conns   []*dropConn
}

// dropConn can vanish: what is written to it or by it goes nowhere, and nobody is told.
type dropConn struct {
	net.Conn
	vanished atomic.Bool
	closed   chan struct{}
	once     sync.Once
}

func (c *dropConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if !c.vanished.Load() {
			return n, err
		}
		if err != nil {
			<-c.closed // the other side's end is not seen either
			return 0, net.ErrClosed
		}
	}
}

func (c *dropConn) Write(p []byte) (int, error) {
	if c.vanished.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *dropConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

type dropListener struct {
	net.Listener
	s *site
}

func (l dropListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	d := &dropConn{Conn: c, closed: make(chan struct{})}
	l.s.mu.Lock()
	l.s.conns = append(l.s.conns, d)
	l.s.mu.Unlock()
	return d, nil
}

func newSite(t *testing.T, era Era) *site {
	s := &site{era: era, methods: map[string]int{}}
	s.forget()
	s.server = httptest.NewUnstartedServer(s)
	s.server.Listener = dropListener{s.server.Listener, s}
	s.server.Start()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// forget makes a server that knows none of the old sessions.
func (s *site) forget() {
	server := mcp.NewServer(&mcp.Implementation{Name: "site", Version: "1"}, nil)
	type args struct {
		Nonce string `json:"nonce"`
	}
	echo := func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Nonce}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "effect"}, echo)
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: s.era == Modern})
	s.handler.Store(&h)
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var msg struct {
		Method string `json:"method"`
	}
	json.Unmarshal(body, &msg)
	s.mu.Lock()
	s.methods[msg.Method]++
	s.mu.Unlock()
	if f := s.fault.Load(); f != nil && (*f)(w, r, msg.Method) {
		return
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

func (s *site) break_(f func(w http.ResponseWriter, r *http.Request, method string) bool) {
	s.fault.Store(&f)
}

func (s *site) heal() { s.fault.Store(nil) }

func (s *site) asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.methods[method]
}

// vanish drops all flows that exist.
func (s *site) vanish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.vanished.Store(true)
	}
}

func status(code int) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		http.Error(w, http.StatusText(code), code)
		return true
	}
}

func (w *world) visit(name string, s *site, headers map[string]string) {
	w.Helper()
	if err := w.Add(Server{Name: name, URL: s.server.URL, Headers: headers}); err != nil {
		w.Fatal(err)
	}
}

func handshakes(s *site) int { return s.asked("initialize") }

func TestHTTP_CallsInBothEras(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		s, w := newSite(t, era), newWorld(t, scaled())
		w.visit("web", s, nil)
		w.good("web")
		if st := w.status("web"); st.Era != era || st.Tools != 2 || len(w.Tools()) != 2 {
			t.Errorf("got %+v", st)
		}
		e := w.bad("web", "none", nil)
		if e.Kind != KindTool || e.Sent != Answered {
			t.Errorf("an unknown tool: %#v", e)
		}
	})
}

func TestHTTP_A401WindowWedgesNothing(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		const token = "tok-abcdef-0123456789"
		s, w := newSite(t, era), newWorld(t, scaled())
		w.visit("web", s, map[string]string{"Authorization": "Bearer " + token})
		w.good("web")
		s.break_(status(http.StatusUnauthorized))
		for range 10 { // more than the breaker's strikes
			e := w.bad("web", "effect", m{"nonce": "n"})
			if e.Kind != KindAuth || e.Sent != Answered || !strings.Contains(e.Error(), "401") || strings.Contains(fmt.Sprintf("%#v", e), token) {
				t.Fatalf("got %v", e)
			}
		}
		s.heal()
		w.good("web")
		if st := w.status("web"); st.Sessions != 1 || st.Breaker != "closed" {
			t.Errorf("the session should have survived: %+v", st)
		}
	})
}

func TestHTTP_MissingCredentialsAtFirst(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		s, w := newSite(t, era), newWorld(t, scaled())
		s.break_(status(http.StatusUnauthorized))
		w.visit("web", s, nil)
		w.awaitState("web", StateNeedsAuth)
		if e := w.bad("web", "echo", nil); e.Kind != KindAuth {
			t.Errorf("got %v", e)
		}
		s.heal()
		if err := w.Reconnect(w.ctx, "web"); err != nil {
			t.Fatal(err)
		}
		w.good("web")
		if got := w.status("web").Era; got != era {
			t.Errorf("the 401 says nothing about the era: %v", got)
		}
	})
}

func TestHTTP_AForgottenSessionIsOpenedAnew(t *testing.T) {
	s, w := newSite(t, Legacy), newWorld(t, scaled())
	w.visit("web", s, nil)
	w.good("web")
	s.forget()
	if got, err := w.tool("web", "effect", m{"nonce": "n"}); err != nil || got != "n" {
		t.Errorf("refused before it had an effect, so it may be sent again: %q, %v", got, err)
	}
	if n := handshakes(s); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

func TestHTTP_ASilentlyDroppedFlowIsFoundBeforeACallMeetsIt(t *testing.T) { // NousResearch/hermes-agent#17003
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.Liveness, set.CallTimeout = 50*time.Millisecond, time.Hour
		s, w := newSite(t, era), newWorld(t, set)
		w.visit("web", s, nil)
		w.good("web")
		probe := map[Era]string{Legacy: "ping", Modern: "server/discover"}[era]
		w.until("it is probed", func() bool { return s.asked(probe) > 2 })
		s.vanish()
		n := s.asked(probe)
		w.until("a probe goes through again", func() bool { return s.asked(probe) > n })
		w.good("web")
	})
}

func TestHTTP_ACallOnADroppedFlowEndsAndTheNextIsGood(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.CallTimeout = 500 * time.Millisecond // the good calls must fit in on a busy machine too
		s, w := newSite(t, era), newWorld(t, set)
		w.visit("web", s, nil)
		w.good("web")
		for range 3 {
			s.vanish()
			// A call that happens to need a new connection is good and leaves the dead one in the pool; the call that meets it ends
			// at its timeout, and with it the whole pool is renewed.
			var err error
			for sent := 0; err == nil && sent < 5; sent++ {
				_, err = w.tool("web", "effect", m{"nonce": "n"})
			}
			if e := as[*Error](err); err != nil && (e.Kind != KindTimeout || e.Error() == "") {
				t.Errorf("got %v", err)
			}
			w.good("web")
		}
	})
}

func TestHTTP_AServerThatIsDownIsAwaited(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		s, w := newSite(t, era), newWorld(t, scaled())
		addr := s.server.Listener.Addr().String()
		w.visit("web", s, nil)
		w.good("web")
		s.server.CloseClientConnections()
		s.server.Listener.Close()
		w.until("its absence is noticed", func() bool {
			e := w.bad("web", "effect", m{"nonce": "n"})
			if e.Kind != KindTransport && e.Kind != KindNoSession {
				t.Fatalf("got %v", e)
			}
			return w.status("web").State != StateReady
		})
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		s.forget()
		go http.Serve(l, s)
		defer l.Close()
		w.until("it is back", func() bool { _, err := w.tool("web", "echo", m{"nonce": "n"}); return err == nil })
	})
}

func TestHTTP_OneBad503IsNoDowngrade(t *testing.T) {
	s, w := newSite(t, Modern), newWorld(t, scaled())
	w.visit("web", s, nil)
	w.good("web")
	var once atomic.Bool
	s.break_(func(rw http.ResponseWriter, r *http.Request, method string) bool {
		return method == "server/discover" && once.CompareAndSwap(false, true) && status(503)(rw, r, method)
	})
	if err := w.Reconnect(w.ctx, "web"); err != nil {
		t.Fatal(err)
	}
	if got := w.status("web").Era; got != Modern || handshakes(s) != 0 {
		t.Errorf("speaks %s after one 503", got)
	}
}

func TestHTTP_StatusesAreTold(t *testing.T) {
	s, w := newSite(t, Modern), newWorld(t, scaled())
	w.visit("web", s, nil)
	w.good("web")
	for code, want := range map[int]Kind{429: KindRate, 500: KindTransport, 502: KindTransport, 400: KindProtocol, 403: KindAuth} {
		s.break_(func(rw http.ResponseWriter, r *http.Request, method string) bool {
			rw.Header().Set("Retry-After", "7")
			return status(code)(rw, r, method)
		})
		e := w.bad("web", "effect", m{"nonce": "n"})
		if e.Kind != want || !strings.Contains(e.Error(), fmt.Sprint(code)) || code == 429 && e.RetryAfter != 7*time.Second {
			t.Errorf("%d: got %v, %v, retry after %v", code, e.Kind, e, e.RetryAfter)
		}
		s.heal()
		w.good("web") // and resets the strikes
	}
	if st := w.status("web"); st.Sessions != 1 {
		t.Errorf("got %+v", st)
	}
}

func TestHTTP_AServerThatNeverAnswersHoldsNobody(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.ConnectTimeout = 200 * time.Millisecond
		s := newSite(t, era)
		release := make(chan struct{})
		s.break_(func(http.ResponseWriter, *http.Request, string) bool { <-release; return true })
		defer close(release)
		sup, err := New(Options{Settings: set})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{TB: t, Supervisor: sup, ctx: t.Context()}
		w.visit("web", s, nil)
		if e := w.bad("web", "echo", nil); e.Kind != KindTimeout || e.Sent != NotSent {
			t.Errorf("got %v", e)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := sup.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestHTTP_NothingLeaks(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		s := newSite(t, era)
		cycle := func() {
			sup, err := New(Options{Settings: scaled()})
			if err != nil {
				t.Fatal(err)
			}
			w := &world{TB: t, Supervisor: sup, ctx: t.Context()}
			w.visit("web", s, nil)
			for range 3 {
				w.good("web")
				if err := sup.Reconnect(t.Context(), "web"); err != nil {
					t.Fatal(err)
				}
			}
			if err := sup.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		cycle()
		s.server.CloseClientConnections()
		time.Sleep(50 * time.Millisecond)
		before := runtime.NumGoroutine()
		for range 8 {
			cycle()
		}
		for end := time.Now().Add(patience); runtime.NumGoroutine() > before+2; time.Sleep(10 * time.Millisecond) {
			s.server.CloseClientConnections()
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("goroutines %d -> %d\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			}
		}
	})
}
