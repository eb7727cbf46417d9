package stdio

import "time"

const (
	stopTick = 5 * time.Millisecond // how often survivors are looked at while they are being stopped
	// killWait bounds the wait for a killed process to be gone. It only passes for a process in
	// uninterruptible sleep, and waiting longer would wedge us with it.
	killWait = 10 * time.Second
)

// Stop ends the session, the process and its whole group: EOF on stdin, grace, SIGTERM, grace, SIGKILL. It returns
// when all of them are gone and the process is reaped. When hurry is closed it goes on with SIGKILL at once.
// Further calls wait for the first.
func (p *Process) Stop(grace time.Duration, hurry <-chan struct{}) {
	p.stop.Do(func() {
		defer close(p.stopped)
		p.stopping.Store(true)
		p.Abort("was stopped by us") // closes stdin
		p.endGroup(grace, hurry)
		select {
		case <-p.watched:
		case <-time.After(killWait):
		}
		p.stdout.Close()
		p.stderr.Close()
	})
	<-p.stopped
}

// endGroup is the ladder. It leaves it as soon as nobody is left.
func (p *Process) endGroup(grace time.Duration, hurry <-chan struct{}) {
	if !p.isGone() && p.Frozen() { // it hears nothing below SIGKILL
		grace = 0
	}
	if p.gone(grace, hurry) {
		return
	}
	if grace > 0 {
		termGroup(p.pid)
		if p.gone(grace, hurry) {
			return
		}
	}
	killGroup(p.pid)
	p.gone(killWait, nil)
}

// gone waits until the process is reaped and its group is empty, and reads what they write meanwhile, so
// that nobody is kept from exiting by a full pipe.
func (p *Process) gone(limit time.Duration, hurry <-chan struct{}) bool {
	if p.isGone() {
		return true
	}
	if limit <= 0 {
		return false
	}
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(stopTick)
	defer tick.Stop()
	reaped := p.reaped
	for {
		select {
		case <-reaped:
			reaped = nil // from here on the group is looked at by ticks
		case <-tick.C:
			discard(p.stdout)
		case <-hurry:
			return p.isGone()
		case <-end.C:
			return p.isGone()
		}
		if p.isGone() {
			return true
		}
	}
}

func (p *Process) isGone() bool {
	select {
	case <-p.reaped:
		return groupEmpty(p.pid)
	default:
		return false
	}
}
