// Package scenario is what a run does, as plain data: servers, steps, what is expected. A Go value and a YAML file are the same
// thing. It imports the script language and nothing that starts a process.
package scenario

import (
	"github.com/unwedge/unwedge/fakeservers/script"
)

// Scenario is one run's plan.
type Scenario struct {
	// ID is the fault's id for catalogue scenarios ("child-killed-mid-call/segv"), the file's name without ending for files.
	ID string `json:"id,omitempty" yaml:"id,omitempty"`
	// Class is a row of the catalogue's classes; empty takes the part of ID before the slash when that is a class.
	Class string `json:"class,omitempty" yaml:"class,omitempty"`
	// Title is one line for people.
	Title string `json:"title,omitempty" yaml:"title,omitempty"`
	// Reports are public reports of the same symptom, "owner/repo#123".
	Reports []string `json:"reports,omitempty" yaml:"reports,omitempty"`
	// Eras it applies to; empty is both.
	Eras []script.Era `json:"eras,omitempty" yaml:"eras,omitempty"`
	// Servers by name. At least one.
	Servers map[string]Server `json:"servers" yaml:"servers"`
	Steps   []Step            `json:"steps" yaml:"steps"`
	// Expect is the best recovery class that passes: "recovered" (default) or another of the ladder.
	Expect string `json:"expect,omitempty" yaml:"expect,omitempty"`
	// Spawns is the most spawns of the faulted servers that are allowed in the whole run; 0 takes the bound of the
	// target's declared backoff schedule.
	Spawns int `json:"spawns,omitempty" yaml:"spawns,omitempty"`
	// NoRespawn says that the fault gives no reason to replace the session: the spawn count of every server stays 1.
	NoRespawn bool `json:"no_respawn,omitempty" yaml:"no_respawn,omitempty"`
	// Settings override the target's scaled timings for this scenario, in the words of driver.Settings ("liveness_ms: -1").
	Settings map[string]int64 `json:"settings,omitempty" yaml:"settings,omitempty"`
	// AskEra leaves it to the target to find out which era the servers speak; otherwise it is told.
	AskEra bool `json:"ask_era,omitempty" yaml:"ask_era,omitempty"`
	// Needs are things the target must support, else the scenario is not applicable: "reconnect", "status", "events", "stdio", "http".
	Needs []string `json:"needs,omitempty" yaml:"needs,omitempty"`
	// File is where it was read from; empty for Go values.
	File string `json:"-" yaml:"-"`
}

// Server is one fake. In YAML the short form is just the transport: "srv: stdio".
type Server struct {
	Transport string `json:"transport" yaml:"transport"` // "stdio" or "http"
	// Launcher puts a process between the target and a stdio server: "wrapper" (npx, uvx, sh -c) waits for the server and passes no
	// signal on; "container" (docker run -i) has it in a session of its own, where only the end of stdin reaches it.
	Launcher string        `json:"launcher,omitempty" yaml:"launcher,omitempty"`
	Proxy    bool          `json:"proxy,omitempty" yaml:"proxy,omitempty"` // put it behind toxiproxy (http; set by itself when a wire fault is injected)
	Script   script.Script `json:"script,omitzero" yaml:"script,omitempty"`
}

// Step is one thing to do. Exactly one verb (Call, Inject, Kill, Lift, Wait, Reconnect, ListTools, Seen, Await, Target) is set.
type Step struct {
	// Call is "server.tool". echo and effect get a fresh nonce each.
	Call     string         `json:"call,omitempty" yaml:"call,omitempty"`
	Args     map[string]any `json:"args,omitempty" yaml:"args,omitempty"`
	Times    int            `json:"times,omitempty" yaml:"times,omitempty"`       // one after another; 0 = once
	Parallel int            `json:"parallel,omitempty" yaml:"parallel,omitempty"` // this many at once (each Times)
	Expect   string         `json:"expect,omitempty" yaml:"expect,omitempty"`     // "ok" (default), "error", "any"
	Fast     bool           `json:"fast,omitempty" yaml:"fast,omitempty"`         // a failure must come within the fast bound
	Async    bool           `json:"async,omitempty" yaml:"async,omitempty"`       // do not wait for the answers; they are awaited at the end of the steps
	// Pad adds an argument "text" of this many bytes to every call, to fill pipes and buffers. It may not be set together with Args["text"].
	Pad int `json:"pad,omitempty" yaml:"pad,omitempty"`
	// Timeout is the caller's deadline; empty is the target's call timeout.
	Timeout script.Duration `json:"timeout,omitempty" yaml:"timeout,omitempty"`

	// Inject is a fault's id; On is the server (may be left out when there is only one). Injecting a fault adds its rules to the
	// server's script before anything starts. On belongs to Lift and Await as well.
	Inject string `json:"inject,omitempty" yaml:"inject,omitempty"`
	// Before is "start" for a fault that is on before the target is started, so that the target has never known the server otherwise. Its
	// server takes no part in the baseline. Only the first steps of a scenario can say so.
	Before string `json:"before,omitempty" yaml:"before,omitempty"`
	On     string `json:"on,omitempty" yaml:"on,omitempty"`
	// Kill is short for injecting faults.Kill (child-dies-idle/sigkill) on this server, seeing it dead and lifting it: the
	// next life is healthy.
	Kill string `json:"kill,omitempty" yaml:"kill,omitempty"`
	// Await is "observed": wait until the fault that is on has taken effect (before Lift this happens by itself).
	Await string `json:"await,omitempty" yaml:"await,omitempty"`
	// Lift is a fault's id. A fault still on after the last step is lifted then.
	Lift string `json:"lift,omitempty" yaml:"lift,omitempty"`
	// Wait is a duration, or a word for one that the target's profile declares: see WaitCooldown and its neighbours.
	Wait string `json:"wait,omitempty" yaml:"wait,omitempty"`
	// Reconnect is a server's name: ask the target for a manual reconnect.
	Reconnect string `json:"reconnect,omitempty" yaml:"reconnect,omitempty"`
	// ListTools is a server's name: list, and compare with Tools: "all" (its tools are offered), "none" (withdrawn), "any".
	ListTools string `json:"list_tools,omitempty" yaml:"list_tools,omitempty"`
	Tools     string `json:"tools,omitempty" yaml:"tools,omitempty"`
	// Seen is a server's name: count what it read, or what the target said of it, since the last step that counted the same, else since
	// the first injection. Method is what the server read ("tools/list", or "answer" for a client's answer to a request of its own), Event the kind of a target's event
	// ("tools-withdrawn"); one of the two is set. Least is waited for, for a moment; Most is not. At least one of them is set.
	Seen   string `json:"seen,omitempty" yaml:"seen,omitempty"`
	Method string `json:"method,omitempty" yaml:"method,omitempty"`
	Event  string `json:"event,omitempty" yaml:"event,omitempty"`
	Least  int    `json:"least,omitempty" yaml:"least,omitempty"`
	Most   *int   `json:"most,omitempty" yaml:"most,omitempty"` // nil = any number

	// Target does something to the target's own process: see TargetKill and its neighbours. What it leaves behind when it ends is looked
	// for at once; Expect "any" says that this time nothing of that is held against it. A target that was ended is started
	// again by TargetRestart, or at the end of the steps.
	Target string `json:"target,omitempty" yaml:"target,omitempty"`
}

// Words of Step.Wait. Each names a time that the target's profile declares (or that Scenario.Settings overrides).
const (
	// WaitCooldown is the breaker's cooldown: after it an open breaker lets a probe through.
	WaitCooldown = "cooldown"
	// WaitBackoff is the longest pause between two quick retries.
	WaitBackoff = "backoff"
	// WaitLiveness is the time after which a silent server must have been found out: the liveness interval times one more
	// than the misses that are forgiven.
	WaitLiveness = "liveness"
	// WaitBudget is the time after which the quick retries of a server that dies at once are used up and the target has parked it: the
	// sum of the whole backoff schedule at its longest jitter, and a process start for each retry.
	WaitBudget = "budget"
	// WaitParked is one slow retry of a parked server: the parked retry interval and one connect.
	WaitParked = "parked"
)

// Words of Step.Target.
const (
	TargetKill    = "sigkill" // it is killed: what it started must end by itself
	TargetHangup  = "sighup"  // its terminal is closed
	TargetTerm    = "sigterm" // its service manager stops it
	TargetStop    = "sigstop" // it is frozen, as by a laptop's lid, until TargetCont
	TargetCont    = "sigcont" // it goes on
	TargetClose   = "close"   // it is closed in order
	TargetRestart = "restart" // it is closed in order, unless it has ended, and started again
)

// Words of Step.Expect.
const (
	ExpectOK    = "ok"    // the default
	ExpectError = "error" // it must fail
	ExpectAny   = "any"   // either, but an answer must come
)

// Words of Step.Tools.
const (
	ToolsAll  = "all"  // the server's tools are offered
	ToolsNone = "none" // they are withdrawn
	ToolsAny  = "any"  // the default: listing must work
)

// BeforeStart is the one word of Step.Before.
const BeforeStart = "start"

// AwaitObserved is the one word of Step.Await.
const AwaitObserved = "observed"
