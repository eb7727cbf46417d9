package builtin

import (
	"time"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/supervisor"
)

// settings hands on what the harness declares. 0 stays 0: the supervisor's own default.
func settings(s driver.Settings) supervisor.Settings {
	liveness := millis(s.LivenessMS)
	if s.LivenessMS < 0 {
		liveness = -1
	}
	return supervisor.Settings{
		CallTimeout:    millis(s.CallTimeoutMS),
		ConnectTimeout: millis(s.ConnectTimeoutMS),
		BackoffMin:     millis(s.BackoffMinMS),
		BackoffMax:     millis(s.BackoffMaxMS),
		Retries:        s.Retries,
		ParkedRetry:    millis(s.ParkedRetryMS),
		DemandInterval: millis(s.DemandIntervalMS),
		Liveness:       liveness,
		LivenessMisses: s.LivenessMisses,
		Strikes:        s.Strikes,
		Cooldown:       millis(s.CooldownMS),
		StopGrace:      millis(s.StopGraceMS),
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func server(s driver.Server, era string) supervisor.Server {
	return supervisor.Server{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers,
		Era: supervisor.Era(era),
	}
}
