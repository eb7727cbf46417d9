package httplink

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"
)

func TestOptionsAreChecked(t *testing.T) {
	g := NewWithT(t)
	for _, bad := range []string{"", "x", "ftp://a/b", "http://", "http://a b/?key=topsecret"} {
		_, err := New(Options{Endpoint: bad})
		g.Expect(err).To(HaveOccurred(), bad)
		g.Expect(err.Error()).NotTo(ContainSubstring("topsecret"))
	}
	for name, value := range map[string]string{
		"bad name": "topsecret", "X-A": "topsecret\r\nX-B: y", "mcp-session-id": "topsecret", "Accept": "topsecret", "": "topsecret",
	} {
		_, err := New(Options{Endpoint: "http://127.0.0.1/", Headers: map[string]string{name: value}})
		g.Expect(err).To(HaveOccurred(), name)
		g.Expect(err.Error()).NotTo(ContainSubstring("topsecret"))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, " 7 ": 7 * time.Second, "-3": 0, "soon": 0, "1.5": 0,
		"99999999999": maxRetryAfter, "Sun, 29 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sun, 29 Nov 2026 11:00:00 GMT": 0,
	} {
		h := http.Header{}
		h.Set("Retry-After", value)
		if got := retryAfter(h, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestLostSessionInOtherWords(t *testing.T) {
	for text, c := range map[string]struct {
		status int
		code   int64
		want   Kind
	}{
		"Bad Request: No valid session ID provided": {400, -32000, KindSessionGone},
		"Session expired":                    {401, 0, KindSessionGone},
		"unknown session":                    {500, 0, KindSessionGone},
		"Session not found":                  {503, -32001, KindSessionGone},
		"no such method":                     {404, -32601, KindRefused},
		"":                                   {404, 0, KindSessionGone},
		"the database is down":               {500, 0, KindUnavailable},
		"invalid arguments":                  {400, -32602, KindRefused},
		"please log in to start a session":   {401, 0, KindAuth},
		"too many sessions, come back later": {429, 0, KindRateLimited},
	} {
		if got := classify(c.status, true, c.code, text, 0); got != c.want {
			t.Errorf("%d %q: %s, want %s", c.status, text, got, c.want)
		}
		if got := classify(c.status, false, c.code, text, 0); got == KindSessionGone {
			t.Errorf("%d %q: a request without a session cannot have lost it", c.status, text)
		}
	}
}

func collect(r io.Reader, max int64) ([]event, error) {
	er := newEventReader(r, max)
	var all []event
	for {
		e, err := er.next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestEventReader(t *testing.T) {
	data := func(s string) event { return event{data: []byte(s), hasData: true} }
	for name, c := range map[string]struct {
		in   string
		want []event
	}{
		"plain":                {"data: a\n\ndata:b\n\n", []event{data("a"), data("b")}},
		"crlf":                 {"data: a\r\n\r\ndata: b\r\n\r\n", []event{data("a"), data("b")}},
		"cr":                   {"data: a\r\rdata: b\r\r", []event{data("a"), data("b")}},
		"several lines":        {"data: a\ndata: b\n\n", []event{data("a\nb")}},
		"byte order mark":      {"\xef\xbb\xbfdata: a\n\n", []event{data("a")}},
		"comments":             {": x\n\n:y\ndata: a\n\n", []event{data("a")}},
		"fields without colon": {"data\n\nfoo\ndata: a\n\n", []event{data(""), data("a")}},
		"cut off":              {"data: a\n\ndata: b\n", []event{data("a")}},
		"all fields": {"event: m\nid: 7\nretry: 3\ndata: a\n\n",
			[]event{{name: "m", id: "7", retry: "3", data: []byte("a"), hasData: true}}},
		"id alone":       {"id: 7\n\n", []event{{id: "7"}}},
		"id with a NUL":  {"id: 7\x00\ndata: a\n\n", []event{data("a")}},
		"one space only": {"data:  a \n\n", []event{data(" a ")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := collect(r, 1000)
				g.Expect(err).To(MatchError(io.EOF))
				g.Expect(got).To(HaveLen(len(c.want)))
				for i, e := range got {
					g.Expect(string(e.data)).To(Equal(string(c.want[i].data)))
					g.Expect([]string{e.id, e.name, e.retry}).To(Equal([]string{c.want[i].id, c.want[i].name, c.want[i].retry}))
				}
			}
		})
	}
}

func TestEventReaderIsBounded(t *testing.T) {
	g := NewWithT(t)
	for _, in := range []string{strings.Repeat("x", 2000), "data: " + strings.Repeat("data: y\n", 300), strings.Repeat("data: y\n", 300)} {
		_, err := collect(strings.NewReader(in), 1000)
		g.Expect(errors.Is(err, errTooLarge)).To(BeTrue())
	}
	got, err := collect(strings.NewReader(strings.Repeat("data: "+strings.Repeat("y", 900)+"\n\n", 50)), 1000)
	g.Expect(err).To(MatchError(io.EOF))
	g.Expect(got).To(HaveLen(50))
}

// What the reader makes of any bytes, written again, reads the same: so go-sdk can read it.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "id: 1\r\ndata: b\r\n\r\n", "event: x\rdata\r\r", ": c\n\nretry: 5\n\n", "data: {\"a\":\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		first, _ := collect(bytes.NewReader(in), 1<<16)
		var b bytes.Buffer
		for _, e := range first {
			e.writeTo(&b)
		}
		second, err := collect(&b, 1<<20)
		if !errors.Is(err, io.EOF) || len(first) != len(second) {
			t.Fatalf("%d events became %d: %v", len(first), len(second), err)
		}
		for i := range first {
			if !bytes.Equal(first[i].data, second[i].data) || first[i].id != second[i].id || first[i].name != second[i].name {
				t.Fatalf("%+v became %+v", first[i], second[i])
			}
		}
	})
}

// Whatever comes back, a call's answer can be decoded by go-sdk, or is an error here.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, `null`, `[]`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"x","data":[1]}}`, `{"jsonrpc":"2.0","method":"a"}`,
	} {
		f.Add([]byte(s))
	}
	m := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, final, err := answerTo(m, in)
		if err != nil {
			return
		}
		again, finalAgain, err := answerTo(m, out)
		if err != nil || final != finalAgain || !final && !bytes.Equal(out, again) {
			t.Fatalf("%q became %q, %v", in, out, err)
		}
		snippet("text/html", in)
		errorIn(in)
	})
}
