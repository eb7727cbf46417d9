package httplink_test

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// bad is one thing that can happen to one POST.
type bad struct {
	name   string
	fault  http.HandlerFunc
	kind   httplink.Kind
	legacy httplink.Kind // if it is another one where there is a session
	status int
	works  bool // the call succeeds in spite of it
}

func plain(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nope", status) }
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		} else {
			w.Header()["Content-Type"] = nil
		}
		fmt.Fprint(w, text)
	}
}

func raw(text string, reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { cut(w, text, reset) }
}

func bads() []bad {
	all := []bad{}
	for status, kind := range map[int]httplink.Kind{
		400: httplink.KindRefused, 401: httplink.KindAuth, 403: httplink.KindAuth, 404: httplink.KindRefused, 405: httplink.KindRefused,
		408: httplink.KindUnavailable, 409: httplink.KindRefused, 410: httplink.KindRefused, 413: httplink.KindRefused,
		429: httplink.KindRateLimited, 500: httplink.KindUnavailable, 501: httplink.KindRefused, 502: httplink.KindUnavailable,
		503: httplink.KindUnavailable, 504: httplink.KindUnavailable, 520: httplink.KindUnavailable,
	} {
		b := bad{name: fmt.Sprint(status), fault: plain(status), kind: kind, status: status}
		if status == 404 || status == 410 {
			b.legacy = httplink.KindSessionGone
		}
		all = append(all, b)
	}
	const (
		jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	)
	return append(all,
		bad{name: "reset-before-headers", fault: raw("", true), kind: httplink.KindTransport},
		bad{name: "closed-before-headers", fault: raw("", false), kind: httplink.KindTransport},
		bad{name: "half-a-status-line", fault: raw("HTTP/1.1 2", false), kind: httplink.KindTransport},
		bad{name: "no-http", fault: raw("SSH-2.0-OpenSSH\r\n", false), kind: httplink.KindTransport},
		bad{name: "json-shorter-than-announced", fault: raw(jsonHead+"Content-Length: 100\r\n\r\n{\"json", false),
			kind: httplink.KindTransport, status: 200},
		bad{name: "json-reset", fault: raw(jsonHead+"Content-Length: 100\r\n\r\n{\"json", true), kind: httplink.KindTransport, status: 200},
		bad{name: "json-without-last-chunk", fault: raw(jsonHead+"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"jso\r\n", false),
			kind: httplink.KindTransport, status: 200},
		bad{name: "stream-ends-at-once", fault: body("text/event-stream", ""), kind: httplink.KindTransport, status: 200},
		bad{name: "stream-cut-in-an-event", fault: body("text/event-stream", "data: {\"jsonrpc\":\"2.0\","),
			kind: httplink.KindTransport, status: 200},
		bad{name: "stream-reset", fault: raw(streamHead+"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: {\"j\r\n", true),
			kind: httplink.KindTransport, status: 200},
		bad{name: "stream-noise", fault: body("text/event-stream", "hello\nworld: x\ndata: not json\n\ndata: 42\n\n: x\n\n"),
			kind: httplink.KindTransport, status: 200},
		bad{name: "html-200", fault: body("text/html; charset=utf-8", "<html><title>Please log in</title>"),
			kind: httplink.KindNotMCP, status: 200},
		bad{name: "text-200", fault: body("text/plain", "ok"), kind: httplink.KindNotMCP, status: 200},
		bad{name: "no-content-type-200", fault: body("", ""), kind: httplink.KindNotMCP, status: 200},
		bad{name: "202", fault: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, kind: httplink.KindNotMCP, status: 202},
		bad{name: "204", fault: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, kind: httplink.KindNotMCP, status: 204},
		bad{name: "json-empty", fault: body("application/json", ""), kind: httplink.KindNotMCP, status: 200},
		bad{name: "json-garbage", fault: body("application/json", "<html>"), kind: httplink.KindNotMCP, status: 200},
		bad{name: "json-no-rpc", fault: body("application/json", `{"status":"ok"}`), kind: httplink.KindNotMCP, status: 200},
		bad{name: "json-batch", fault: body("application/json", `[{"jsonrpc":"2.0","id":1,"result":{}}]`),
			kind: httplink.KindNotMCP, status: 200},
		bad{name: "json-other-id", fault: body("application/json", `{"jsonrpc":"2.0","id":987654,"result":{}}`),
			kind: httplink.KindNotMCP, status: 200},
		bad{name: "redirect-to-a-page", fault: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
			kind: httplink.KindRedirect, status: 302},
		bad{name: "redirect-loop", fault: nil, kind: httplink.KindRedirect, status: 307},
		bad{name: "redirect-to-another-origin", fault: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/mcp", http.StatusPermanentRedirect)
		}, kind: httplink.KindRedirect, status: 308},
		bad{name: "redirect-slash-308", fault: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/mcp/", http.StatusPermanentRedirect)
		}, works: true},
	)
}

// One POST goes wrong. That call fails at once, typed; a call in flight is not touched; the next one succeeds
// on the same session.
func TestOneBadAnswerHarmsOneCall(t *testing.T) {
	for _, e := range eras {
		for _, b := range bads() {
			t.Run(e.name+"/"+b.name, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(t, e)
				s := w.connect(t)
				bystander := s.begin(w, "hold")

				if b.name == "redirect-loop" {
					w.set(func(rw http.ResponseWriter, s seen) bool {
						if s.tool == "victim" {
							http.Redirect(rw, s.r, s.r.URL.Path, http.StatusTemporaryRedirect)
						}
						return s.tool == "victim"
					})
				} else {
					w.set(once(b.fault))
				}
				text, f, err := s.call(t.Context(), "victim", "v")

				if b.works {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(text).To(Equal("v"))
				} else {
					kind := b.kind
					if b.legacy != "" && !e.modern() {
						kind = b.legacy
					}
					g.Expect(err).To(HaveOccurred())
					g.Expect(f).NotTo(BeNil(), "%v", err)
					g.Expect(f.Kind).To(Equal(kind), f.Error())
					g.Expect(f.Status).To(Equal(b.status), f.Error())
					g.Expect(f.Error()).NotTo(BeEmpty())
					g.Expect(err.Error()).To(ContainSubstring(f.Error()))
					g.Expect(f.NotSent).To(BeFalse())
					if testing.Verbose() {
						t.Logf("%-12s NoEffect=%-5v %v", f.Kind, f.NoEffect(), err)
					}
				}
				w.set(nil)
				s.good("victim")
				close(w.release)
				got := within(t, bystander)
				g.Expect(got.err).NotTo(HaveOccurred())
				g.Expect(got.text).To(Equal("held"))
				g.Expect(w.executed("hold")).To(Equal(1))
			})
		}
	}
}
