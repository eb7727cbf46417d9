// Package httplink is what lies between go-sdk's streamable HTTP transport and the network: an
// http.RoundTripper that can be aborted, that keeps what HTTP had to say about a failure, and that lets no
// single bad answer harm a session.
//
// go-sdk v1.8.0 left alone ends or poisons a whole session, with every call in flight, over one plain 4xx,
// one HTML page, one truncated body, or one caller's deadline inside a JSON body, and it can block for ever
// in Connect and Close. It also tells its user nothing of status and Retry-After. None of that can be mended
// above it, since a wrapper around its Transport hides its private interfaces; all of it can be mended below,
// and that is this package.
//
// # How to use it
//
// One Link serves one session: make a new one for each attempt to connect, and never use it again after Abort.
//
//	link, err := httplink.New(httplink.Options{Endpoint: url, Headers: headers, OnFailure: ..., OnStream: ...})
//	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: link.Client()}
//	ctx, rec := httplink.WithRecorder(ctx) // also around client.Connect
//	res, err := session.CallTool(ctx, params)
//	if f := rec.Failure(); err != nil && f != nil { ... f.Kind, f.Status, f.RetryAfter, f.NotSent ... }
//
// MaxRetries stays 0: with a negative one go-sdk ends the session at the first cut of a resumable stream.
// DisableStandaloneSSE may be false: the GET stream, and subscriptions/listen in the modern era, are kept
// open by this package behind go-sdk's back (listen.go), so that neither their start nor their end can block
// Connect or harm a call. Set it to true when server-initiated messages are not wanted.
//
// To end a session, however it hangs: Abort, then session.Close in a goroutine of its own, which returns at
// once then. To end it in good order: session.Close (its DELETE is bounded by DeleteTimeout), then Abort to
// free the connections. Contexts given to Connect and CallTool must end: every caller's deadline is the
// caller's to set, and go-sdk waits for the calls in flight when it closes.
//
// LastByte, Received and Probe are for liveness: any byte on any connection of the link is life.
//
// # What a Kind calls for
//
//	connect, transport       the call may be resent if NoEffect; the session may still be good: the next call shows it
//	session-gone             Abort, then a new Link: the handshake must not carry the old id
//	auth                     new credentials mean new Headers, and so a new Link
//	rate-limited             wait for RetryAfter, if there is one; the session is good
//	unavailable              the session is good for all that is known; several in a row call for a new one
//	refused, not-mcp,        this call cannot succeed; the session is good, unless it goes on: a login page in front of a
//	redirect, too-large      server, or a lost session in a server's own words, shows like this
//	timeout with Silent      the flow may be dead; the pool was purged already
//	aborted, cancelled       our own doing
//
// # What becomes of an answer
//
//   - A *call* always gets a well-formed answer. What is not one (a non-2xx status, another content type, a
//     broken body, a reset, a redirect that is not followed) becomes a JSON-RPC error with the call's own id and
//     the code [Code]; so exactly this call fails. The error of RoundTrip is used only when the caller's own
//     context has ended.
//   - A JSON-RPC error in the body of a non-2xx answer is handed through as the call's error; the status is
//     recorded beside it.
//   - server/discover that fails lets go-sdk fall back to initialize, unless NoDowngrade forbids it for failures
//     that say nothing about the era (503, reset ...).
//   - A notification or a response never fails: nobody waits for it. The failure is recorded;
//     notifications/initialized is sent twice first, since strict servers refuse every call until they have seen it.
//   - DELETE never takes longer than DeleteTimeout, and is not sent for a session that the server has forgotten.
//
// May import: go-sdk's jsonrpc, x/net's httpguts, the standard library. A newcomer changes most often: classify in
// failure.go.
package httplink
