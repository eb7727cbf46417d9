package budget

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/target"
)

// With returns the profile with a scenario's settings laid over its timings. The keys are those of driver.Settings
// ("cooldown_ms"); unknown ones are left to whoever reads the scenario. -1 switches liveness off. A profile that declares no timings still
// declares none: what a target does not promise, a scenario cannot promise for it. Doing it twice is the same as once.
func With(p target.Profile, settings map[string]int64) target.Profile {
	if p.Timings == nil || len(settings) == 0 {
		return p
	}
	t := *p.Timings
	durations := map[string]*script.Duration{
		"call_timeout_ms":    &t.Call,
		"connect_timeout_ms": &t.Connect,
		"cooldown_ms":        &t.Cooldown,
		"backoff_min_ms":     &t.BackoffMin,
		"backoff_max_ms":     &t.BackoffMax,
		"parked_retry_ms":    &t.ParkedRetry,
		"demand_interval_ms": &t.DemandInterval,
		"liveness_ms":        &t.Liveness,
		"stop_grace_ms":      &t.StopGrace,
	}
	counts := map[string]*int{"strikes": &t.Strikes, "retries": &t.Retries, "liveness_misses": &t.LivenessMisses}
	for key, v := range settings {
		if d := durations[key]; d != nil {
			*d = script.Duration(time.Duration(max(0, v)) * time.Millisecond)
		}
		if n := counts[key]; n != nil {
			*n = int(v)
		}
	}
	p.Timings = &t
	return p
}
