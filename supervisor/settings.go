package supervisor

import (
	"fmt"
	"runtime"
	"time"
)

// Defaults of Settings. Where the field's best-known MCP client has the same knob, the
// value is its, so that users recognise it (hermes-agent: 3 strikes, 60 s cooldown, backoff
// 1 s to 60 s, 5 retries, parked retry 300 s, liveness 180 s, call 300 s, connect 60 s).
const (
	DefaultCallTimeout    = 300 * time.Second
	DefaultConnectTimeout = 60 * time.Second
	DefaultProbeTimeout   = 5 * time.Second
	DefaultBackoffMin     = 1 * time.Second
	DefaultBackoffMax     = 60 * time.Second
	DefaultRetries        = 5
	DefaultParkedRetry    = 300 * time.Second
	DefaultDemandInterval = 5 * time.Second
	DefaultLiveness       = 180 * time.Second
	DefaultLivenessMisses = 3
	DefaultStrikes        = 3
	DefaultCooldown       = 60 * time.Second
	DefaultStopGrace      = 2 * time.Second
	DefaultProvenAfter    = 60 * time.Second
	DefaultHungAfter      = 2
	DefaultMaxQueue       = 16 << 20
	DefaultWriteTimeout   = 30 * time.Second
	DefaultMaxLine        = 16 << 20 // go-sdk's own cap of a frame
	DefaultStderrTail     = 8 << 10
)

// Settings are the timings and limits of one supervisor. The zero value of every field
// means its default.
type Settings struct {
	// CallTimeout bounds every call, whatever the caller's context says. 300 s.
	CallTimeout time.Duration
	// ConnectTimeout bounds one attempt: start, handshake and first tools/list. 60 s.
	ConnectTimeout time.Duration
	// ProbeTimeout bounds the modern handshake's server/discover; after it the same process
	// is offered the legacy handshake. 5 s, and at most half of ConnectTimeout.
	ProbeTimeout time.Duration

	// BackoffMin and BackoffMax bound the wait before a retry. The first retry after the
	// death of a session is immediate (but two sessions never start within BackoffMin of
	// one another without a wait), the second waits about BackoffMin, and so on, doubling.
	// 1 s and 60 s.
	BackoffMin, BackoffMax time.Duration
	// Retries is the number of quick retries before the server is parked. A proven session
	// fills it up again. 5; negative = none.
	Retries int
	// ParkedRetry is the time between the attempts of a parked server; it goes on for
	// ever. 300 s.
	ParkedRetry time.Duration
	// DemandInterval is how far apart attempts are at least that calls to a parked server
	// ask for. 5 s.
	DemandInterval time.Duration

	// Liveness is how long a session may be silent before it is probed, and the time
	// between probes. 180 s; negative = no probes.
	Liveness time.Duration
	// LivenessMisses is the number of unanswered probes in a row that end a session. 3.
	LivenessMisses int

	// Strikes is the number of failed calls in a row that open the breaker. 3.
	Strikes int
	// Cooldown is how long an open breaker rejects calls. 60 s.
	Cooldown time.Duration
	// ProbeLease is how long a half-open probe may stay unsettled before its slot is free
	// again. It is never shorter than CallTimeout, which is its default.
	ProbeLease time.Duration
	// BreakerCounts says which kinds of failed calls are strikes. Default: CountsAsStrike.
	BreakerCounts func(Kind) bool

	// StopGrace is how long a server has to exit after its stdin was closed, and again
	// after SIGTERM, before SIGKILL. 2 s.
	StopGrace time.Duration
	// ProvenAfter is how long a session has to be up to count as proven without a good
	// call. 60 s.
	ProvenAfter time.Duration
	// HungAfter is the number of calls that must have timed out in a row, each begun after
	// the one before had ended, before a session that has meanwhile been silent for
	// CallTimeout is ended. 2.
	HungAfter int

	// MaxQueue is the number of bytes that may wait to be written to one server. A call
	// that does not fit fails, alone, as not sent. 16 MiB.
	MaxQueue int
	// WriteTimeout ends a session whose server takes no byte for so long while some wait.
	// 30 s, and at most CallTimeout.
	WriteTimeout time.Duration
	// MaxLine is the longest frame a server may send. A longer one is skipped, and the
	// call it answers fails, if its id can be read. 16 MiB.
	MaxLine int
	// StderrTail is how many bytes of a server's last stderr are kept. 8 KiB.
	StderrTail int
}

// Validate says which setting makes no sense.
func (s Settings) Validate() error {
	for _, d := range []struct {
		name string
		v    int64
	}{
		{"CallTimeout", int64(s.CallTimeout)}, {"ConnectTimeout", int64(s.ConnectTimeout)},
		{"ProbeTimeout", int64(s.ProbeTimeout)}, {"BackoffMin", int64(s.BackoffMin)},
		{"BackoffMax", int64(s.BackoffMax)}, {"ParkedRetry", int64(s.ParkedRetry)},
		{"DemandInterval", int64(s.DemandInterval)}, {"LivenessMisses", int64(s.LivenessMisses)},
		{"Strikes", int64(s.Strikes)}, {"Cooldown", int64(s.Cooldown)}, {"ProbeLease", int64(s.ProbeLease)},
		{"StopGrace", int64(s.StopGrace)}, {"ProvenAfter", int64(s.ProvenAfter)},
		{"HungAfter", int64(s.HungAfter)}, {"MaxQueue", int64(s.MaxQueue)},
		{"WriteTimeout", int64(s.WriteTimeout)}, {"MaxLine", int64(s.MaxLine)}, {"StderrTail", int64(s.StderrTail)},
	} {
		if d.v < 0 {
			return fmt.Errorf("supervisor: Settings.%s is negative (%d)", d.name, d.v)
		}
	}
	return nil
}

func (s Settings) withDefaults() Settings {
	set(&s.CallTimeout, DefaultCallTimeout)
	set(&s.ConnectTimeout, DefaultConnectTimeout)
	set(&s.ProbeTimeout, DefaultProbeTimeout)
	set(&s.BackoffMin, DefaultBackoffMin)
	set(&s.BackoffMax, DefaultBackoffMax)
	set(&s.Retries, DefaultRetries)
	set(&s.ParkedRetry, DefaultParkedRetry)
	set(&s.DemandInterval, DefaultDemandInterval)
	set(&s.Liveness, DefaultLiveness)
	set(&s.LivenessMisses, DefaultLivenessMisses)
	set(&s.Strikes, DefaultStrikes)
	set(&s.Cooldown, DefaultCooldown)
	set(&s.ProbeLease, s.CallTimeout)
	set(&s.StopGrace, DefaultStopGrace)
	set(&s.ProvenAfter, DefaultProvenAfter)
	set(&s.HungAfter, DefaultHungAfter)
	set(&s.MaxQueue, DefaultMaxQueue)
	set(&s.WriteTimeout, DefaultWriteTimeout)
	set(&s.MaxLine, DefaultMaxLine)
	set(&s.StderrTail, DefaultStderrTail)

	s.ProbeTimeout = min(s.ProbeTimeout, s.ConnectTimeout/2) // leave the fallback its share
	s.BackoffMax = max(s.BackoffMax, s.BackoffMin)
	s.WriteTimeout = min(s.WriteTimeout, s.CallTimeout)
	s.ProbeLease = max(s.ProbeLease, s.CallTimeout) // BRK-1
	s.Retries = max(s.Retries, 0)
	if s.BreakerCounts == nil {
		s.BreakerCounts = CountsAsStrike
	}
	return s
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// defaultConnectLimit is how many servers may be starting at once: enough to keep every
// core busy while half of them wait for their child, few enough that a mass death does not
// fork a hundred interpreters in the same instant (SUP-11).
func defaultConnectLimit() int { return 2 * runtime.GOMAXPROCS(0) }
