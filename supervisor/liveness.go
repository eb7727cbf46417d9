package supervisor

import (
	"fmt"
	"time"
)

// liveness finds sessions that are dead without anybody having noticed (SUP-8). Any byte received is life,
// whatever it says; so a probe needs no bookkeeping of its own: it is a request whose answer, even "method not
// found", moves rx.
type liveness struct {
	timer    *time.Timer
	rx       uint64    // at the last look
	answered uint64    // calls, at the last look
	heard    time.Time // when a look last found something received
	probed   bool      // a probe was sent at the last look
	misses   int       // looks in a row that found a probe unanswered
}

func (l *liveness) begin(set Settings, s *session) {
	l.rx, l.answered, l.heard, l.probed, l.misses = s.link.rx(), s.answered.Load(), time.Now(), false, 0
	if set.Liveness > 0 {
		l.timer.Reset(set.Liveness)
	}
}

// checkLife looks at the session once per Settings.Liveness.
//
// While calls are answered there is nothing to find out. While a call is in flight and nothing is heard, probes
// go out, but a server may be busy with one long call and read nothing meanwhile
// (NousResearch/hermes-agent#70218). Missed probes end such a session only if its process is known to be
// stopped, or if it has been silent for a whole call timeout, when there is no call left that could excuse it.
func (o *owner) checkLife() {
	s, l := o.sess, &o.life
	if s == nil {
		return
	}
	rx, answered, busy := s.link.rx(), s.answered.Load(), s.inflight.Load() > 0
	spoke, answering := rx != l.rx, answered != l.answered
	switch {
	case spoke:
		l.misses, l.heard = 0, time.Now()
	case l.probed:
		l.misses++
	}
	l.rx, l.answered = rx, answered

	if l.misses >= o.set.LivenessMisses &&
		(!busy || s.link.frozen() || time.Since(l.heard) >= o.set.CallTimeout) {
		s.link.abort(fmt.Sprintf("is silent (%d liveness probes in a row were not answered)", l.misses))
		return // its death arrives like any other
	}
	if l.probed = !(spoke && (busy || answering)); l.probed {
		o.count.probes.Add(1)
		s.link.probe()
	}
	l.timer.Reset(o.set.Liveness)
}
