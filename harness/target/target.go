// Package target knows how to start a system under test and how to talk to it. A target is always a process of its own.
//
// A Profile says how to run it and what it promises: Resolve finds one by name or file, Start runs it, the Session talks to it.
// It imports the driver protocol and the keeper; it knows no scenario, no fault and no oracle. A newcomer most often adds a
// field to Profile, or a declared wait to Timings.
package target

import (
	"context"
	"encoding/json"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/driver"
)

// Profile says how to run a target and what it promises. It is a Go value and a YAML file (kind: driver).
type Profile struct {
	Name    string `json:"name" yaml:"name"`
	Kind    string `json:"kind" yaml:"kind"` // "driver"
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
	Title   string `json:"title,omitempty" yaml:"title,omitempty"` // one line for people
	// Command is the program and its arguments; "{{unwedge}}" is this program, "{{here}}" the folder of the profile's file. Its
	// working directory is one of the lab's. Env values know the same words.
	Command []string          `json:"command" yaml:"command"`
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	Eras    []script.Era      `json:"eras,omitempty" yaml:"eras,omitempty"` // empty = both
	// Timings that are in force in the target. nil: none are declared, so no bound is known and nothing can be called "wedged"
	// or "slow"; not coming back is then "not-recovered".
	Timings *Timings `json:"timings,omitempty" yaml:"timings,omitempty"`
	// Spawns is when the target starts a stdio server: "per-server" (default), "per-session", "per-request".
	Spawns string `json:"spawns,omitempty" yaml:"spawns,omitempty"`
	// Transports it can connect to; empty = both.
	Transports []string `json:"transports,omitempty" yaml:"transports,omitempty"`
	// Supports is filled from the driver's answer to configure when empty.
	Supports []string `json:"supports,omitempty" yaml:"supports,omitempty"`
	// BuiltIn marks the built-in supervisor: findings in a twin are a defect of ours, error kinds are judged.
	BuiltIn bool `json:"-" yaml:"-"`
	// File is where it was read from, empty for the built-in ones.
	File string `json:"-" yaml:"-"`
}

// KindDriver is a target that speaks the driver protocol.
const KindDriver = "driver"

// Timings are what the target declares about itself; budgets are sums of them. They are handed to a driver as driver.Settings too.
type Timings struct {
	Call           script.Duration `json:"call" yaml:"call"`
	Connect        script.Duration `json:"connect" yaml:"connect"`
	Cooldown       script.Duration `json:"cooldown,omitempty" yaml:"cooldown,omitempty"`
	Strikes        int             `json:"strikes,omitempty" yaml:"strikes,omitempty"`
	ProbeLease     script.Duration `json:"probe_lease,omitempty" yaml:"probe_lease,omitempty"`
	BackoffMin     script.Duration `json:"backoff_min,omitempty" yaml:"backoff_min,omitempty"`
	BackoffMax     script.Duration `json:"backoff_max,omitempty" yaml:"backoff_max,omitempty"`
	Retries        int             `json:"retries,omitempty" yaml:"retries,omitempty"`
	ParkedRetry    script.Duration `json:"parked_retry,omitempty" yaml:"parked_retry,omitempty"`
	DemandInterval script.Duration `json:"demand_interval,omitempty" yaml:"demand_interval,omitempty"`
	Liveness       script.Duration `json:"liveness,omitempty" yaml:"liveness,omitempty"` // 0 = no probes
	LivenessMisses int             `json:"liveness_misses,omitempty" yaml:"liveness_misses,omitempty"`
	StopGrace      script.Duration `json:"stop_grace,omitempty" yaml:"stop_grace,omitempty"`
}

// Session is a running target. Methods are safe for concurrent use; each honours its context; none blocks after the target's exit.
type Session interface {
	Call(ctx context.Context, server, tool string, args json.RawMessage, timeout time.Duration) (*driver.Result, *driver.Error)
	List(ctx context.Context) ([]driver.Tool, *driver.Error)
	Status(ctx context.Context) ([]driver.ServerStatus, *driver.Error)
	Reconnect(ctx context.Context, server string) *driver.Error
	// Close asks for an orderly stop and waits for the process to end.
	Close(ctx context.Context) *driver.Error
	// Kill ends the process itself with SIGKILL; what it has started may live on.
	Kill() error
	Supports(what string) bool
	Info() driver.Info
	Pid() int
	// Exited is closed when the process has ended; ExitStatus is meaningful then.
	Exited() <-chan struct{}
	ExitStatus() string
	StderrTail() string
}
