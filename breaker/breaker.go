package breaker

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Config. The strikes and the cooldown are those of the field's best-known
// MCP client, so that its users recognise them.
const (
	DefaultFailures   = 3
	DefaultCooldown   = 60 * time.Second
	DefaultProbes     = 1
	DefaultSuccesses  = 1
	DefaultProbeLease = 300 * time.Second // the default call timeout
)

// Config says when a breaker opens and closes. The zero value means the defaults.
// Negative values are errors, see [Config.Validate].
type Config struct {
	// Failures is the number of consecutive strikes that opens a closed breaker.
	// A success in between starts the count anew, whenever its call began: what
	// counts is the order in which results come in. 0 means 3.
	Failures int

	// Cooldown is how long an open breaker rejects everything, counted from the
	// moment it opened. 0 means 60 s.
	Cooldown time.Duration

	// Probes is how many unexpired probes may be out at once while half-open.
	// 0 means 1.
	Probes int

	// Successes is how many probes of one half-open period must succeed to close
	// the breaker. One failure opens it again. 0 means 1.
	Successes int

	// ProbeLease is how long a probe keeps its slot without being settled. It must
	// be at least the timeout of a call: if it is shorter, a slow call and its
	// replacement load the server together. 0 means 300 s.
	ProbeLease time.Duration

	// OnChange, if set, is told of every change of state. Calls come one at a time,
	// in order, outside any lock, on a goroutine that is using the breaker (not
	// always the one that caused the change). It may call every method, Reset,
	// Trip and Allow included; changes made from inside are told after it returns.
	// It should be quick: while it runs, later changes wait, though no caller does.
	OnChange func(Change)
}

// Validate reports the first setting that is negative.
func (c Config) Validate() error {
	for _, setting := range []struct {
		name  string
		value int64
	}{
		{"Failures", int64(c.Failures)},
		{"Cooldown", int64(c.Cooldown)},
		{"Probes", int64(c.Probes)},
		{"Successes", int64(c.Successes)},
		{"ProbeLease", int64(c.ProbeLease)},
	} {
		if setting.value < 0 {
			return fmt.Errorf("breaker: Config.%s is negative (%d)", setting.name, setting.value)
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Failures = orDefault(c.Failures, DefaultFailures)
	c.Cooldown = orDefault(c.Cooldown, DefaultCooldown)
	c.Probes = orDefault(c.Probes, DefaultProbes)
	c.Successes = orDefault(c.Successes, DefaultSuccesses)
	c.ProbeLease = orDefault(c.ProbeLease, DefaultProbeLease)
	return c
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Breaker is a circuit breaker, see the package documentation. Make one with New and
// do not copy it. All methods may be called by any number of goroutines.
type Breaker struct {
	config Config
	base   time.Time // all times inside are monotonic durations since then

	// The period the breaker is in. Read without lock, changed with mu held.
	current atomic.Pointer[period]

	// What allow answers instead of a permit, made once so that a rejection does
	// not allocate.
	errOpen, errHalfOpen *OpenError

	// mu guards transitions, the inside of half-open periods, and what follows. A
	// section that may have changed the state ends with unlock, which tells OnChange.
	mu       sync.Mutex
	opened   uint64
	rejected *stripedCounter // nil until the first opening
	changes  []Change        // not yet told
	telling  bool            // some goroutine is telling OnChange
}

// New returns a closed breaker. It panics if config is not valid: a negative limit is
// a mistake in the program. Check settings that come from users with Config.Validate.
func New(config Config) *Breaker {
	if err := config.Validate(); err != nil {
		panic(err)
	}
	b := &Breaker{config: config.withDefaults(), base: time.Now()}
	b.errOpen = &OpenError{breaker: b, state: Open}
	b.errHalfOpen = &OpenError{breaker: b, state: HalfOpen}
	b.current.Store(newClosed(b))
	return b
}

// Allow asks to make a call. It never blocks. The error is an *OpenError: the breaker
// is open, or half-open with all probes out. Otherwise the permit must be settled with
// the call's result; a permit that is never settled does no lasting harm (BRK-1).
func (b *Breaker) Allow() (Permit, error) {
	return b.current.Load().allow()
}

// State returns the state the breaker is in. Looking does not change it: an open
// breaker whose cooldown is over stays Open until the next Allow.
func (b *Breaker) State() State {
	return b.current.Load().kind()
}

// Reset closes the breaker, whatever its state, and forgets all strikes. Results of
// permits granted before it change nothing (BRK-2). OnChange is told unless the
// breaker was closed already.
func (b *Breaker) Reset() {
	b.mu.Lock()
	b.enter(Closed, ReasonReset)
	b.unlock()
}

// Trip opens the breaker for one cooldown. If it is open already, Trip does nothing:
// it never extends a cooldown (BRK-5), not even one that is over and waits for the
// next Allow.
func (b *Breaker) Trip() {
	b.mu.Lock()
	if b.State() != Open {
		b.enter(Open, ReasonTrip)
	}
	b.unlock()
}

// Counts is a snapshot for status displays.
type Counts struct {
	State      State
	Strikes    int           // consecutive, of this closed period; 0 in other states
	ProbesOut  int           // unexpired and unsettled, of this half-open period
	Opened     uint64        // how often it opened, for any reason, since New
	Rejected   uint64        // calls rejected since New
	RetryAfter time.Duration // until the next permit can be had; 0 if now
}

// Counts returns a snapshot. It takes the lock; callers on the fast path are not
// disturbed by it.
func (b *Breaker) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.current.Load()
	c := Counts{State: p.kind(), Opened: b.opened, RetryAfter: p.retryAfter()}
	if b.rejected != nil {
		c.Rejected = b.rejected.sum()
	}
	p.count(&c)
	return c
}

// now is the monotonic time since the breaker was made.
func (b *Breaker) now() time.Duration { return time.Since(b.base) }

// move goes on to the next state unless the period is over already: of several
// results that would end a period the first one does.
func (b *Breaker) move(from *period, to State, why Reason) {
	b.mu.Lock()
	if b.current.Load() == from {
		b.enter(to, why)
	}
	b.unlock()
}

// enter starts a new period, also when the state stays the same. The lock is held.
func (b *Breaker) enter(to State, why Reason) {
	change := Change{From: b.State(), To: to, Reason: why, At: time.Now()}
	switch to {
	case Closed:
		b.current.Store(newClosed(b))
	case Open:
		b.opened++
		if b.rejected == nil {
			b.rejected = new(stripedCounter)
		}
		b.current.Store(newOpen(b, change.At.Sub(b.base)))
	case HalfOpen:
		b.current.Store(newHalfOpen(b))
	}
	if change.From != change.To && b.config.OnChange != nil {
		b.changes = append(b.changes, change)
	}
}
