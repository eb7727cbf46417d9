package httplink_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

func startTLS(s *httptest.Server) {
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
}

// HTTP/2 puts all calls on one connection: the same promises hold there, and Purge still means a new connection.
func TestHTTP2(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			g := NewWithT(t)
			w, srv := newWorldOn(t, e, startTLS)
			s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
				o.Base = srv.Client().Transport.(*http.Transport).Clone
			})
			bystander := s.begin(w, "hold")
			g.Expect(w.count(func(s seen) bool { return s.r.ProtoMajor != 2 })).To(BeZero())

			w.set(once(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })) // RST_STREAM
			_, f, err := s.call(t.Context(), "victim", "v")
			g.Expect(err).To(HaveOccurred())
			g.Expect(f.Kind).To(Equal(httplink.KindTransport), f.Error())
			w.set(once(plain(http.StatusBadRequest)))
			_, f, err = s.call(t.Context(), "victim", "v")
			g.Expect(err).To(HaveOccurred())
			g.Expect(f.Status).To(Equal(400))
			s.good("echo")

			before := w.connections()
			s.link.Purge()
			s.good("echo")
			g.Expect(w.connections()).To(Equal(before + 1))
			close(w.release)
			g.Expect(within(t, bystander).text).To(Equal("held"))

			hung, entered := hang(t, tool("victim"), "")
			w.set(hung)
			done := make(chan outcome, 1)
			go func() {
				text, f, err := s.call(context.Background(), "victim", "v")
				done <- outcome{text, f, err}
			}()
			within(t, entered)
			s.link.Abort(errTest)
			g.Expect(within(t, done).f.Kind).To(Equal(httplink.KindAborted))
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			within(t, closed)
		})
	}
}

func TestUntrustedCertificateIsNamed(t *testing.T) {
	g := NewWithT(t)
	w, _ := newWorldOn(t, eras[0], startTLS)
	_, rec, err := w.tryConnect(t, t.Context())
	g.Expect(err).To(HaveOccurred())
	f := rec.Failure()
	g.Expect(f.Kind).To(Equal(httplink.KindConnect))
	g.Expect(f.NotSent).To(BeTrue())
	g.Expect(f.Error()).To(ContainSubstring("certificate"))
}
