package httplink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// call sends a request that wants an answer, and gives go-sdk a well-formed one, whatever came back.
func (l *Link) call(req *http.Request, m *message) (*http.Response, error) {
	if f := l.refuseDowngrade(m); f != nil {
		return l.failed(req, m, f)
	}
	bound := time.Duration(0)
	if m.method == methodDiscover && !m.private {
		bound = share(req.Context(), l.opts.DiscoverTimeout)
	}
	x := l.begin(req.Context(), m, bound)
	resp, f := x.send(req)
	if f != nil {
		x.end()
		return l.failed(req, m, f)
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return l.refused(req, x, resp)
	case mediaType(resp) == typeJSON:
		return l.jsonAnswer(req, x, resp)
	case mediaType(resp) == typeStream:
		return answer(req, typeStream, newCallStream(x, resp), l.sessionOf(req, resp)), nil
	}
	return l.notMCP(req, x, resp)
}

// refuseDowngrade answers an initialize that follows a server/discover which failed for reasons that say
// nothing about the era.
func (l *Link) refuseDowngrade(m *message) *Failure {
	if m.method != methodInitialize || !l.opts.NoDowngrade {
		return nil
	}
	l.mu.Lock()
	doubt := l.doubt
	l.mu.Unlock()
	if doubt == nil {
		return nil
	}
	f := *doubt
	f.Method, f.NotSent = m.method, true
	f.Detail = "no fallback to the legacy handshake after: " + doubt.Error()
	f.Status = 0 // the text has it, and this request was not sent
	return &f
}

// failed records a failure and answers the call with it. Only the end of the caller's own context is an error
// of RoundTrip: go-sdk looks at the context first then, and no other text can get in.
func (l *Link) failed(req *http.Request, m *message, f *Failure) (*http.Response, error) {
	l.doubtEra(m, f)
	l.fail(req.Context(), f)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return jsonAnswer(req, errorReply(m.rawID, f.wire())), nil
}

// doubtEra keeps a failed server/discover that is no evidence of the legacy era.
func (l *Link) doubtEra(m *message, f *Failure) {
	if m.method != methodDiscover || m.private || !f.saysNothingOfTheEra() {
		return
	}
	l.mu.Lock()
	l.doubt = f
	l.mu.Unlock()
}

// wire is the failure as the call's error. The data are for people who log it.
func (f *Failure) wire() wireError {
	data, _ := json.Marshal(struct {
		Kind    Kind  `json:"kind"`
		Status  int   `json:"httpStatus,omitempty"`
		RetryMS int64 `json:"retryAfterMs,omitempty"`
	}{f.Kind, f.Status, f.RetryAfter.Milliseconds()})
	return wireError{Code: Code, Message: f.Error(), Data: data}
}

// refused handles a status outside of 2xx. If its body holds a JSON-RPC error, that is what the call gets.
func (l *Link) refused(req *http.Request, x *exchange, resp *http.Response) (*http.Response, error) {
	f, rpc := x.status(resp)
	if rpc == nil || req.Context().Err() != nil {
		return l.failed(req, x.m, f)
	}
	if rpc.Code != codeMethodNotFound {
		l.doubtEra(x.m, f)
	}
	l.fail(req.Context(), f)
	return jsonAnswer(req, errorReply(x.m.rawID, rpc.repaired())), nil
}

// status reads the body of a failed answer, ends the exchange, and says what it means.
func (x *exchange) status(resp *http.Response) (*Failure, *wireError) {
	defer x.end()
	stop := time.AfterFunc(errorBodyWait, func() { x.cancel(errBound) })
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what has come by then is enough
	stop.Stop()
	resp.Body.Close()

	rpc := errorIn(body)
	text, code := snippet(mediaType(resp), body), int64(0)
	if rpc != nil {
		text, code = rpc.Message, rpc.Code
	}
	wait := retryAfter(resp.Header, time.Now())
	hadSession := resp.Request != nil && resp.Request.Header.Get(headerSession) != ""
	f := x.failure(classify(resp.StatusCode, hadSession, code, text, wait), text, nil)
	f.Status, f.ContentType, f.RetryAfter, f.RPCCode = resp.StatusCode, mediaType(resp), wait, code
	if f.Kind == KindSessionGone {
		f.Detail = strings.TrimSuffix("the session is gone: "+f.Detail, ": ")
	}
	return f, rpc
}

// errorIn finds the JSON-RPC error in the body of a failed answer, whatever its id.
func errorIn(body []byte) *wireError {
	var r struct {
		Version string     `json:"jsonrpc"`
		Error   *wireError `json:"error"`
	}
	if json.Unmarshal(body, &r) != nil || r.Version != "2.0" || r.Error == nil {
		return nil
	}
	return r.Error
}

// jsonAnswer reads the whole body here, so that a cut, or the caller's deadline, can still become an error of
// this call alone.
func (l *Link) jsonAnswer(req *http.Request, x *exchange, resp *http.Response) (*http.Response, error) {
	defer x.end()
	body, err := readCapped(resp.Body, l.opts.MaxBody)
	resp.Body.Close()
	if err != nil {
		f := x.broken(err, fmt.Sprintf("the answer was cut after %d bytes", len(body)))
		f.Status, f.ContentType = resp.StatusCode, typeJSON
		return l.failed(req, x.m, f)
	}
	out, final, err := answerTo(x.m, body)
	if err == nil && !final {
		err = errNoAnswer
	}
	if err != nil {
		f := x.failure(KindNotMCP, fmt.Sprintf("the answer is no MCP: %v: %s", err, snippet(typeJSON, body)), nil)
		f.Status, f.ContentType = resp.StatusCode, typeJSON
		return l.failed(req, x.m, f)
	}
	return answer(req, typeJSON, io.NopCloser(bytes.NewReader(out)), l.sessionOf(req, resp)), nil
}

// notMCP handles a 2xx of another kind: a login page, plain text, or nothing at all.
func (l *Link) notMCP(req *http.Request, x *exchange, resp *http.Response) (*http.Response, error) {
	f, _ := x.status(resp)
	f.Kind = KindNotMCP
	kind := f.ContentType
	if kind == "" {
		kind = "no content type"
	}
	f.Detail = strings.TrimSuffix(fmt.Sprintf("%s instead of an MCP answer: %s", kind, f.Detail), ": ")
	return l.failed(req, x.m, f)
}

// sessionOf gives the session id that go-sdk may see. It takes a changed one for the end of the session,
// after the call was executed; the session that was negotiated is kept instead, and if it is no more, the
// next call says so.
func (l *Link) sessionOf(req *http.Request, resp *http.Response) string {
	id, had := resp.Header.Get(headerSession), req.Header.Get(headerSession)
	if had != "" && id != "" && id != had {
		l.count.newSession.Add(1)
		return had
	}
	return id
}

func jsonAnswer(req *http.Request, body []byte) *http.Response {
	return answer(req, typeJSON, io.NopCloser(bytes.NewReader(body)), "")
}

func answer(req *http.Request, contentType string, body io.ReadCloser, session string) *http.Response {
	h := http.Header{"Content-Type": {contentType}}
	if session != "" {
		h.Set(headerSession, session)
	}
	return empty(req, http.StatusOK, h, body)
}

func empty(req *http.Request, status int, h http.Header, body io.ReadCloser) *http.Response {
	if body == nil {
		body = http.NoBody
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: -1, Request: req,
	}
}

func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		t, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

var errTooLarge = errors.New("it is larger than allowed")

func readCapped(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, fmt.Errorf("%w (%d bytes)", errTooLarge, limit)
	}
	return body, err
}

// snippet is what a person wants to see of a body: the title of a page, the beginning of a text.
func snippet(contentType string, body []byte) string {
	const most = 120
	text := string(body)
	if strings.Contains(contentType, "html") {
		if _, rest, ok := cutFold(text, "<title>"); ok {
			text, _, _ = cutFold(rest, "</title>")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text[:min(len(text), 4*most)])
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return text
}

func cutFold(s, sep string) (before, after string, ok bool) {
	i := strings.Index(strings.ToLower(s), sep)
	if i < 0 || i+len(sep) > len(s) {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
