package httplink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// hang holds a request until the client leaves or the test ends; from then on entered has a token.
func hang(t *testing.T, match func(seen) bool, before string) (fault, <-chan struct{}) {
	entered, done := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(done) })
	return func(w http.ResponseWriter, s seen) bool {
		if !match(s) {
			return false
		}
		if before != "" {
			w.Header().Set("Content-Type", before)
			io.WriteString(w, `{"jsonrpc":`)
			w.(http.Flusher).Flush()
		}
		entered <- struct{}{}
		select {
		case <-s.r.Context().Done():
		case <-done:
		}
		return true
	}, entered
}

func tool(name string) func(seen) bool { return func(s seen) bool { return s.tool == name } }

func method(name string) func(seen) bool { return func(s seen) bool { return s.method == name } }

func httpMethod(name string) func(seen) bool { return func(s seen) bool { return s.r.Method == name } }

var errTest = errors.New("liveness was lost")

// W2, W3 over HTTP: a call that waits for headers, or in a body, is freed by Abort, and so is Close.
func TestAbortFreesCallsAndClose(t *testing.T) {
	for _, e := range eras {
		for name, head := range map[string]string{"before-headers": "", "in-json": "application/json", "in-stream": "text/event-stream"} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				s := w.connect(t)
				f, entered := hang(t, tool("victim"), head)
				w.set(f)
				done := make(chan outcome, 1)
				go func() {
					text, f, err := s.call(context.Background(), "victim", "v")
					done <- outcome{text, f, err}
				}()
				within(t, entered)

				s.link.Abort(errTest)
				got := within(t, done)
				g.Expect(got.err).To(HaveOccurred())
				g.Expect(got.f.Kind).To(Equal(httplink.KindAborted))
				g.Expect(got.f).To(MatchError(errTest))
				g.Expect(got.f).To(MatchError(httplink.ErrAborted))
				g.Expect(got.f.NotSent).To(BeFalse())

				_, after, err := s.call(t.Context(), "echo", "x")
				g.Expect(err).To(HaveOccurred())
				g.Expect(after.Kind).To(Equal(httplink.KindAborted))
				g.Expect(after.NotSent).To(BeTrue())

				closed := make(chan error, 1)
				go func() { closed <- s.Close() }()
				within(t, closed)
				if !e.modern() {
					eventually(t, "the session is deleted behind the abort", func() bool { return w.count(httpMethod("DELETE")) == 1 })
				}
			})
		}
	}
}

// W7: Connect is freed too.
func TestAbortFreesConnect(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			f, entered := hang(t, func(s seen) bool { return s.method == "initialize" || s.method == "server/discover" }, "")
			w.set(f)
			link, err := httplink.New(httplink.Options{Endpoint: w.url})
			g.Expect(err).NotTo(HaveOccurred())
			done := make(chan error, 1)
			go func() {
				_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(),
					&mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: link.Client()},
					&mcp.ClientSessionOptions{ProtocolVersion: e.version})
				done <- err
			}()
			within(t, entered)
			link.Abort(errTest)
			g.Expect(within(t, done)).To(MatchError(ContainSubstring(errTest.Error())))
		})
	}
}

// One caller's deadline, in whatever state its answer is, harms nobody else.
func TestDeadlineHarmsOneCall(t *testing.T) {
	for _, e := range eras {
		for name, head := range map[string]string{"before-headers": "", "in-json": "application/json", "in-stream": "text/event-stream"} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				s := w.connect(t)
				bystander := s.begin(w, "hold")
				f, entered := hang(t, tool("victim"), head)
				w.set(f)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-entered
					cancel()
				}()
				_, failure, err := s.call(ctx, "victim", "v")
				g.Expect(err).To(MatchError(context.Canceled))
				if head == "" || head == "application/json" { // else go-sdk stops reading by itself
					g.Expect(failure.Kind).To(Equal(httplink.KindCancelled))
				}
				w.set(nil)
				s.good("victim")
				close(w.release)
				g.Expect(within(t, bystander).err).NotTo(HaveOccurred())
			})
		}
	}
}

// A timeout in which no byte came condemns the pooled connections: the next call dials.
func TestSilentTimeoutPurgesThePool(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[1])
	s := w.connect(t, noStream)
	f, _ := hang(t, tool("victim"), "")
	w.set(f)
	before := w.connections()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, failure, err := s.call(ctx, "victim", "v")
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
	g.Expect(failure.Kind).To(Equal(httplink.KindTimeout))
	g.Expect(failure.Silent).To(BeTrue())
	g.Expect(s.link.Counters().Purges).To(BeNumerically(">", 0))
	s.good("echo")
	g.Expect(w.connections()).To(BeNumerically(">", before))
}

func TestPurgeUsesANewConnectionAndSparesCallsInFlight(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			s := w.connect(t, noStream)
			s.good("echo")
			bystander := s.begin(w, "hold")
			for range 3 {
				before := w.connections()
				s.link.Purge()
				s.good("echo")
				g.Expect(w.connections()).To(BeNumerically(">", before))
			}
			close(w.release)
			g.Expect(within(t, bystander).text).To(Equal("held"))
			s.link.Abort(nil)
			eventually(t, "every connection is closed after the abort", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.opened) == 0
			})
		})
	}
}

func TestConnectionsAreReused(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			w := newWorld(t, e)
			s := w.connect(t, noStream)
			for range 100 {
				s.good("echo")
			}
			// A stream's last chunk may come after its answer; the next call dials then. But that does not go on.
			NewWithT(t).Expect(w.connections()).To(BeNumerically("<", 20))
		})
	}
}

func TestRefusedConnectionIsTypedAndNotSent(t *testing.T) {
	g := NewWithT(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	w := &world{era: eras[0], url: "http://" + l.Addr().String() + "/mcp"}
	l.Close()
	_, rec, err := w.tryConnect(t, t.Context())
	g.Expect(err).To(HaveOccurred())
	f := rec.Failure()
	g.Expect(f.Kind).To(Equal(httplink.KindConnect))
	g.Expect(f.NotSent).To(BeTrue())
	g.Expect(f.NoEffect()).To(BeTrue())
	g.Expect(errors.Is(f, syscall.ECONNREFUSED)).To(BeTrue())
	g.Expect(f.Method).To(Equal("initialize"))
}

// A JSON-RPC error in the body of a failed answer is the call's error, and the status stands beside it.
func TestErrorInTheBodyOfAFailedAnswer(t *testing.T) {
	for _, e := range eras {
		for _, id := range []string{"own", "null"} {
			t.Run(e.name+"/"+id, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				s := w.connect(t)
				w.set(func(rw http.ResponseWriter, s seen) bool {
					if s.tool != "victim" {
						return false
					}
					if id == "own" {
						id = string(s.id)
					}
					rw.Header().Set("Content-Type", "application/json")
					rw.Header().Set("Retry-After", "7")
					rw.WriteHeader(http.StatusServiceUnavailable)
					fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad day","data":{"x":1}}}`, id)
					return true
				})
				_, f, err := s.call(t.Context(), "victim", "v")
				rpc, ok := errors.AsType[*jsonrpc.Error](err)
				g.Expect(ok).To(BeTrue(), "%v", err)
				g.Expect(rpc.Code).To(Equal(int64(-32602)))
				g.Expect(string(rpc.Data)).To(Equal(`{"x":1}`))
				g.Expect(f.Status).To(Equal(503))
				g.Expect(f.Kind).To(Equal(httplink.KindRateLimited))
				g.Expect(f.RetryAfter).To(Equal(7 * time.Second))
				g.Expect(f.RPCCode).To(Equal(int64(-32602)))
				w.set(nil)
				s.good("victim")
			})
		}
	}
}

// go-sdk takes these codes from a healthy server for its own "connection closed", and a null id for the end
// of the session.
func TestErrorsThatMeanSomethingElseToTheSDK(t *testing.T) {
	for _, e := range eras {
		for _, id := range []string{"", "null"} {
			for _, code := range []int{-32003, -32004, -32600} {
				t.Run(fmt.Sprint(e.name, "/", id, code), func(t *testing.T) {
					g := NewWithT(t)
					w := newWorld(t, e)
					s := w.connect(t)
					w.set(func(rw http.ResponseWriter, s seen) bool {
						if s.tool != "victim" {
							return false
						}
						as := string(s.id)
						if id != "" {
							as = id
						}
						body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"as you like"}}`, as, code)
						if e.json {
							rw.Header().Set("Content-Type", "application/json")
						} else {
							rw.Header().Set("Content-Type", "text/event-stream")
							body = "data: " + body + "\n\n"
						}
						io.WriteString(rw, body)
						return true
					})
					_, f, err := s.call(t.Context(), "victim", "v")
					g.Expect(err).To(MatchError(ContainSubstring("as you like")))
					g.Expect(err).NotTo(MatchError(mcp.ErrConnectionClosed))
					g.Expect(f).To(BeNil())
					w.set(nil)
					s.good("victim")
				})
			}
		}
	}
}

// The session id is the server's to give once. Another one in a later answer is ignored; the answer counts.
func TestChangedSessionIDIsIgnored(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[1])
	s := w.connect(t)
	w.set(func(rw http.ResponseWriter, s seen) bool {
		if s.tool == "victim" {
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Mcp-Session-Id", "another")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"v"}]}}`, s.id)
		}
		return s.tool == "victim"
	})
	text, _, err := s.call(t.Context(), "victim", "v")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal("v"))
	g.Expect(s.link.Counters().NewSession).To(Equal(int64(1)))
	w.set(nil)
	s.good("victim")
}

func TestSecretsStayOut(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, eras[0])
	var failures []string
	s := w.connect(t, func(o *httplink.Options, tr *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
		o.Headers = map[string]string{"authorization": "Bearer s3cr3t-token", "X-Api-Key": "k3y-k3y-k3y"}
		o.Endpoint += "?key=qu3ry-s3cr3t"
		tr.Endpoint = o.Endpoint
		o.OnFailure = func(f *httplink.Failure) { failures = append(failures, f.Error()) }
	})
	g.Expect(w.count(func(s seen) bool {
		return s.r.Header.Get("Authorization") == "Bearer s3cr3t-token" && s.r.Header.Get("X-Api-Key") == "k3y-k3y-k3y"
	})).To(BeNumerically(">=", 2))
	session := s.ID()
	g.Expect(session).NotTo(BeEmpty())
	w.set(once(func(rw http.ResponseWriter, r *http.Request) { // an echoing server
		rw.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(rw, "%v %v", r.Header, r.URL)
	}))
	_, f, err := s.call(t.Context(), "victim", "v")
	failures = append(failures, f.Error(), err.Error())
	for _, text := range failures {
		for _, secret := range []string{"s3cr3t-token", "k3y-k3y-k3y", "qu3ry-s3cr3t", session} {
			g.Expect(text).NotTo(ContainSubstring(secret))
		}
	}
	g.Expect(failures[0]).To(ContainSubstring("[redacted]"))
	g.Expect(err.Error()).NotTo(ContainSubstring("?key"))
}

func TestCredentialsStayAtTheirOrigin(t *testing.T) {
	g := NewWithT(t)
	other := newWorld(t, eras[0])
	w := newWorld(t, eras[0])
	s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
		o.Headers = map[string]string{"Authorization": "Bearer s3cr3t-token"}
	})
	w.set(once(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, other.url, http.StatusTemporaryRedirect)
	}))
	_, f, err := s.call(t.Context(), "victim", "v")
	g.Expect(err).To(HaveOccurred())
	g.Expect(f.Kind).To(Equal(httplink.KindRedirect))
	g.Expect(other.count(func(seen) bool { return true })).To(BeZero())
}
