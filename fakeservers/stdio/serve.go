package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
)

// request is one request or notification while it is dealt with.
type request struct {
	ctx    context.Context // ends when it is cancelled and at end of file; whatever waits, waits on it
	cancel context.CancelFunc
	// cancelled by the client, which wants no answer any more.
	cancelled atomic.Bool

	id     json.RawMessage
	method string
	params params
	given  bool // there were params at all
	bad    bool // and they were no object
	modern bool // by its _meta
	tool   string
	nonce  string
	done   *tools.Result // what the tool answered, when it ran already
	pad    int           // the answer's text grows to this many bytes
	split  int           // the answer is written in pieces of this many bytes
}

func (r *request) call() bool { return isCall(r.id) }

func (r *request) event(on script.On) engine.Event {
	return engine.Event{On: on, Method: r.method, Tool: r.tool}
}

func (r *request) entry(k journal.Kind) journal.Entry {
	return journal.Entry{Kind: k, Method: r.method, Tool: r.tool, Nonce: r.nonce, ID: string(r.id)}
}

// handle deals with one line. It returns as soon as the next line may be read.
func (f *fake) handle(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		// Evidence against a client that writes what is no message (spec-S1).
		f.note(journal.Entry{Kind: journal.Request, Bytes: len(line), Detail: "not JSON-RPC"})
		f.send(answer{ID: json.RawMessage("null"), Error: &rpcError{Code: codeParse, Message: "parse error"}})
		return
	}
	if m.Method == nil {
		f.note(journal.Entry{Kind: journal.Request, ID: string(m.ID), Bytes: len(line), Detail: "response"})
		return
	}
	r := f.request(m)
	e := r.entry(journal.Request)
	e.Bytes, e.Era = len(line), string(script.Legacy)
	if r.modern {
		e.Era = string(script.Modern)
	}
	f.note(e)
	hit, ok := f.eng.Match(r.event(script.OnRequest))
	if ok {
		f.fired(hit, r)
	}
	f.work.Add(1)
	f.perform(r, hit.Do)
}

func (f *fake) request(m message) *request {
	r := &request{id: m.ID, method: *m.Method, given: len(m.Params) > 0}
	r.bad = r.given && json.Unmarshal(m.Params, &r.params) != nil
	r.modern = f.script.Era != script.Legacy && isCall(m.ID) && r.params.Meta.version() >= modernVersion
	if r.method == "tools/call" {
		r.tool, r.nonce = r.params.Name, tools.Nonce(r.params.Arguments)
	}
	r.ctx, r.cancel = context.WithCancel(f.ctx)
	if r.call() {
		f.mu.Lock()
		f.calls[idKey(r.id)] = r
		f.mu.Unlock()
	}
	return r
}

// finish is called once for each request, when nothing more happens to it.
func (f *fake) finish(r *request) {
	f.mu.Lock()
	if f.calls[idKey(r.id)] == r {
		delete(f.calls, idKey(r.id))
	}
	f.mu.Unlock()
	r.cancel()
	f.work.Done()
}

// fired journals a rule before its actions run, since they may be the last that this process does.
func (f *fake) fired(h engine.Hit, r *request) {
	e := journal.Entry{}
	if r != nil {
		e = r.entry(journal.Rule)
	}
	e.Kind, e.Rule, e.Detail, e.Phase = journal.Rule, h.Name, h.String(), string(f.eng.Phase())
	f.note(e)
}

// happened tells the engine about something that is no request, and does what the rules say before it returns. Rules that wait
// do so beside it.
func (f *fake) happened(ev engine.Event) {
	for _, t := range f.eng.Timers(ev) {
		time.AfterFunc(t.After, func() {
			if h, ok := t.Due(); ok {
				f.fired(h, nil)
				f.doAll(nil, h.Do)
			}
		})
	}
	if h, ok := f.eng.Match(ev); ok {
		f.fired(h, nil)
		f.doAll(nil, h.Do)
	}
}

// reply writes an answer to a request, marks the life as serving where the call is one of the lab's baseline, and journals.
func (f *fake) reply(r *request, line []byte) {
	if f.hung.Load() || r.cancelled.Load() && r.method != listenMethod {
		return
	}
	f.serving(r)
	if !f.writeIn(line, r.split) {
		return
	}
	e := r.entry(journal.Replied)
	e.Bytes = len(line)
	f.note(e)
	if h, ok := f.eng.Match(r.event(script.OnReplied)); ok {
		f.fired(h, r)
		f.afterwards(h.Do)
	}
}

// afterwards does what follows a reply: at once and in order, but a delay is sat out beside the reader.
func (f *fake) afterwards(do []script.Action) {
	for i, a := range do {
		if a.Delay > 0 {
			go f.doAll(nil, do[i:])
			return
		}
		f.act(nil, a)
	}
}

// send writes a message that answers no request.
func (f *fake) send(a answer) {
	if !f.hung.Load() {
		f.write(a.encode())
	}
}

// write reports whether all went out. A client that closed its end of our stdout has left, or is about to close the other end
// too: a server ends then, and it is no failure of the server.
func (f *fake) write(line []byte) bool {
	return f.written(f.out.write(line))
}

func (f *fake) written(err error) bool {
	if errors.Is(err, errBroken) && !f.ignoreEOF.Load() {
		f.exit(0, "stdout: "+err.Error())
	}
	return err == nil
}

// writeIn writes an answer in pieces of n bytes, each with a write of its own; n 0 is in one piece.
func (f *fake) writeIn(line []byte, n int) bool {
	if n <= 0 {
		return f.write(line)
	}
	err := f.out.hold(func(put func([]byte) error) error {
		for piece := range slices.Chunk(line, n) {
			if err := put(piece); err != nil {
				return err
			}
		}
		return nil
	})
	return f.written(err)
}

// baselinePrefix begins the nonces of the lab's baseline calls.
const baselinePrefix = "base-"

func (f *fake) serving(r *request) {
	if len(r.nonce) < len(baselinePrefix) || r.nonce[:len(baselinePrefix)] != baselinePrefix {
		return
	}
	if life, ok := f.dir.Serving(); ok && life == f.ident.Life {
		return
	}
	if err := f.dir.SetServing(f.ident.Life); err != nil {
		f.exit(usage, err.Error())
	}
}
