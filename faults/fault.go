// Package faults is the catalogue: every fault, how it is injected, proven to have taken effect, and lifted. One file a fault
// where it has mechanics of its own, always in the order what, inject, observed, lift, lifted. It knows the fakes and
// toxiproxy; it knows neither the target nor the oracles.
package faults

import (
	"context"
	"os"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// Transports a fault applies to.
const (
	Stdio = "stdio"
	HTTP  = "http"
)

// Info is what a fault says of itself; plain data for lists, docs and reports.
type Info struct {
	ID        string       // "child-killed-mid-call/segv"
	Class     string       // "child-killed-mid-call"
	Group     string       // "A" ... "J"
	Transport string       // Stdio or HTTP
	Eras      []script.Era // empty = both
	Title     string       // one line: what goes wrong
	Recovery  string       // one line: what a good client does
	Reports   []string     // "owner/repo#123"
	// NeedsCall: it takes effect only when a call reaches the server while it is on.
	NeedsCall bool
	// OfLife: it belongs to the life it hit and stays on it (frozen for good, half-closed, deaf). It is lifted when the *next* life would be
	// healthy; the target's part is to replace the process.
	OfLife bool
	// Loud: what it does shows at once to whoever looks: an exit status, EOF, RST, an HTTP status, an odd line. Of a fault that is
	// not loud only a timeout or a missed liveness probe tells, and recovery budgets allow for those.
	Loud bool
	// OneLife: it hits one life or session and a new one is healthy at once, so a target cannot use up its quick retries while it
	// is on. Of other faults recovery budgets allow for a target that has parked.
	OneLife bool
	// Proxied: the server must stand behind toxiproxy.
	Proxied bool
	// Launcher is the kind of launcher that the server must have: script.Wrapper or script.Container; empty for none.
	Launcher string
	// AskEra: the target must not be told which era the server speaks.
	AskEra bool
	// Rules are added to the server's script before anything starts. They name phase "fault" so that they sleep until then.
	Rules []script.Rule
}

// Fault is one thing that goes wrong. The five methods are always called in this order by a Guard, each at most once. They are
// safe for use on several Sites at once: a Fault holds no state, State of one injection lives in the Site.
type Fault interface {
	// What describes it.
	What() Info
	// Inject turns it on. It returns when the injection is done, which may be before it takes effect.
	Inject(ctx context.Context, s Site) error
	// Observed waits until it has taken effect on the life that matters, as seen by the other side, and returns the evidence in one line.
	// It monitors and changes nothing.
	Observed(ctx context.Context, s Site) (evidence string, err error)
	// Lift turns it off.
	Lift(ctx context.Context, s Site) error
	// Lifted waits until it is certainly off: the live instance acknowledges, or is dead. It changes nothing.
	Lifted(ctx context.Context, s Site) error
}

// Process is one life of a fake.
type Process struct {
	Pid   int
	Start uint64
	Life  int
}

// Site is the one server of a lab that a fault is injected into, as the lab offers it to the fault.
type Site interface {
	// Server is its name in the scenario.
	Server() string
	// Serving is the life that answered the latest baseline call.
	Serving(ctx context.Context) (Process, error)
	// Latest is the youngest life that was ever spawned for the target.
	Latest() (Process, error)
	// SetPhase writes the phase for lives to come, tells the live ones, and returns when each of them has acknowledged or is dead.
	// A stopped life is not waited for.
	SetPhase(ctx context.Context, p script.Phase) error
	// Do lets the serving life act now and waits for the acknowledgement, or for the process's death.
	Do(ctx context.Context, a script.Action) error
	// Signal sends a signal to a life of this server and to nothing else; it checks pid and start time first.
	Signal(p Process, sig os.Signal) error
	// AwaitGone waits until the process is dead (a zombie counts as dead).
	AwaitGone(ctx context.Context, p Process) error
	// AwaitStopped waits until the kernel reports the process as stopped (state T).
	AwaitStopped(ctx context.Context, p Process) error
	// AwaitRunning waits until it is no longer stopped.
	AwaitRunning(ctx context.Context, p Process) error
	// AwaitEntry waits for a journal entry of this server (target's role) written at or after the injection for which match is true.
	AwaitEntry(ctx context.Context, match func(journal.Entry) bool) (journal.Entry, error)
	// Wire is the proxied connection; nil unless the server is proxied.
	Wire() Wire
}

// Wire drives the toxiproxy proxy in front of one HTTP server.
type Wire interface {
	// Vanish makes every flow that exists now disappear: bytes are swallowed, nobody gets a FIN or RST. New flows are not touched.
	// What it swallows is journalled as journal.Wire entries.
	Vanish(ctx context.Context) error
	// AddToxic adds a toxic of toxiproxy or of ours.
	AddToxic(ctx context.Context, typ, stream string, attrs map[string]any) error
	// Down refuses connections and cuts the present ones; Up serves again on the same address.
	Down(ctx context.Context) error
	Up(ctx context.Context) error
	// Heal replaces the proxy by a fresh one on the same address. Toxics are never removed one by one, since removal can
	// hang (Shopify/toxiproxy#412).
	Heal(ctx context.Context) error
}
