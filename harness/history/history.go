// Package history holds the one ordered record of a run: calls, fault windows, journal entries, target events, ladder rungs.
// Everything that is judged later is in it; oracles read nothing else. On disk it is history.jsonl, one Event a line.
package history

import (
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/internal/mono"
)

// Kind says what an Event records.
type Kind string

const (
	RunStart   Kind = "run-start"
	RunEnd     Kind = "run-end"
	TargetGo   Kind = "target-go"   // the target is being started; what is spawned from here on is this start's doing
	TargetUp   Kind = "target-up"   // configured and answering (Pid)
	TargetExit Kind = "target-exit" // Detail is the status; Expected when we asked for it
	TargetHit  Kind = "target-hit"  // a step did something to the target's process: Detail is the word, "sigstop"; it has taken effect
	Baseline   Kind = "baseline"    // OK, Detail
	StepBegin  Kind = "step-begin"  // Step is its index, Detail its text
	StepEnd    Kind = "step-end"    // OK, Detail
	CallBegin  Kind = "call-begin"  // Call, Server, Tool, Nonce, Load
	CallEnd    Kind = "call-end"    // Call, OK, Text (clipped), Err, NonceOK, D
	ListEnd    Kind = "list-end"    // Tools that the target offers, D, or Err
	Inject     Kind = "inject"      // Fault, Server: the injection was done
	Observed   Kind = "observed"    // Fault, Server: it was seen to have taken effect; Detail is the evidence
	Lift       Kind = "lift"        // Fault, Server
	Lifted     Kind = "lifted"      // Fault, Server: from here on the world is healthy
	FaultError Kind = "fault-error" // Fault, Detail: it could not be injected, observed or lifted
	Control    Kind = "control"     // OK, D: the control's call
	Tick       Kind = "tick"        // metronome: D is the lateness of a timer
	Spawned    Kind = "spawned"     // metronome: D is how long a control spawn took to its first good call
	Rung       Kind = "rung"        // recovery ladder: Rung, Server
	Good       Kind = "good"        // K good calls in a row on Server at this rung
	Journal    Kind = "journal"     // Entry
	Target     Kind = "target"      // TargetEvent
	Status     Kind = "status"      // Servers: what the target says of itself
	Leftover   Kind = "leftover"    // a process of the target's tree that was still alive after close: Pid, Detail its command line
	Resources  Kind = "resources"   // FDs, RSS, Procs of the target, Pid; Detail says when ("baseline", "after")
	CloseEnd   Kind = "close-end"   // D, OK: the target's close
	Stderr     Kind = "stderr"      // Text: the tail of the target's stderr
	Stall      Kind = "stall"       // D: the machine stood still
	Interrupt  Kind = "interrupt"   // the run was cut short by the user
)

// Rungs of the recovery ladder, from the best to the worst.
const (
	RungLoad    = "load"        // steady probe load
	RungQuiet   = "quiet"       // after a pause in traffic
	RungSession = "new-session" // a new front session
	RungPoke    = "poke"        // a manual reconnect
	RungRestart = "restart"     // a fresh target process
)

// Load names why a call was made.
const (
	LoadBaseline  = "baseline"  // before the fault
	LoadStep      = "step"      // a step of the scenario
	LoadBystander = "bystander" // steady calls to servers without a fault
	LoadProbe     = "probe"     // the recovery ladder
	LoadExtra     = "extra"     // anything the lab adds for an oracle
)

// Event is one line of the history. T is on the machine's monotonic clock; events are sorted by it before they are judged.
type Event struct {
	T        mono.Time             `json:"t"`
	Kind     Kind                  `json:"kind"`
	Server   string                `json:"server,omitempty"`
	Tool     string                `json:"tool,omitempty"`
	Call     int64                 `json:"call,omitempty"`
	Nonce    string                `json:"nonce,omitempty"`
	Load     string                `json:"load,omitempty"`
	Want     string                `json:"want,omitempty"` // CallBegin: what the step expects: "ok", "error", "any"
	Fast     bool                  `json:"fast,omitempty"` // CallBegin: an error must come fast, not at the call timeout
	Timeout  int64                 `json:"timeout_ns,omitempty"`
	OK       bool                  `json:"ok,omitempty"`
	NonceOK  bool                  `json:"nonce_ok,omitempty"` // CallEnd: the answer was this call's own
	Text     string                `json:"text,omitempty"`
	IsError  bool                  `json:"is_error,omitempty"`
	Err      *driver.Error         `json:"err,omitempty"`
	D        int64                 `json:"d_ns,omitempty"`
	Step     int                   `json:"step,omitempty"`
	Fault    string                `json:"fault,omitempty"`
	Rung     string                `json:"rung,omitempty"`
	Pid      int                   `json:"pid,omitempty"`
	Expected bool                  `json:"expected,omitempty"`
	Detail   string                `json:"detail,omitempty"`
	Tools    []driver.Tool         `json:"tools,omitempty"`
	Servers  []driver.ServerStatus `json:"servers,omitempty"`
	FDs      int                   `json:"fds,omitempty"`
	RSS      int64                 `json:"rss,omitempty"`
	Procs    int                   `json:"procs,omitempty"` // living processes that descend from the target, whoever their parent is now
	Entry    *journal.Entry        `json:"entry,omitempty"`
	Target   *driver.Event         `json:"target,omitempty"`
}
