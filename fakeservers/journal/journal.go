// Package journal is what a fake server saw: spawns, requests, executions, signals, end of file. It is an append-only
// file of JSON lines that outlives the fake's death by any signal and is written by several processes at once.
package journal

import (
	"github.com/unwedge/unwedge/internal/mono"
)

// Kind says what an entry records.
type Kind string

const (
	Spawn    Kind = "spawn"    // a life began
	Request  Kind = "request"  // a request or notification was read (Method, Tool, Nonce, ID, Bytes)
	Executed Kind = "executed" // a tool ran to its effect; Nonce names which
	Replied  Kind = "replied"  // the answer to Method/Tool/Nonce was written completely
	Rule     Kind = "rule"     // a script rule fired; Rule names it, Detail says what it did
	PhaseSet Kind = "phase"    // this life learned of a new phase and acts on it
	Ack      Kind = "ack"      // a control command took effect; Detail is the command
	EOF      Kind = "eof"      // stdin ended
	Signal   Kind = "signal"   // Detail is the signal's name
	Exit     Kind = "exit"     // about to exit by own will; Code is the status
	Late     Kind = "late"     // the stdin holder read Bytes bytes that were written to a dead server; with Detail LateUnread they were there already
	Child    Kind = "child"    // the fake started a process of its own on purpose (Child, ChildStart); Detail says which: "pipe-holder" or "stdin-holder"
	Session  Kind = "session"  // HTTP: a session began (Detail "open"), ended ("close") or was forgotten ("forget")
	HTTP     Kind = "http"     // HTTP: an answer was sent: Code is the status, Detail "GET", "POST", "DELETE" or a fault's name
	Wire     Kind = "wire"     // a toxic acted on a flow: Detail says what, Bytes how many were swallowed
)

// LateUnread is the Detail of the Late entry for bytes that lay in the pipe, written and not read, when the server died. They
// accuse nobody: the server may have died between the write and its read.
const LateUnread = "unread at death"

// Entry is one line. Secrets never get in: no header values, no tokens, no session ids, no environment values.
type Entry struct {
	T      mono.Time `json:"t"`
	Kind   Kind      `json:"kind"`
	Server string    `json:"server"`         // the name the lab gave it
	Role   string    `json:"role,omitempty"` // "" target's, "control" the control's
	Pid    int       `json:"pid"`
	Start  uint64    `json:"start,omitempty"` // start time of the process in clock ticks since boot, 0 where unknown: pid+start is one process
	Life   int       `json:"life"`            // counted from 1 over all processes of the state folder
	Method string    `json:"method,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Nonce  string    `json:"nonce,omitempty"` // arguments.nonce of the call, when a string
	ID     string    `json:"id,omitempty"`    // JSON-RPC id as written
	Era    string    `json:"era,omitempty"`   // on Request: "modern" when the request carries modern _meta, else "legacy"
	Rule   string    `json:"rule,omitempty"`
	Phase  string    `json:"phase,omitempty"`
	Code   int       `json:"code,omitempty"`
	Bytes  int       `json:"bytes,omitempty"`
	Detail string    `json:"detail,omitempty"`
	// Child and ChildStart name the process of a Child entry.
	Child      int    `json:"child,omitempty"`
	ChildStart uint64 `json:"child_start,omitempty"`
}
