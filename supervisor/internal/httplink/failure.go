package httplink

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind is the class of a failure.
type Kind string

const (
	// KindConnect: no connection was had (refused, unreachable, DNS, TLS). Nothing was sent.
	KindConnect Kind = "connect"
	// KindTransport: the connection broke: reset, end before the headers, a body or stream cut short.
	KindTransport Kind = "transport"
	// KindSessionGone: the server does not know the session. A new handshake without the old id is the way on.
	KindSessionGone Kind = "session-gone"
	// KindAuth: 401, 403, 407.
	KindAuth Kind = "auth"
	// KindRateLimited: 429, and 503 with a Retry-After.
	KindRateLimited Kind = "rate-limited"
	// KindUnavailable: 408 and every other 5xx but 501. Another try may succeed.
	KindUnavailable Kind = "unavailable"
	// KindRefused: every other status. Another try of the same request will not succeed.
	KindRefused Kind = "refused"
	// KindNotMCP: a 2xx that is no MCP answer: other content type, no JSON, no JSON-RPC, somebody else's id.
	KindNotMCP Kind = "not-mcp"
	// KindRedirect: a redirect that is not followed: another origin, too many, or one that would lose method
	// and body.
	KindRedirect Kind = "redirect"
	// KindTooLarge: a body or event over MaxBody.
	KindTooLarge Kind = "too-large"
	// KindTimeout: the caller's deadline, or a bound of ours, passed.
	KindTimeout Kind = "timeout"
	// KindCancelled: the caller gave up.
	KindCancelled Kind = "cancelled"
	// KindAborted: Abort was called.
	KindAborted Kind = "aborted"
)

// Code is the JSON-RPC code of the errors that this package makes up. It is outside of the range that
// JSON-RPC reserves, and no server's answer means anything by it; but do not decide on it, ask the Recorder.
const Code = -31001

// Failure is what HTTP had to say. It is an error; its text holds no secret. It is never changed after it was
// recorded.
type Failure struct {
	Kind         Kind
	Method       string        // the JSON-RPC method; "" for a response or a DELETE
	Notification bool          // nobody waits for it
	Status       int           // HTTP; 0 if no status arrived
	ContentType  string        // of the answer, if there was one
	RetryAfter   time.Duration // what the server asked for; 0 if it did not
	RPCCode      int64         // of a JSON-RPC error in the body; 0 if there was none
	NotSent      bool          // no connection was had, so the server cannot have seen it
	Resumed      bool          // it is the rest of a cut stream that failed; the request itself had arrived before
	Silent       bool          // not a byte was received between the sending and the failure
	Detail       string        // what happened, in words
	Cause        error         // may be nil
}

// Error says it in one line.
func (f *Failure) Error() string {
	var b strings.Builder
	if f.Status != 0 {
		fmt.Fprintf(&b, "http %d", f.Status)
		if t := http.StatusText(f.Status); t != "" {
			b.WriteString(" " + t)
		}
	}
	if f.Detail != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(f.Detail)
	}
	if f.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %v)", f.RetryAfter)
	}
	if b.Len() == 0 {
		b.WriteString(string(f.Kind))
	}
	return b.String()
}

// Unwrap gives the cause, so that errors.Is finds ECONNREFUSED, ErrAborted and the like.
func (f *Failure) Unwrap() error { return f.Cause }

// NoEffect says whether the server certainly did not execute the request: it never saw it, or it refused it
// before the MCP layer (401, 403, 404 of a session, 405, 429).
func (f *Failure) NoEffect() bool {
	if f.Resumed {
		return false
	}
	if f.NotSent {
		return true
	}
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusTooManyRequests:
		return true
	case http.StatusNotFound:
		return f.Kind == KindSessionGone
	}
	return false
}

// saysNothingOfTheEra: the server may be modern or legacy, it just could not answer now. A fallback on such
// evidence would pin a modern server to the legacy era for the life of the session, because of one 503.
func (f *Failure) saysNothingOfTheEra() bool {
	switch f.Kind {
	case KindConnect, KindTransport, KindAuth, KindRateLimited, KindUnavailable, KindTimeout, KindCancelled, KindAborted:
		return true
	}
	return false
}

// classify decides the kind of a status, and nothing else does. hadSession: the request named a session. text
// is the body's message.
func classify(status int, hadSession bool, rpcCode int64, text string, retryAfter time.Duration) Kind {
	if hadSession && lostSession(status, rpcCode, text) {
		return KindSessionGone
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return KindAuth
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && retryAfter > 0:
		return KindRateLimited
	case status == http.StatusNotImplemented:
		return KindRefused
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return KindUnavailable
	case status >= 300 && status < 400:
		return KindRedirect
	}
	return KindRefused
}

const codeMethodNotFound = -32601

// lostSession: a 404 to a request that names a session means that the session is gone (spec-H3), unless the
// body says that it is the method that is unknown. Many servers say it in other ways, so a text about a
// missing session counts with any error status (samanhappy/mcphub#196, actionhero/keryx#503,
// cursor/cursor#3640).
func lostSession(status int, rpcCode int64, text string) bool {
	if rpcCode == codeMethodNotFound {
		return false
	}
	if status == http.StatusNotFound || status == http.StatusGone {
		return true
	}
	text = strings.ToLower(text)
	if !strings.Contains(text, "session") {
		return false
	}
	for _, word := range []string{"not found", "no valid", "invalid", "unknown", "expired", "missing", "not exist", "terminated", "closed"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// maxRetryAfter keeps a server's number inside of time.Duration; nobody waits for longer than a day.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseInt(v, 10, 64); err == nil {
		return max(0, min(time.Duration(min(s, int64(maxRetryAfter/time.Second)))*time.Second, maxRetryAfter))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, min(t.Sub(now), maxRetryAfter))
	}
	return 0
}
