package httplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errCaller = errors.New("the caller's context ended")
	errBound  = errors.New("no answer in time")
)

// exchange is one request to the server and its answer, body included. Its context is its own: it ends with
// the caller's, with Abort, with a bound of ours, or with end, and why says which of them it was.
//
// Being detached matters for bodies: go-sdk ends the whole session when a body cannot be read, and a body
// under the caller's own deadline cannot be read when that has passed.
type exchange struct {
	l        *Link
	m        *message
	caller   context.Context
	ctx      context.Context
	cancel   context.CancelCauseFunc
	gen      *generation
	bytesAt  int64 // received on the link before this
	gotConn  atomic.Bool
	resuming bool // the answer is the rest of an earlier one

	unwatchCaller func() bool
	unwatchAbort  func() bool
	bound         *time.Timer
	ended         sync.Once
}

// begin prepares an exchange that ends with caller and with Abort. A bound of 0 is none. The user must see to
// it that end is called.
func (l *Link) begin(caller context.Context, m *message, bound time.Duration) *exchange {
	return l.beginUnder(l.ctx, caller, m, bound)
}

func (l *Link) beginUnder(abort, caller context.Context, m *message, bound time.Duration) *exchange {
	x := &exchange{l: l, m: m, caller: caller, gen: l.pool.take(), bytesAt: l.count.bytesIn.Load()}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(caller))
	x.cancel = cancel
	x.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.gotConn.Store(true) },
	})
	switch { // AfterFunc takes a moment, in which the request would get out
	case abort.Err() != nil:
		cancel(context.Cause(abort))
	case caller.Err() != nil:
		cancel(errCaller)
	}
	x.unwatchCaller = context.AfterFunc(caller, func() { cancel(errCaller) })
	x.unwatchAbort = context.AfterFunc(abort, func() { cancel(context.Cause(abort)) })
	if bound > 0 {
		x.bound = time.AfterFunc(bound, func() { cancel(errBound) })
	}
	return x
}

// end frees everything; it is called when the body has been read or given up.
func (x *exchange) end() {
	x.ended.Do(func() {
		x.unwatchCaller()
		x.unwatchAbort()
		if x.bound != nil {
			x.bound.Stop()
		}
		x.cancel(nil)
		x.l.pool.put(x.gen)
	})
}

const (
	// lingerTime and lingerBytes bound the reading of what follows an answer, so that the connection can be
	// used again.
	lingerTime  = 1 * time.Second
	lingerBytes = 64 << 10
)

// linger ends the exchange behind everybody's back, once the little that may follow an answer has been read:
// a connection whose body was not read to its end cannot be used again. The caller's context must not cut
// that short: it usually ends as soon as the caller has its answer.
func (x *exchange) linger(body io.ReadCloser) {
	x.unwatchCaller()
	go func() {
		stop := time.AfterFunc(lingerTime, func() { x.cancel(errBound) })
		_, _ = io.CopyN(io.Discard, body, lingerBytes)
		stop.Stop()
		body.Close()
		x.end()
	}()
}

// share gives d, but at most half of what ctx has left, so that something can come after it.
func share(ctx context.Context, d time.Duration) time.Duration {
	if t, ok := ctx.Deadline(); ok {
		d = max(1, min(d, time.Until(t)/2))
	}
	return d
}

// send sends go-sdk's request with the configured headers and follows redirects within the origin.
func (x *exchange) send(from *http.Request) (*http.Response, *Failure) {
	to := from.URL
	for hop := 0; ; hop++ {
		x.l.count.requests.Add(1)
		resp, err := x.gen.t.RoundTrip(x.request(from, to))
		if err != nil {
			return nil, x.broken(err, "")
		}
		if resp.StatusCode < 301 || resp.StatusCode > 308 || resp.Header.Get("Location") == "" {
			return resp, nil
		}
		next, refusal := x.redirect(from, resp, hop)
		resp.Body.Close()
		if refusal != "" {
			f := x.failure(KindRedirect, refusal, nil)
			f.Status = resp.StatusCode
			return nil, f
		}
		to = next
	}
}

func (x *exchange) request(from *http.Request, to *url.URL) *http.Request {
	req := from.Clone(x.ctx)
	req.URL = to
	req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	if body := x.m.body; from.Method == http.MethodPost {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(body))
	}
	if !sameOrigin(to, x.l.endpoint) {
		return req
	}
	for name, value := range x.l.headers {
		req.Header[name] = value
		if name == "Host" {
			req.Host = value[0]
		}
	}
	return req
}

// redirect says where to go, or why not. 307 and 308 keep method and body; the others would turn a POST into
// a GET, which no MCP server means. Another origin, a mere change from http to https included, is for the
// person who wrote the URL to decide.
func (x *exchange) redirect(from *http.Request, resp *http.Response, hop int) (to *url.URL, refusal string) {
	to, err := resp.Location()
	switch {
	case err != nil:
		return nil, "redirected to something that is no URL"
	case !sameOrigin(to, x.l.endpoint):
		return nil, "redirected to another origin, " + to.Scheme + "://" + to.Host + ", which is not followed"
	case hop >= maxHops:
		return nil, fmt.Sprintf("redirected more than %d times", maxHops)
	case from.Method == http.MethodPost && resp.StatusCode != http.StatusTemporaryRedirect &&
		resp.StatusCode != http.StatusPermanentRedirect:
		return nil, "redirected in a way that loses the request's body"
	}
	return to, ""
}

func (x *exchange) failure(kind Kind, detail string, cause error) *Failure {
	return &Failure{
		Kind:    kind,
		Method:  x.m.method,
		Resumed: x.resuming,
		Silent:  x.l.count.bytesIn.Load() == x.bytesAt,
		Detail:  x.l.clean(detail),
		Cause:   cause,
	}
}

// broken says what an error of the network means. doing is what was going on, "" for the time before the headers.
func (x *exchange) broken(err error, doing string) *Failure {
	prefix := ""
	if doing != "" {
		prefix = doing + ": "
	}
	var f *Failure
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errCaller):
		f = x.failure(KindCancelled, prefix+"the caller gave up", x.caller.Err())
		if errors.Is(x.caller.Err(), context.DeadlineExceeded) {
			f.Kind, f.Detail = KindTimeout, prefix+"no answer within the caller's deadline"
		}
	case errors.Is(cause, errBound):
		f = x.failure(KindTimeout, prefix+"no answer in time", context.DeadlineExceeded)
	case errors.Is(cause, ErrAborted):
		f = x.failure(KindAborted, prefix+cause.Error(), cause)
	case errors.Is(err, errTooLarge):
		f = x.failure(KindTooLarge, prefix+err.Error(), err)
	case !x.gotConn.Load() && doing == "":
		f = x.failure(KindConnect, err.Error(), err)
	default:
		f = x.failure(KindTransport, prefix+wireText(err), err)
	}
	f.NotSent = !x.gotConn.Load() && !x.resuming
	// Where one connection is dead, the idle ones are likely to be: a retry must not pick one of those.
	if doing == "" && f.Kind == KindTransport || f.Kind == KindTimeout && f.Silent {
		x.l.Purge()
	}
	return f
}

// wireText makes sense of the errors that say least.
func wireText(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the server closed the connection"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended in the middle (unexpected EOF)"
	}
	return err.Error()
}
