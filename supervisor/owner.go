package supervisor

import (
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/breaker"
	"github.com/unwedge/unwedge/supervisor/internal/redact"
)

// owner keeps one server alive. Everything below "the goroutine's own" is touched by run alone; whoever wants
// something puts a request into the mailbox (requests.go) and is answered on a channel of its own.
//
// There is one select, one place that starts attempts (step), and what is asked for is kept as data until it
// is granted, so that no request can fall between two states (SUP-1).
type owner struct {
	server  Server
	set     Settings
	dialer  dialer
	shared  *shared
	redact  *redact.Redactor
	breaker *breaker.Breaker
	log     *slog.Logger

	live  atomic.Pointer[session] // what callers use; nil while there is nothing to use
	count tally
	mail  mailbox
	board board // what Status shows

	quit     chan struct{} // closed by Remove and Close
	quitOnce sync.Once
	hurry    chan struct{} // closed when stopping politely takes too long
	hurried  sync.Once
	done     chan struct{} // closed when everything of this server is gone

	// The goroutine's own.
	state     State
	sess      *session
	trying    *attempt      // under way, or nil
	gone      chan struct{} // closed when the link that is being stopped is gone; nil if none is
	failures  int           // failed attempts and unproven deaths in a row
	lastStart time.Time     // of an attempt
	due       time.Time     // when the next attempt may start, if none is asked for
	urgent    bool          // an attempt was asked for: wait for nothing
	timer     *time.Timer   // for due
	waiting   map[*waiter]struct{}
	asks      []*ask
	life      liveness
	listing   refresh
	random    *rand.Rand
}

// shared is what the owners of one supervisor have in common.
type shared struct {
	events   hub
	registry registry
	connects limiter
}

func newOwner(s Server, set Settings, d dialer, sh *shared, log *slog.Logger, r *redact.Redactor, seed uint64) *owner {
	h := fnv.New64a()
	h.Write([]byte(s.Name))
	o := &owner{
		server: s, set: set, dialer: d, shared: sh, redact: r,
		log:     log.With("server", s.Name),
		quit:    make(chan struct{}),
		hurry:   make(chan struct{}),
		done:    make(chan struct{}),
		waiting: map[*waiter]struct{}{},
		timer:   stoppedTimer(),
		random:  rand.New(rand.NewPCG(seed, h.Sum64())),
	}
	o.mail.wake = make(chan struct{}, 1)
	o.life.timer = stoppedTimer()
	o.listing.timer = stoppedTimer()
	o.listing.done = make(chan listResult, 1)
	o.breaker = breaker.New(breaker.Config{
		Failures: set.Strikes, Cooldown: set.Cooldown, ProbeLease: set.ProbeLease, OnChange: o.breakerChanged,
	})
	o.board.set(func(s *Status) {
		s.Name, s.State, s.Since, s.Era = o.server.Name, StateConnecting, time.Now(), o.server.Era
	})
	return o
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// run is the owner's life.
func (o *owner) run() {
	defer close(o.done)
	for !o.quitting() { // closing beats everything else that is pending
		o.step()
		select {
		case <-o.quit:
		case <-o.mail.wake:
			o.readMail()
		case r := <-o.trying.result():
			o.attempted(r)
		case <-o.sess.dead():
			o.died()
		case <-o.gone:
			o.gone = nil
		case <-o.timer.C: // step sees what is due
		case <-o.life.timer.C:
			o.checkLife()
		case <-o.listing.timer.C:
			o.relist()
		case r := <-o.listing.done:
			o.relisted(r)
		}
	}
	o.shutdown()
}

func (o *owner) quitting() bool {
	select {
	case <-o.quit:
		return true
	default:
		return false
	}
}

// step starts an attempt if one is due, and else sets the timer for it. Nothing starts while the link before
// is not gone (SUP-7: reaped before the next one starts).
func (o *owner) step() {
	if o.sess != nil || o.trying != nil || o.gone != nil {
		return
	}
	if wait := time.Until(o.due); wait > 0 && !o.urgent {
		o.timer.Reset(wait)
		return
	}
	o.begin()
}

// attempted takes the result of an attempt.
func (o *owner) attempted(r result) {
	began := o.trying.began
	o.trying.cancel()
	o.trying = nil
	if r.err != nil {
		o.failed(r, began)
		return
	}
	o.ready(r)
}

// ready publishes a fresh session.
func (o *owner) ready(r result) {
	s := &session{link: r.link, since: time.Now(), changes: r.changes}
	s.tools.Store(newToolSet(r.tools, r.covered))
	o.sess = s
	o.count.sessions.Add(1)
	f := r.link.facts()
	o.board.set(func(b *Status) { b.Pid, b.Era, b.NextTry = f.pid, f.era, time.Time{} })
	o.breaker.Reset() // SUP-3: what the last session did wrong is not the new one's fault
	o.advertise(s)
	o.setState(StateReady, "")
	o.live.Store(s)
	o.serveWaiting(s)
	o.life.begin(o.set, s)
	if r.listErr != nil {
		o.listingFailed(r.listErr)
	} else if s.changes.Load() != r.covered {
		o.changed()
	}
}

// failed takes the failure of an attempt that began at began.
func (o *owner) failed(r result, began time.Time) {
	e := classifyConnect(o, r)
	o.failures++
	if r.link != nil {
		o.leave(r.link)
	}
	o.noteError(e)
	o.schedule(false, e)
	for _, a := range o.asks {
		if a.at.After(began) { // it has not had its attempt yet
			o.urgent = true
		}
	}
	if !o.dialer.again() {
		o.failWaiting(e)
	}
}

// died takes the death of the session.
func (o *owner) died() {
	s, d := o.sess, o.sess.link.death()
	o.drop()
	if s.isProven(o.set) {
		o.failures = 0
	} else {
		o.failures++
	}
	e := &Error{
		Server: o.server.Name, Kind: d.kind, What: d.what, Exit: d.exit, Stderr: s.link.facts().stderr,
	}
	o.noteError(e)
	o.schedule(true, e)
}

// replace ends the session because somebody asked for another one.
func (o *owner) replace() {
	s := o.sess
	s.link.retire("was replaced because a reconnect was asked for")
	o.drop()
	if s.isProven(o.set) { // SUP-3: also when the reconnect was asked for
		o.failures = 0
	}
	o.due = time.Now()
	o.setState(StateBackoff, "a reconnect was asked for")
}

// drop lets go of the session: callers do not find it any more, and what runs behind it is stopped.
func (o *owner) drop() {
	s := o.sess
	o.live.Store(nil)
	o.sess = nil
	o.life.timer.Stop()
	o.listing.timer.Stop()
	o.listing.waiting, o.listing.fails = time.Time{}, 0
	o.count.noise.Add(s.link.facts().noise)
	o.board.set(func(b *Status) { b.Pid = 0 })
	o.leave(s.link)
}

// leave stops a link without waiting for it.
func (o *owner) leave(l link) {
	gone := make(chan struct{})
	o.gone = gone
	go func() {
		defer close(gone)
		l.stop(o.set.StopGrace, o.hurry)
	}()
}

// shutdown ends everything. Parked servers, failed ones and healthy ones all end here.
func (o *owner) shutdown() {
	o.timer.Stop()
	if o.trying != nil {
		o.trying.cancel()
		if r := <-o.trying.results; r.link != nil {
			o.awaitGone()
			o.leave(r.link)
		}
		o.trying = nil
	}
	if o.sess != nil {
		o.sess.link.retire("was stopped because the supervisor was closed")
		o.drop()
	}
	closed := o.closedError("")
	o.mail.close(closed)
	o.failWaiting(closed)
	for _, a := range o.asks {
		a.answer <- closed
	}
	o.asks = nil
	o.withdraw()
	o.setState(StateClosed, "")
	o.awaitGone()
	if o.listing.running {
		<-o.listing.done
	}
}

func (o *owner) awaitGone() {
	if o.gone != nil {
		<-o.gone
		o.gone = nil
	}
}

func (o *owner) stop() { o.quitOnce.Do(func() { close(o.quit) }) }

func (o *owner) kill() { o.hurried.Do(func() { close(o.hurry) }) }

// dead of no session is never.
func (s *session) dead() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.link.dead()
}

func (s *session) isProven(set Settings) bool {
	return s.proven.Load() || time.Since(s.since) >= set.ProvenAfter
}
