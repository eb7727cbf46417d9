package target

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// Names of the profiles that need no file.
const (
	BuiltInName = "builtin"
	BareName    = "bare"
	NaiveName   = "naive"
)

// Own are the profiles that need no file, best first.
func Own() []Profile { return []Profile{BuiltIn(), Naive(), Bare()} }

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

// Bare is a plain go-sdk client without any supervisor: what takes no care at all.
func Bare() Profile { return unsupervised(BareName, "a plain go-sdk client without a supervisor") }

// Naive is a plain go-sdk client that reconnects when a call fails, and nothing more: what the usual first fix makes of Bare.
func Naive() Profile {
	return unsupervised(NaiveName, "a plain go-sdk client that reconnects when a call fails, and nothing more")
}

// unsupervised declares what a client without a supervisor has: no cooldown, no backoff, no liveness.
func unsupervised(name, title string) Profile {
	return Profile{
		Name:    name,
		Title:   title,
		Kind:    KindDriver,
		Command: []string{"{{unwedge}}", "driver", name},
		Timings: &Timings{
			Call:      d(5 * time.Second),
			Connect:   d(3 * time.Second),
			StopGrace: d(250 * time.Millisecond),
		},
	}
}

func d(t time.Duration) script.Duration { return script.Duration(t) }
