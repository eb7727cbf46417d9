package httplink_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// discoverFault meets server/discover alone.
func discoverFault(h http.HandlerFunc) fault {
	return func(w http.ResponseWriter, s seen) bool {
		if s.method == "server/discover" {
			h(w, s.r)
		}
		return s.method == "server/discover"
	}
}

// negotiating is a legacy server met by a client that tries the modern handshake first.
func negotiating(t *testing.T) *world {
	w := newWorld(t, eras[0])
	w.era.version = ""
	return w
}

// spec-V4, spec-V5: whatever a legacy server says to an unknown method, initialize is tried.
func TestRefusedDiscoverFallsBack(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"400": plain(400), "404": plain(404), "405": plain(405), "500": plain(500), "501": plain(501), "503": plain(503),
		"html-200":   body("text/html", "<title>hi</title>"),
		"text-200":   body("text/plain", "hi"),
		"empty-202":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"empty-json": body("application/json", ""),
		"null-id":    body("application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}`),
		"reset":      raw("", true),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := negotiating(t)
			w.set(discoverFault(h))
			s := w.connect(t)
			g.Expect(s.InitializeResult().ProtocolVersion).To(Equal("2025-11-25"))
			s.good("echo")
		})
	}
}

func TestSilentDiscoverFallsBackInTime(t *testing.T) {
	g := NewWithT(t)
	w := negotiating(t)
	f, _ := hang(t, method("server/discover"), "")
	w.set(f)
	s := w.connect(t, func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
		o.DiscoverTimeout = 20 * time.Millisecond
	})
	g.Expect(s.InitializeResult().ProtocolVersion).To(Equal("2025-11-25"))
	s.good("echo")
}

// A silent downgrade for the life of the session, because of one 503, can be forbidden; a real "I do not know
// that" still falls back.
func TestNoDowngrade(t *testing.T) {
	forbid := func(o *httplink.Options, _ *mcp.StreamableClientTransport, _ *mcp.ClientOptions) {
		o.NoDowngrade = true
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		kind httplink.Kind // "" = falls back
	}{
		"503":   {plain(503), httplink.KindUnavailable},
		"429":   {plain(429), httplink.KindRateLimited},
		"401":   {plain(401), httplink.KindAuth},
		"reset": {raw("", true), httplink.KindTransport},
		"404":   {plain(404), ""},
		"html":  {body("text/html", "hi"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := negotiating(t)
			w.set(discoverFault(c.h))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, rec, err := w.tryConnect(t, ctx, forbid)
			if c.kind == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(HaveOccurred())
			g.Expect(rec.Failure().Kind).To(Equal(c.kind))
			g.Expect(rec.Failure().Error()).To(ContainSubstring("no fallback"))
			g.Expect(w.count(method("initialize"))).To(BeZero())
		})
	}
}

// An initialize that fails is a failed Connect with its reason; nothing hangs.
func TestFailedHandshakeIsTyped(t *testing.T) {
	for _, e := range eras {
		for name, c := range map[string]struct {
			h    http.HandlerFunc
			kind httplink.Kind
		}{
			"401": {plain(401), httplink.KindAuth}, "404": {plain(404), httplink.KindRefused}, "503": {plain(503), httplink.KindUnavailable},
			"html": {body("text/html", "x"), httplink.KindNotMCP}, "reset": {raw("", true), httplink.KindTransport},
			"truncated": {raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", false), httplink.KindTransport},
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				w.set(func(rw http.ResponseWriter, s seen) bool { c.h(rw, s.r); return true })
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, rec, err := w.tryConnect(t, ctx)
				g.Expect(err).To(HaveOccurred())
				g.Expect(rec.Failure().Kind).To(Equal(c.kind), "%v", err)
				g.Expect(w.count(func(s seen) bool { return s.r.Header.Get("Mcp-Session-Id") != "" })).To(BeZero())
			})
		}
	}
}
