// Package script is the language that tells a fake MCP server how to behave: a list of rules, each
// a *when* (what was seen, in which life, in which phase) and a *do* (what happens then).
//
// A script is plain data. The Go value and the YAML file are the same thing; the harness hands it to
// a fake as JSON. The zero Script is a healthy server with the default tools in both eras.
//
// The package imports only the standard library, so that the small stdio fake can start fast. Strict YAML
// reading lives one folder up (fakeservers.ParseScript).
package script

// Era says which protocol generation a server speaks or a scenario runs in.
type Era string

const (
	// Legacy is the initialize handshake, revisions up to 2025-11-25.
	Legacy Era = "legacy"
	// Modern is the stateless revision 2026-07-28 (server/discover, per-request _meta).
	Modern Era = "modern"
	// Both answers either; the client's first request decides. It is the default.
	Both Era = ""
)

// Phase is the part of a run a fake is in. It is kept on disk beside the journal, so that every life of
// a fake, whoever spawned it, agrees about it.
type Phase string

const (
	// Baseline is before the fault: every rule without a phase is active, fault rules are not.
	Baseline Phase = "baseline"
	// Faulty is while the fault is on.
	Faulty Phase = "fault"
	// Healed is after the fault was lifted. The control's fakes are frozen here.
	Healed Phase = "healed"
)

// Script is all that a fake needs to know about how to behave.
type Script struct {
	// Era limits which handshakes are answered. A legacy-only server answers server/discover with -32601;
	// a modern-only server answers initialize with -32022.
	Era Era `json:"era,omitempty" yaml:"era,omitempty"`
	// Tools names the default tools to serve (see ToolNames in this package); empty serves all of them.
	Tools []string `json:"tools,omitempty" yaml:"tools,omitempty"`
	// Rules are tried in order for each thing that happens; the first whose When matches acts.
	// Without a match the server does what a healthy one does.
	Rules []Rule `json:"rules,omitempty" yaml:"rules,omitempty"`
}

// Rule is one *when ... do ...*.
type Rule struct {
	// Name is what the journal calls it when it fires; empty takes "rule N".
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	When When   `json:"when" yaml:"when"`
	// Do runs in order. A list that neither replies, drops, hangs nor ends the process is followed by the healthy behaviour,
	// so {delay: 50ms} alone is a slow healthy server.
	Do []Action `json:"do" yaml:"do"`
	// Once lets the rule fire a single time over all lives and processes, by an atomic token on disk.
	Once bool `json:"once,omitempty" yaml:"once,omitempty"`
	// Times lets the rule fire at most this often in one life; 0 is without limit.
	Times int `json:"times,omitempty" yaml:"times,omitempty"`
}

// On is the kind of thing that happened.
type On string

const (
	OnRequest On = "request" // a request or notification was read, nothing answered yet (the default)
	OnReplied On = "replied" // a reply was written completely
	OnSpawn   On = "spawn"   // the process has just started (stdio), nothing read yet
	OnPhase   On = "phase"   // this life was told (control channel) that the phase changed to When.Phase
	OnEOF     On = "eof"     // stdin reached end of file (stdio)
	OnSignal  On = "signal"  // SIGTERM or SIGINT arrived (stdio)
	OnHTTP    On = "http"    // an HTTP request arrived, before anything is parsed for the SDK (HTTP)
)

// When says what a rule waits for. Empty fields match everything.
type When struct {
	On     On     `json:"on,omitempty" yaml:"on,omitempty"`
	Method string `json:"method,omitempty" yaml:"method,omitempty"` // JSON-RPC method: "tools/call", "initialize", "server/discover" ...
	Tool   string `json:"tool,omitempty" yaml:"tool,omitempty"`     // params.name of a tools/call
	HTTP   string `json:"http,omitempty" yaml:"http,omitempty"`     // HTTP method: "POST", "GET", "DELETE"
	// Nth matches only the n-th candidate of this life in this phase (counting what the other fields match, from 1);
	// "3" is exactly the third, "3+" the third and all later, "1-3" the first three.
	Nth Range `json:"nth,omitempty" yaml:"nth,omitempty"`
	// Life is "1", "2-4", "5+" (lives are counted over all processes of this state folder), or "serving": the
	// life that answered the latest call the lab marked as its baseline; targets spawn throwaways.
	Life  Range `json:"life,omitempty" yaml:"life,omitempty"`
	Phase Phase `json:"phase,omitempty" yaml:"phase,omitempty"`
	// After delays the match: with OnSpawn or OnPhase it fires this long after it.
	After Duration `json:"after,omitempty" yaml:"after,omitempty"`
}

// Action is one thing to do; exactly one field is set.
type Action struct {
	// Any transport.
	Delay       Duration `json:"delay,omitempty" yaml:"delay,omitempty"`               // wait, then go on with the list; other requests are answered meanwhile
	Reply       *Reply   `json:"reply,omitempty" yaml:"reply,omitempty"`               // answer with this instead of the healthy answer
	Healthy     bool     `json:"healthy,omitempty" yaml:"healthy,omitempty"`           // answer as a healthy server now (then go on with the list)
	Effect      bool     `json:"effect,omitempty" yaml:"effect,omitempty"`             // execute the tool (the nonce is journalled as executed), do not answer
	Drop        bool     `json:"drop,omitempty" yaml:"drop,omitempty"`                 // never answer this request
	Notify      string   `json:"notify,omitempty" yaml:"notify,omitempty"`             // send this notification, e.g. "notifications/tools/list_changed"
	NotifyTimes int      `json:"notify_times,omitempty" yaml:"notify_times,omitempty"` // modifies Notify: how often; 0 = once
	SetTools    []string `json:"set_tools,omitempty" yaml:"set_tools,omitempty"`       // from now on serve these tools ("+name" adds, "-name" removes); also later lives
	Exit        *int     `json:"exit,omitempty" yaml:"exit,omitempty"`                 // end the process with this code
	Signal      string   `json:"signal,omitempty" yaml:"signal,omitempty"`             // raise it on ourselves: "KILL", "SEGV", "STOP", "TERM"

	// stdio.
	// Write sends these bytes, as they are, to stdout; WriteBase64 is the same for bytes that are no text. In what a request brings
	// about, "{{id}}" becomes its id as it was written and "{{nonce}}" the nonce of its call.
	Write       string `json:"write,omitempty" yaml:"write,omitempty"`
	WriteBase64 string `json:"write_base64,omitempty" yaml:"write_base64,omitempty"`
	WriteStderr string `json:"write_stderr,omitempty" yaml:"write_stderr,omitempty"` // these bytes to stderr
	Pad         int    `json:"pad,omitempty" yaml:"pad,omitempty"`                   // the call's healthy answer grows to this many bytes of text, its nonce at both ends
	Split       int    `json:"split,omitempty" yaml:"split,omitempty"`               // the request's answer is written in pieces of this many bytes
	Speak       Era    `json:"speak,omitempty" yaml:"speak,omitempty"`               // this life speaks this era, whatever the script says
	Lock        bool   `json:"lock,omitempty" yaml:"lock,omitempty"`                 // take the lock that one life can have, or exit with status 1
	// KillLauncher kills (SIGKILL) the launcher that started this life, if there is one, and leaves the life alone.
	KillLauncher bool     `json:"kill_launcher,omitempty" yaml:"kill_launcher,omitempty"`
	Fill         *Fill    `json:"fill,omitempty" yaml:"fill,omitempty"` // many bytes to stdout or stderr
	Deaf         bool     `json:"deaf,omitempty" yaml:"deaf,omitempty"` // never read stdin again, stay alive
	Hang         bool     `json:"hang,omitempty" yaml:"hang,omitempty"` // read on, answer nothing any more (this life)
	CloseStdin   bool     `json:"close_stdin,omitempty" yaml:"close_stdin,omitempty"`
	CloseStdout  bool     `json:"close_stdout,omitempty" yaml:"close_stdout,omitempty"`
	HoldPipes    Duration `json:"hold_pipes,omitempty" yaml:"hold_pipes,omitempty"`   // fork a child that keeps our stdout and stderr open this long
	HoldStdin    bool     `json:"hold_stdin,omitempty" yaml:"hold_stdin,omitempty"`   // start the stdin holder: it keeps our stdin open after our death and journals late bytes
	IgnoreEOF    bool     `json:"ignore_eof,omitempty" yaml:"ignore_eof,omitempty"`   // do not exit when stdin ends
	IgnoreTERM   bool     `json:"ignore_term,omitempty" yaml:"ignore_term,omitempty"` // do not exit on SIGTERM

	// HTTP.
	Status         *Status `json:"status,omitempty" yaml:"status,omitempty"`                   // answer with this HTTP status
	Reset          bool    `json:"reset,omitempty" yaml:"reset,omitempty"`                     // RST the connection
	HangHTTP       bool    `json:"hang_http,omitempty" yaml:"hang_http,omitempty"`             // accept the request, never answer it
	ForgetSessions bool    `json:"forget_sessions,omitempty" yaml:"forget_sessions,omitempty"` // all sessions of this life are gone
}

// Reply replaces the healthy answer. Exactly one field is set.
type Reply struct {
	Text    string    `json:"text,omitempty" yaml:"text,omitempty"`         // a tool result with this text
	IsError string    `json:"is_error,omitempty" yaml:"is_error,omitempty"` // a tool result with isError and this text
	Error   *RPCError `json:"error,omitempty" yaml:"error,omitempty"`       // a JSON-RPC error
	Raw     string    `json:"raw,omitempty" yaml:"raw,omitempty"`           // this line; "{{id}}" becomes the request's id as it was written
}

// RPCError is a JSON-RPC error object.
type RPCError struct {
	Code    int64  `json:"code" yaml:"code"`
	Message string `json:"message,omitempty" yaml:"message,omitempty"`
}

// Fill writes many bytes.
type Fill struct {
	To    string `json:"to" yaml:"to"` // "stdout" or "stderr"
	Bytes int    `json:"bytes" yaml:"bytes"`
	Lines bool   `json:"lines,omitempty" yaml:"lines,omitempty"` // break into lines of 120 bytes; else one endless line
}

// Status answers an HTTP request.
type Status struct {
	Code    int               `json:"code" yaml:"code"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	Body    string            `json:"body,omitempty" yaml:"body,omitempty"`
}
