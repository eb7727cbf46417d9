package httplink_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// listening is a session whose server-initiated messages and streams are watched.
func (w *world) listening(t *testing.T) (s *session, changed chan struct{}, states chan httplink.StreamState) {
	changed, states = make(chan struct{}, 100), make(chan httplink.StreamState, 100)
	s = w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, c *mcp.ClientOptions) {
		o.OnStream = func(s httplink.StreamState) {
			select {
			case states <- s:
			default:
			}
		}
		c.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }
	})
	return s, changed, states
}

func isStream(s seen) bool { return s.r.Method == http.MethodGet || s.method == "subscriptions/listen" }

// change makes the server tell its clients, until one says that it has heard.
func (w *world) change(t *testing.T, heard <-chan struct{}) {
	t.Helper()
	n := 0
	eventually(t, "the change is heard", func() bool {
		n++
		mcp.AddTool(w.server, &mcp.Tool{Name: fmt.Sprintf("new-%d", n)},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		select {
		case <-heard:
			return true
		case <-time.After(30 * time.Millisecond): // go-sdk's server gathers changes for a moment
			return false
		}
	})
}

// A stream of server messages that never opens, is refused, fails, or is cut, harms nothing and comes back.
func TestServerStreamNeverHarms(t *testing.T) {
	for _, e := range []era{eras[0], eras[2]} {
		for name, h := range map[string]http.HandlerFunc{
			"500": plain(500), "503": plain(503), "401": plain(401), "409": plain(409),
			"reset": raw("", true), "html": body("text/html", "hi"), "cut-at-once": body("text/event-stream", ""),
			"hang": nil,
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				f, _ := hang(t, isStream, "")
				if h != nil {
					f = func(rw http.ResponseWriter, s seen) bool {
						if isStream(s) {
							h(rw, s.r)
						}
						return isStream(s)
					}
				}
				w.set(f)
				s, changed, states := w.listening(t) // Connect returns at once
				eventually(t, "it was tried", func() bool { return w.count(isStream) > 0 })
				s.good("echo")
				if h == nil {
					return // nobody can know that it will never open; calls work, and the abort frees it
				}
				eventually(t, "it is tried again", func() bool { return w.count(isStream) > 6 })
				s.good("echo")
				w.set(nil)
				g.Expect(within(t, states)).To(Equal(httplink.StreamLost))
				g.Expect(within(t, states)).To(Equal(httplink.StreamReopened))
				w.change(t, changed)
				s.good("echo")
			})
		}
	}
}

func TestServerStreamIsReopenedAfterACut(t *testing.T) {
	for _, e := range []era{eras[0], eras[2]} {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			cut := make(chan struct{})
			// The first stream goes through, and ends when the test says so.
			var first atomic.Bool
			w.set(func(rw http.ResponseWriter, s seen) bool {
				if !isStream(s) || first.Swap(true) {
					return false
				}
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, ": hello\n\n")
				rw.(http.Flusher).Flush()
				<-cut
				return true
			})
			s, changed, states := w.listening(t)
			eventually(t, "it is open", func() bool { return w.count(isStream) == 1 })
			close(cut)
			g.Expect(within(t, states)).To(Equal(httplink.StreamLost))
			g.Expect(within(t, states)).To(Equal(httplink.StreamReopened))
			g.Expect(s.link.Counters().Reopened).To(Equal(int64(1)))
			w.change(t, changed)
			s.good("echo")
		})
	}
}

// A server without such a stream is asked once.
func TestRefusedServerStreamIsLeftAlone(t *testing.T) {
	for _, e := range []era{eras[0], eras[2]} {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			w.set(func(rw http.ResponseWriter, s seen) bool {
				switch {
				case !isStream(s):
					return false
				case e.modern():
					rw.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(rw, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n\n", s.id)
				default:
					rw.WriteHeader(http.StatusMethodNotAllowed)
				}
				return true
			})
			s, _, states := w.listening(t)
			g.Expect(within(t, states)).To(Equal(httplink.StreamRefused))
			s.good("echo")
			g.Expect(w.count(isStream)).To(Equal(1))
		})
	}
}

// A stream that says that the session is gone is news, though no call was made.
func TestServerStreamReportsALostSession(t *testing.T) {
	w := newWorld(t, eras[0])
	got := make(chan *httplink.Failure, 100)
	w.set(func(rw http.ResponseWriter, s seen) bool {
		if s.r.Method == http.MethodGet {
			http.Error(rw, "session not found", http.StatusNotFound)
		}
		return s.r.Method == http.MethodGet
	})
	s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
		o.OnFailure = func(f *httplink.Failure) { got <- f }
	})
	NewWithT(t).Expect(within(t, got).Kind).To(Equal(httplink.KindSessionGone))
	NewWithT(t).Expect(s.link.SessionGone()).To(BeTrue())
}

// primed is a stream that begins with an event id, as servers that can resume send it, and is cut then.
// go-sdk asks for the rest after the time in retry.
const primed = "id: e1\nretry: 1\n\n"

// resuming answers the victim with a cut stream, and its rest by h.
func resuming(h func(w http.ResponseWriter, r *http.Request, id string)) fault {
	var id atomic.Value
	return func(w http.ResponseWriter, s seen) bool {
		switch {
		case s.tool == "victim":
			id.Store(string(s.id))
			body("text/event-stream", primed)(w, s.r)
		case s.r.Header.Get("Last-Event-Id") != "":
			h(w, s.r, id.Load().(string))
		default:
			return false
		}
		return true
	}
}

func TestCutStreamIsResumed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[0])
	s := w.connect(t)
	var ids []string
	w.set(resuming(func(rw http.ResponseWriter, r *http.Request, id string) {
		ids = append(ids, r.Header.Get("Last-Event-Id"))
		if len(ids) == 1 { // cut once more, after something new
			body("text/event-stream", "id: e2\nretry: 1\n\n")(rw, r)
			return
		}
		body("text/event-stream", fmt.Sprintf("id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":"+
			"{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id))(rw, r)
	}))
	text, _, err := s.call(t.Context(), "victim", "v")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal("late"))
	g.Expect(ids).To(Equal([]string{"e1", "e2"}))
	g.Expect(w.count(tool("victim"))).To(Equal(1))
}

// go-sdk ends the whole session when the rest of a stream is answered by any status but 200, or five times in vain.
func TestFailedResumeHarmsOneCall(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter, r *http.Request, id string){
		"reset":       func(w http.ResponseWriter, r *http.Request, _ string) { raw("", true)(w, r) },
		"html":        func(w http.ResponseWriter, r *http.Request, _ string) { body("text/html", "x")(w, r) },
		"nothing-new": func(w http.ResponseWriter, r *http.Request, _ string) { body("text/event-stream", ": x\n\n")(w, r) },
	}
	for _, status := range []int{400, 401, 403, 404, 405, 429, 500, 503} {
		answers[fmt.Sprint(status)] = func(w http.ResponseWriter, r *http.Request, _ string) { plain(status)(w, r) }
	}
	for name, h := range answers {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, eras[0])
			s := w.connect(t)
			bystander := s.begin(w, "hold")
			w.set(resuming(h))
			_, f, err := s.call(t.Context(), "victim", "v")
			g.Expect(err).To(HaveOccurred())
			g.Expect(f).NotTo(BeNil(), "%v", err)
			g.Expect(f.Resumed).To(BeTrue())
			g.Expect(f.NoEffect()).To(BeFalse())
			w.set(nil)
			s.good("echo")
			close(w.release)
			g.Expect(within(t, bystander).err).NotTo(HaveOccurred())
		})
	}
}

// In the modern era there is no resumption: the call fails at once, and nothing is asked for.
func TestModernStreamIsNotResumed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[2])
	s := w.connect(t)
	w.set(resuming(func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusInternalServerError) }))
	_, f, err := s.call(t.Context(), "victim", "v")
	g.Expect(err).To(HaveOccurred())
	g.Expect(f.Kind).To(Equal(httplink.KindTransport))
	g.Expect(w.count(httpMethod("GET"))).To(BeZero())
}

// A server that leaves a call's stream open after the answer costs neither goroutines nor connections for long.
func TestStreamThatStaysOpenAfterTheAnswer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[0])
	s := w.connect(t, noStream)
	s.good("echo")
	w.set(func(rw http.ResponseWriter, s seen) bool {
		if s.tool != "victim" {
			return false
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(rw, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"v\"}]}}\n\n", s.id)
		rw.(http.Flusher).Flush()
		<-s.r.Context().Done()
		return true
	})
	before := runtime.NumGoroutine()
	for range 50 {
		// A context that never ends, as an unwary caller has it.
		if _, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "victim", Arguments: map[string]any{"nonce": "v"}}); err != nil {
			t.Fatal(err)
		}
	}
	g.Eventually(runtime.NumGoroutine).WithTimeout(patience).Should(BeNumerically("<=", before+10))
}

func TestOversizedAnswersHarmOneCall(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
				o.MaxBody = 20 << 10
			})
			bystander := s.begin(w, "hold")
			big := make([]byte, 30<<10)
			for i := range big {
				big[i] = 'x'
			}
			_, f, err := s.call(t.Context(), "echo", string(big))
			g.Expect(err).To(HaveOccurred())
			g.Expect(f.Kind).To(Equal(httplink.KindTooLarge))
			s.good("echo")
			close(w.release)
			g.Expect(within(t, bystander).err).NotTo(HaveOccurred())
		})
	}
}

// Nothing is left behind: 60 sessions, met by every kind of end.
func TestNoLeaks(t *testing.T) {
	g := NewWithT(t)
	before := 0
	for i := range 60 {
		e := eras[i%len(eras)]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := newWorld(t, e)
			s, _, _ := w.listening(t)
			s.good("echo")
			switch i % 3 {
			case 0:
				s.Close()
			case 1:
				s.link.Abort(errTest)
				s.Close()
				if !e.modern() { // go-sdk's server would keep the session in this process
					eventually(t, "the session is deleted behind the abort", func() bool { return w.count(httpMethod("DELETE")) == 1 })
				}
			case 2:
				w.set(once(raw("", true)))
				s.call(t.Context(), "victim", "v")
				s.link.Purge()
				s.good("echo")
				s.Close()
			}
		})
		if i == 12 {
			before = runtime.NumGoroutine()
		}
	}
	g.Eventually(runtime.NumGoroutine).WithTimeout(patience).Should(BeNumerically("<=", before+4))
}
