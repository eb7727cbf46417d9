// Package driver is the protocol between the harness and a target that wraps an MCP client library: JSON lines on the
// target's stdin and stdout. The harness sends one Request a line; the target answers each with one Response that carries the
// same id, in any order, and may send Response lines with id 0 that hold an Event at any time. stderr is free text.
//
// The harness opens with "configure" (servers and settings) and ends with "close". Calls overlap: a target must not make one
// wait for another. When stdin ends the target stops its servers and exits.
package driver

import "encoding/json"

// Version of the protocol; a target answers "configure" with the version it speaks.
const Version = 1

// Ops.
const (
	OpConfigure = "configure" // Config -> Response.Info
	OpList      = "list"      // -> Response.Tools: all tools of all servers that the target would offer now
	OpCall      = "call"      // Server, Tool, Args, TimeoutMS -> Response.Result or Response.Error
	OpStatus    = "status"    // optional -> Response.Servers
	OpReconnect = "reconnect" // optional; Server -> ok when a fresh session is up
	OpClose     = "close"     // -> ok when everything it started is gone; then the target exits
)

// Request is one line to the target.
type Request struct {
	ID        int64           `json:"id"`
	Op        string          `json:"op"`
	Config    *Config         `json:"config,omitempty"`
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	TimeoutMS int64           `json:"timeout_ms,omitempty"` // the caller's own deadline for this call; 0 = the configured call timeout
}

// Config tells the target what to connect to.
type Config struct {
	Servers  []Server `json:"servers"`
	Era      string   `json:"era,omitempty"` // "legacy" or "modern": pin the revision; empty = negotiate
	Settings Settings `json:"settings"`
}

// Server is one MCP server, in the words of the field's mcpServers files.
type Server struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Settings are the timings that a target should use where it has such knobs; 0 = its own default. A target without a
// knob ignores it; its profile then declares what is in force.
type Settings struct {
	CallTimeoutMS    int64 `json:"call_timeout_ms,omitempty"`
	ConnectTimeoutMS int64 `json:"connect_timeout_ms,omitempty"`
	CooldownMS       int64 `json:"cooldown_ms,omitempty"`
	Strikes          int   `json:"strikes,omitempty"`
	BackoffMinMS     int64 `json:"backoff_min_ms,omitempty"`
	BackoffMaxMS     int64 `json:"backoff_max_ms,omitempty"`
	Retries          int   `json:"retries,omitempty"` // quick retries before parking
	ParkedRetryMS    int64 `json:"parked_retry_ms,omitempty"`
	DemandIntervalMS int64 `json:"demand_interval_ms,omitempty"`
	LivenessMS       int64 `json:"liveness_ms,omitempty"` // -1 = no liveness probes at all
	LivenessMisses   int   `json:"liveness_misses,omitempty"`
	StopGraceMS      int64 `json:"stop_grace_ms,omitempty"`
}

// Response is one line from the target.
type Response struct {
	ID      int64          `json:"id"`
	OK      bool           `json:"ok"`
	Error   *Error         `json:"error,omitempty"`
	Info    *Info          `json:"info,omitempty"`
	Tools   []Tool         `json:"tools,omitempty"`
	Result  *Result        `json:"result,omitempty"`
	Servers []ServerStatus `json:"servers,omitempty"`
	Event   *Event         `json:"event,omitempty"`
}

// Info answers "configure".
type Info struct {
	Protocol int      `json:"protocol"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Supports []string `json:"supports,omitempty"` // of "status", "reconnect", "events"
}

// Error kinds that a target may name. An unknown or empty kind is read as "other". The harness's oracles never depend on a kind
// for a foreign target; they do for the built-in one.
const (
	KindTransport = "transport"
	KindSession   = "session-gone"
	KindAuth      = "auth"
	KindRate      = "rate-limited"
	KindProtocol  = "protocol"
	KindTool      = "tool"
	KindCancelled = "cancelled"
	KindTimeout   = "timeout"
	KindOpen      = "breaker-open"
	KindNoSession = "no-session"
	KindClosed    = "closed"
	KindOther     = "other"
)

// Outcomes of a failed call.
const (
	OutcomeNotSent  = "not-sent" // certainly had no effect
	OutcomeUnknown  = "unknown"  // may have had an effect
	OutcomeAnswered = "answered" // the server answered, and the answer is the failure
)

// Error says why an op failed.
type Error struct {
	Kind         string `json:"kind,omitempty"`
	Message      string `json:"message"`
	Outcome      string `json:"outcome,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
}

// Tool is one tool that the target offers.
type Tool struct {
	Server string `json:"server"`
	Name   string `json:"name"`
}

// Result is a tool result: the text contents, joined, and whether the tool itself reported an error.
type Result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// ServerStatus is what the target believes about one server.
type ServerStatus struct {
	Name  string `json:"name"`
	State string `json:"state"` // the target's own word
	Tools int    `json:"tools"`
	Pid   int    `json:"pid,omitempty"`
}

// Event is something that happened in the target: a state change, tools withdrawn or listed.
type Event struct {
	Server string `json:"server"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}
