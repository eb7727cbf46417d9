package supervisor

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// listQuiet is how long a server must send no further list_changed before its tools are listed for the
	// second time, and listPatience how long that is put off at most (SUP-5).
	listQuiet    = 100 * time.Millisecond
	listPatience = 2 * time.Second
)

// refresh keeps the list of tools true while a session lives. The first notification of a burst is followed
// by a list at once, all the others together by one more when the burst is over.
type refresh struct {
	timer   *time.Timer
	done    chan listResult // takes one without waiting
	running bool
	started time.Time // of the last list
	waiting time.Time // since when a list is being put off; zero = none is
	fails   int       // in a row
}

type listResult struct {
	sess    *session
	tools   []*mcp.Tool
	covered uint64
	err     error
}

// changed is called when the server has said that its tools changed.
func (o *owner) changed() {
	s, l := o.sess, &o.listing
	if s == nil || l.running || s.changes.Load() == s.tools.Load().covered {
		return // during an attempt or a list: looked at when it is done
	}
	now := time.Now()
	if l.waiting.IsZero() {
		if now.Sub(l.started) > listPatience {
			o.relist()
			return
		}
		l.waiting = now
	}
	l.timer.Reset(min(listQuiet, max(0, time.Until(l.waiting.Add(listPatience)))))
}

// relist asks for the tools in the background. A result that comes too late is recognised by its session.
func (o *owner) relist() {
	s, l := o.sess, &o.listing
	if s == nil || l.running {
		return
	}
	l.running, l.started, l.waiting = true, time.Now(), time.Time{}
	l.timer.Stop()
	o.count.lists.Add(1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), o.set.ConnectTimeout)
		defer cancel()
		r := listResult{sess: s, covered: s.changes.Load()}
		r.tools, r.err = s.link.list(ctx)
		l.done <- r
	}()
}

func (o *owner) relisted(r listResult) {
	o.listing.running = false
	switch {
	case r.sess != o.sess || o.sess == nil:
		o.changed() // of a session that is gone; the present one may have had to wait
	case r.err != nil:
		o.listingFailed(r.err)
	default:
		o.listing.fails = 0
		r.sess.tools.Store(newToolSet(r.tools, r.covered))
		o.advertise(r.sess)
		o.changed()
	}
}

// listingFailed keeps the session, and the tools as they were advertised, and tries again later.
func (o *owner) listingFailed(err error) {
	o.listing.fails++
	d := min(o.set.BackoffMin<<min(o.listing.fails-1, 16), o.set.BackoffMax)
	o.listing.timer.Reset(max(d, listQuiet))
	o.noteError(&Error{Server: o.server.Name, Kind: KindProtocol, What: "tools/list failed: " + o.redact.String(err.Error())})
}

// advertise makes the session's tools known.
func (o *owner) advertise(s *session) {
	tools := s.tools.Load().tools
	o.shared.registry.put(o.server.Name, tools)
	o.board.set(func(b *Status) { b.Tools = len(tools) })
	o.shared.events.publish(Event{Server: o.server.Name, Kind: EventListed, Tools: len(tools)})
}

// withdraw makes it known that the server's tools cannot be used. Doing it twice is harmless.
func (o *owner) withdraw() {
	n := o.shared.registry.withdraw(o.server.Name)
	if n == 0 {
		return
	}
	o.board.set(func(b *Status) { b.Tools = 0 })
	o.shared.events.publish(Event{Server: o.server.Name, Kind: EventWithdrawn, Tools: n})
}
