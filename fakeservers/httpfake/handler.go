package httpfake

import (
	"encoding/json"
	"net/http"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
)

// exchange is one HTTP request and what is done about it. It belongs to the goroutine that serves it.
type exchange struct {
	*request
	w      *recorder
	engine *engine.Engine
	role   string        // for the journal
	rule   string        // the last rule that fired
	done   *tools.Result // what came of the tool, when a script ran it ahead of the answer
}

// entry is a journal entry about the request's first message.
func (x *exchange) entry(k journal.Kind) journal.Entry {
	m := x.first()
	return journal.Entry{Kind: k, Role: x.role, Method: m.method, Tool: m.tool, Nonce: m.nonce, ID: m.id}
}

// ServeHTTP is the fault layer.
func (l *life) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		http.NotFound(w, r)
		return
	}
	q, err := read(r)
	if err != nil {
		return // the client went away in the middle of its request
	}
	x := &exchange{request: q, w: &recorder{ResponseWriter: w}, engine: l.engine, role: l.role}
	if q.control {
		x.role, x.engine = RoleControl, l.forControl
	}
	x.w.begun = func(status int, h http.Header) { l.begun(x, status, h) }
	defer l.streams.remove(x.w)
	for _, m := range q.messages {
		e := journal.Entry{
			Kind: journal.Request, Role: x.role, Method: m.method, Tool: m.tool, Nonce: m.nonce, ID: m.id,
			Era: q.era(), Bytes: len(q.body),
		}
		if m.method == "" {
			e.Detail = "response"
		}
		l.write(e)
	}
	l.answer(x)
	if status, _ := x.w.sent(); status != 0 && r.Method != http.MethodGet {
		l.write(journal.Entry{Kind: journal.HTTP, Role: x.role, Code: status, Detail: r.Method, Rule: x.rule})
	}
}

// answer asks the engine and does what it says; without a rule that settles the request, the healthy server answers.
func (l *life) answer(x *exchange) {
	for _, ev := range x.events() {
		hit, ok := x.engine.Match(ev)
		if !ok {
			continue
		}
		x.rule = hit.Name
		l.fired(hit, x.entry(journal.Rule))
		if l.do(x, hit.Do) {
			return
		}
	}
	l.healthy(x)
}

// healthy answers as a healthy server does, to the last byte.
func (l *life) healthy(x *exchange) {
	if x.done != nil {
		writeResult(x.w, x.first().id, result(x.done.Text, x.done.IsError))
	} else {
		l.sdk.serve(x.w, x.request)
	}
	status, _ := x.w.sent()
	if x.http.Method == http.MethodDelete && status/100 == 2 {
		l.sessions.closed(x.http.Header.Get(sessionHeader), l.session)
	}
	l.replied(x)
}

// replied sends what is still in a buffer and, when a JSON-RPC answer is on its way then, says so to journal and engine.
func (l *life) replied(x *exchange) {
	if status, _ := x.w.sent(); status == 0 {
		return
	}
	_ = x.w.FlushError() // the recorder keeps the error
	m := x.first()
	if _, answered := x.w.sent(); !answered || m.id == "" {
		return
	}
	l.write(x.entry(journal.Replied))
	if hit, ok := x.engine.Match(engine.Event{On: script.OnReplied, Method: m.method, Tool: m.tool, HTTP: x.http.Method}); ok {
		l.fired(hit, x.entry(journal.Rule))
		l.do(nil, hit.Do)
	}
}

// begun is called just before an answer goes out: sessions and streams begin here, and the answer to a GET is journalled here
// since it may never end.
func (l *life) begun(x *exchange, status int, h http.Header) {
	m := x.first()
	if id := h.Get(sessionHeader); id != "" && m.method == "initialize" {
		l.sessions.opened(id, l.session)
	}
	switch {
	case x.http.Method == http.MethodGet:
		l.write(journal.Entry{Kind: journal.HTTP, Role: x.role, Code: status, Detail: x.http.Method, Rule: x.rule})
		l.streams.add(x.w, h, nil)
	case m.method == "subscriptions/listen":
		l.streams.add(x.w, h, json.RawMessage(m.id))
	}
}
