package target

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/driver"
)

// Settings are the profile's timings in the words of the driver protocol, with a scenario's overrides on top: what the target is told.
// Unknown override keys are an error.
func (p Profile) Settings(overrides map[string]int64) (driver.Settings, error) {
	var s driver.Settings
	if t := p.Timings; t != nil {
		s = driver.Settings{
			CallTimeoutMS:    ms(t.Call),
			ConnectTimeoutMS: ms(t.Connect),
			CooldownMS:       ms(t.Cooldown),
			Strikes:          t.Strikes,
			BackoffMinMS:     ms(t.BackoffMin),
			BackoffMaxMS:     ms(t.BackoffMax),
			Retries:          t.Retries,
			ParkedRetryMS:    ms(t.ParkedRetry),
			DemandIntervalMS: ms(t.DemandInterval),
			LivenessMS:       ms(t.Liveness),
			LivenessMisses:   t.LivenessMisses,
			StopGraceMS:      ms(t.StopGrace),
		}
	}
	if len(overrides) == 0 {
		return s, nil
	}
	b, err := json.Marshal(overrides)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

func ms(d script.Duration) int64 { return time.Duration(d).Milliseconds() }

// UndeclaredCall is the call timeout that the harness gives its calls when the target declares none: the shortest that common
// clients use.
const UndeclaredCall = 30 * time.Second

// CallTimeout is the deadline of a call that has none of its own.
func (p Profile) CallTimeout() time.Duration {
	if p.Timings != nil && p.Timings.Call > 0 {
		return p.Timings.Call.D()
	}
	return UndeclaredCall
}
