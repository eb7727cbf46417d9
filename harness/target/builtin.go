package target

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// Names of the profiles that need no file.
const (
	BuiltInName = "builtin"
	BareName    = "bare"
)

// BuiltIn is the supervisor of this module, scaled down so that a cooldown is over before a reader looks up.
func BuiltIn() Profile {
	return Profile{
		Name:    BuiltInName,
		Title:   "the supervisor of this module, on scaled-down timings",
		Kind:    KindDriver,
		Command: []string{"{{unwedge}}", "driver", "builtin"},
		BuiltIn: true,
		Timings: &Timings{
			// Ten times the fast bound (two liveness polls), so that an error that came fast can be told from a timed out one.
			Call:           d(5 * time.Second),
			Connect:        d(3 * time.Second),
			Cooldown:       d(600 * time.Millisecond),
			Strikes:        3,
			ProbeLease:     d(5 * time.Second), // not shorter than the call timeout, BRK-1
			BackoffMin:     d(50 * time.Millisecond),
			BackoffMax:     d(400 * time.Millisecond),
			Retries:        5,
			ParkedRetry:    d(time.Second),
			DemandInterval: d(300 * time.Millisecond),
			Liveness:       d(250 * time.Millisecond),
			LivenessMisses: 3,
			StopGrace:      d(250 * time.Millisecond),
		},
	}
}

// Bare is a plain go-sdk client without any supervisor: the deliberately naive one. It declares what a bare client has.
func Bare() Profile {
	return Profile{
		Name:    BareName,
		Title:   "a plain go-sdk client without a supervisor",
		Kind:    KindDriver,
		Command: []string{"{{unwedge}}", "driver", "bare"},
		Timings: &Timings{
			Call:      d(5 * time.Second),
			Connect:   d(3 * time.Second),
			StopGrace: d(250 * time.Millisecond),
		},
	}
}

func d(t time.Duration) script.Duration { return script.Duration(t) }
