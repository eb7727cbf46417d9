// Package supervisor keeps MCP sessions alive. It runs servers as child processes, or reaches them over HTTP, in both protocol
// eras; it notices when they die, hang, stop or fall silent; it replaces them, and it tells every caller what happened to its call.
//
//	s, err := supervisor.New(supervisor.Options{})
//	servers, err := supervisor.LoadServers("mcp.json")
//	for _, server := range servers {
//		err = s.Add(server)
//	}
//	result, err := s.Call(ctx, "files", "read", map[string]any{"path": "/etc/motd"})
//	...
//	err = s.Close(ctx)
//
// # The life of a server
//
// Each server has one owner, a goroutine, and a circuit breaker. Callers never touch the transport: they use the live session that
// the owner has published, or wait for one.
//
//	          Add
//	           |
//	           v         ok
//	.---> connecting ---------> ready
//	|          |                  |
//	|          | failed           | process died, stream broken, hung, silent,
//	| due      v                  | or Reconnect
//	|-----  backoff  <------------'
//	|          |
//	|          | quick retries used up          credentials refused
//	|          v                                        |
//	|-----  parked                                      v
//	|-----  needs-auth  <-------------------------------'
//	           |
//	        Remove, Close (from every state)
//	           v
//	        closed
//
// The first retry after a death is immediate. Then waits grow from BackoffMin to BackoffMax; after Retries of them the server is
// parked: its tools are withdrawn, but an attempt is made every ParkedRetry for ever, for a call at most once per DemandInterval, and
// for Reconnect at once. Nothing ends an owner but Remove and Close (SUP-1).
//
// A call waits for the attempt that is under way or scheduled, as far as its own deadline reaches, and fails with that attempt. A
// session that has answered a call well, or was up for ProvenAfter, fills the budget of quick retries up again; one that connects and
// dies does not (SUP-3).
//
// # What a caller may rely on
//
//   - Every call ends with its context or with CallTimeout, whatever the server does, and at once when the session dies (SUP-4, SUP-6).
//   - Every error is an *Error. Sent says whether the call may have had an effect. A call is sent again, on another session, only if it
//     certainly was not sent, or if the tool declares itself read-only or idempotent in a list that is up to date (SUP-4).
//   - The breaker is asked only when there is a live session, and every new session resets it. So the half-open probe is a real call on
//     a session that is believed to work, never a write to a dead pipe (SUP-2, SUP-3, NousResearch/hermes-agent#16788).
//   - Tools is what can be called now: tools leave when their server is parked, and come back freshly listed (SUP-5).
//   - No value of Server.Env or Server.Headers appears in an error, event, status or log line. Values of less than four bytes cannot
//     be told from ordinary text and are not looked for (SUP-13).
//
// # How death is noticed
//
//	the process ended               at once, from the process itself, whoever holds its pipes (SUP-7)
//	it closed stdout or stdin       at once
//	it takes no byte                WriteTimeout after the pipe was full
//	it is stopped (SIGSTOP)         LivenessMisses + 1 times Liveness, with or without calls in flight
//	it is silent while idle         the same
//	it is silent under calls        one CallTimeout of silence, with HungAfter timeouts in a row or with missed liveness probes; or a
//	                                half-open probe in silence. A server that is busy with one long call is left alone (SUP-8, SUP-9)
//
// Over HTTP there is no process to watch, and a failed request is no death: the session is kept through 401, 429, 5xx, resets and
// timeouts, and only that call fails.
//
//	the session is not known        with the first answer that says so (404); the call is sent again on a new session
//	no connection can be had        with the first attempt, unless other calls are in flight and may still be answered
//	its flow has vanished           a liveness probe, or a call, that meets silence: the connections are renewed, the session is kept
//	silence                         as above
//
// # Limits
//
// A grandchild that has left the process group, by a session of its own, is not ended with its server. On systems without pidfd
// (other than Linux 5.3 and later) watching a child costs a thread. On Windows there are no groups: only the process itself is ended, and
// writes to a full pipe are noticed by liveness alone.
//
// # Finding your way
//
// supervisor.go is the public face. owner.go is the state machine, with attempt.go (one try to connect), schedule.go (when the next
// one is due), requests.go (what callers ask of the owner), liveness.go and refresh.go (what it looks after while a session lives). call.go
// is the way of a call, classify.go decides what failures are. link.go is what the owner knows of transports; stdio_link.go and
// internal/stdio are the one for processes, http_link.go and internal/httplink the one for HTTP. A newcomer most often changes
// settings.go, schedule.go or classify.go.
//
// The package uses go-sdk for the protocol and this module's breaker; it imports nothing else of the module.
package supervisor
