package httplink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// patience bounds what must happen at once; it is only ever used up by a defect.
const patience = 20 * time.Second

// era pins both ends.
type era struct {
	name    string
	version string
	json    bool // the server answers calls with JSON instead of a stream
}

var eras = []era{
	{"legacy-sse", "2025-11-25", false},
	{"legacy-json", "2025-11-25", true},
	{"modern-sse", "2026-07-28", false},
	{"modern-json", "2026-07-28", true},
}

func (e era) modern() bool { return e.version >= "2026-07-28" }

// seen is one request as the fault layer sees it.
type seen struct {
	r      *http.Request
	method string // JSON-RPC
	id     json.RawMessage
	tool   string
}

// fault decides about one request: true = it has been dealt with.
type fault func(w http.ResponseWriter, s seen) bool

// world is a go-sdk server inside a fault layer, on 127.0.0.1.
type world struct {
	era     era
	url     string
	server  *mcp.Server
	entered chan string   // tools that are running
	release chan struct{} // lets "hold" answer

	mu     sync.Mutex
	fault  fault
	log    []seen
	conns  int
	opened map[net.Conn]bool
	execs  map[string]int
}

func newWorld(t *testing.T, e era) *world {
	t.Helper()
	w, _ := newWorldOn(t, e, (*httptest.Server).Start)
	return w
}

// newWorldOn leaves to the caller how the listener is started.
func newWorldOn(t *testing.T, e era, start func(*httptest.Server)) (*world, *httptest.Server) {
	t.Helper()
	w := &world{era: e, entered: make(chan string, 100), release: make(chan struct{}), opened: map[net.Conn]bool{},
		execs: map[string]int{}}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	type args struct {
		Nonce string `json:"nonce"`
	}
	for _, tool := range []string{"echo", "victim", "hold"} {
		mcp.AddTool(w.server, &mcp.Tool{Name: tool}, func(ctx context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
			w.mu.Lock()
			w.execs[tool]++
			w.mu.Unlock()
			w.entered <- tool
			if tool == "hold" {
				select {
				case <-w.release:
				case <-ctx.Done():
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Nonce}}}, nil, nil
		})
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server },
		&mcp.StreamableHTTPOptions{Stateless: e.modern(), JSONResponse: e.json})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r, inner) }))
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch s {
		case http.StateNew:
			w.conns++
			w.opened[c] = true
		case http.StateClosed, http.StateHijacked:
			delete(w.opened, c)
		}
	}
	start(srv)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	w.url = srv.URL + "/mcp"
	return w, srv
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	json.Unmarshal(body, &m)
	s := seen{r, m.Method, m.ID, m.Params.Name}
	w.mu.Lock()
	w.log = append(w.log, s)
	f := w.fault
	w.mu.Unlock()
	if f != nil && f(rw, s) {
		return
	}
	inner.ServeHTTP(rw, r)
}

func (w *world) set(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// count says how many requests matched.
func (w *world) count(match func(seen) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.log {
		if match(s) {
			n++
		}
	}
	return n
}

func (w *world) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns
}

func (w *world) executed(tool string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.execs[tool]
}

// once turns a handler into a fault that meets the first call of "victim" only.
func once(h http.HandlerFunc) fault {
	var o sync.Once
	return func(w http.ResponseWriter, s seen) (done bool) {
		if s.method == "tools/call" && s.tool == "victim" {
			o.Do(func() {
				done = true
				h(w, s.r)
			})
		}
		return done
	}
}

// session is a go-sdk session over a link.
type session struct {
	*mcp.ClientSession
	link *httplink.Link
	t    *testing.T
}

type tweak func(*httplink.Options, *mcp.StreamableClientTransport, *mcp.ClientOptions)

func noStream(_ *httplink.Options, t *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
	t.DisableStandaloneSSE = true
}

func (w *world) tryConnect(t *testing.T, ctx context.Context, tweaks ...tweak) (*session, *httplink.Recorder, error) {
	t.Helper()
	opts := httplink.Options{Endpoint: w.url, StreamRetryMin: time.Millisecond, StreamRetryMax: 20 * time.Millisecond}
	transport := &mcp.StreamableClientTransport{Endpoint: w.url}
	client := &mcp.ClientOptions{}
	for _, f := range tweaks {
		f(&opts, transport, client)
	}
	link, err := httplink.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	transport.HTTPClient = link.Client()
	ctx, rec := httplink.WithRecorder(ctx)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, client).
		Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: w.era.version})
	t.Cleanup(func() {
		link.Abort(nil)
		if cs != nil {
			cs.Close()
		}
	})
	return &session{cs, link, t}, rec, err
}

func (w *world) connect(t *testing.T, tweaks ...tweak) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, _, err := w.tryConnect(t, ctx, tweaks...)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return s
}

// call gives the text, or the error and what the link says of it.
func (s *session) call(ctx context.Context, tool, nonce string) (string, *httplink.Failure, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, rec := httplink.WithRecorder(ctx)
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"nonce": nonce}})
	if err != nil {
		return "", rec.Failure(), err
	}
	return res.Content[0].(*mcp.TextContent).Text, rec.Failure(), nil
}

func (s *session) good(tool string) {
	s.t.Helper()
	nonce := fmt.Sprintf("n-%d", time.Now().UnixNano())
	text, _, err := s.call(context.Background(), tool, nonce)
	if err != nil || text != nonce {
		s.t.Fatalf("call of %s: %q, %v", tool, text, err)
	}
}

type outcome struct {
	text string
	f    *httplink.Failure
	err  error
}

// begin calls in the background and waits until the server is executing it.
func (s *session) begin(w *world, tool string) <-chan outcome {
	s.t.Helper()
	done := make(chan outcome, 1)
	go func() {
		text, f, err := s.call(context.Background(), tool, "held")
		done <- outcome{text, f, err}
	}()
	for got := range w.entered {
		if got == tool {
			return done
		}
	}
	return done
}

func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came in time")
		panic("unreachable")
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	NewWithT(t).Eventually(f).WithTimeout(patience).WithPolling(time.Millisecond).Should(BeTrue(), what)
}

// cut takes the connection over.
func cut(w http.ResponseWriter, raw string, reset bool) {
	c, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	buf.WriteString(raw)
	buf.Flush()
	if reset {
		c.(*net.TCPConn).SetLinger(0)
	}
	c.Close()
}

func serve(tb testing.TB, h http.Handler) string {
	srv := httptest.NewServer(h)
	tb.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}
