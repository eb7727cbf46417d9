package httplink_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// What no caller waits for: notifications, the DELETE, probes.

func TestNotificationsNeverHarm(t *testing.T) {
	for _, e := range eras[:2] {
		for _, status := range []int{400, 401, 404, 405, 500, 503} {
			t.Run(fmt.Sprint(e.name, "/", status), func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				var tries atomic.Int32
				w.set(func(rw http.ResponseWriter, s seen) bool {
					if s.method != "notifications/initialized" || tries.Add(1) > 1 && status >= 500 {
						return false
					}
					http.Error(rw, "no", status)
					return true
				})
				var seenFailure atomic.Pointer[httplink.Failure]
				s := w.connect(t, noStream, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
					o.OnFailure = func(f *httplink.Failure) { seenFailure.Store(f) }
				})
				g.Expect(seenFailure.Load().Status).To(Equal(status))
				g.Expect(seenFailure.Load().Notification).To(BeTrue())
				if status >= 500 { // a passing failure is met by the second try, and a strict server is content
					g.Expect(tries.Load()).To(Equal(int32(2)))
					s.good("echo")
				}
				w.set(func(rw http.ResponseWriter, s seen) bool {
					if s.method == "notifications/cancelled" {
						http.Error(rw, "no", status)
						return true
					}
					return false
				})
			})
		}
	}
}

func TestDeleteIsBoundedAndNotSentInVain(t *testing.T) {
	t.Run("hangs", func(t *testing.T) {
		w := newWorld(t, eras[0])
		s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
			o.DeleteTimeout = 20 * time.Millisecond
		})
		f, _ := hang(t, httpMethod("DELETE"), "")
		w.set(f)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		NewWithT(t).Expect(within(t, closed)).NotTo(HaveOccurred())
	})
	t.Run("session gone", func(t *testing.T) {
		g := NewWithT(t)
		w := newWorld(t, eras[0])
		s := w.connect(t, noStream)
		w.set(once(plain(404)))
		_, f, _ := s.call(t.Context(), "victim", "v")
		g.Expect(f.Kind).To(Equal(httplink.KindSessionGone))
		g.Expect(s.link.SessionGone()).To(BeTrue())
		g.Expect(s.Close()).To(Succeed())
		g.Expect(w.count(httpMethod("DELETE"))).To(BeZero())
	})
	t.Run("refused", func(t *testing.T) {
		w := newWorld(t, eras[0])
		s := w.connect(t, noStream)
		w.set(func(rw http.ResponseWriter, s seen) bool {
			if s.r.Method == http.MethodDelete {
				http.Error(rw, "no", http.StatusBadGateway)
			}
			return s.r.Method == http.MethodDelete
		})
		NewWithT(t).Expect(s.Close()).To(Succeed())
	})
}

func TestProbe(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, e)
			s := w.connect(t)
			before := s.link.LastByte()
			g.Expect(s.link.Probe(t.Context())).To(Succeed())
			g.Expect(s.link.LastByte()).To(BeTemporally(">", before))

			is := func(s seen) bool { return len(s.id) > 0 && s.id[0] == '"' }
			g.Expect(w.count(is)).To(Equal(1))
			w.set(func(rw http.ResponseWriter, s seen) bool { // method not found is a sign of life
				if is(s) {
					rw.Header().Set("Content-Type", "application/json")
					rw.WriteHeader(http.StatusNotFound)
					fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, s.id)
				}
				return is(s)
			})
			g.Expect(s.link.Probe(t.Context())).To(Succeed())
			w.set(func(rw http.ResponseWriter, s seen) bool {
				if is(s) {
					http.Error(rw, "gone", http.StatusNotFound)
				}
				return is(s)
			})
			failure, ok := errors.AsType[*httplink.Failure](s.link.Probe(t.Context()))
			g.Expect(ok).To(BeTrue())
			g.Expect(failure.Status).To(Equal(404))
			g.Expect(failure.Kind == httplink.KindSessionGone).To(Equal(!e.modern()))

			f, _ := hang(t, is, "")
			w.set(f)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			g.Expect(s.link.Probe(ctx)).To(MatchError(context.DeadlineExceeded))
			w.set(nil)
			s.good("echo")
		})
	}
}
