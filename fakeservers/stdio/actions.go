package stdio

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
)

// perform does a rule's actions for a request, then answers it as a healthy server would unless they already settled that.
// Actions that are done at once are done before the next line is read, so that "deaf" is deaf from here on; from the first that
// may take time the rest goes on beside the reader.
func (f *fake) perform(r *request, do []script.Action) {
	settled := false
	for len(do) > 0 && !lasts(do[0]) {
		settled = f.act(r, do[0]) || settled
		do = do[1:]
	}
	quick := len(do) == 0 && r.method != "tools/call" && r.method != listenMethod
	rest := func() {
		defer f.finish(r)
		settled = f.doAll(r, do) || settled
		if !settled {
			f.healthy(r)
		}
	}
	if quick {
		rest() // in the order in which they came: initialize before what follows it
		return
	}
	go rest()
}

// doAll does actions one after the other and reports whether the request is settled. The client's cancellation ends the
// list, and so does the end of stdin while it waits.
func (f *fake) doAll(r *request, do []script.Action) (settled bool) {
	for _, a := range do {
		settled = f.act(r, a) || settled
		if r != nil && (r.cancelled.Load() || a.Delay > 0 && r.ctx.Err() != nil) {
			return true
		}
	}
	return settled
}

// lasts says whether an action may take time or block on a pipe.
func lasts(a script.Action) bool {
	return a.Delay > 0 || a.Reply != nil || a.Healthy || a.Effect || a.Notify != "" ||
		a.Write != "" || a.WriteBase64 != "" || a.WriteStderr != "" || a.Fill != nil
}

// act does one action and reports whether it settles the request (replied, dropped, hung). r is nil when there is none.
func (f *fake) act(r *request, a script.Action) (settled bool) {
	switch {
	case a.Delay > 0:
		f.pause(r, a.Delay.D())
	case a.Reply != nil:
		f.replyWith(r, *a.Reply)
		return true
	case a.Healthy:
		if r != nil {
			f.healthy(r)
		}
		return true
	case a.Effect:
		if r != nil {
			f.execute(r)
		}
	case a.Drop:
		return true
	case a.Hang:
		f.hung.Store(true)
		return true
	case a.Notify != "":
		for range max(1, a.NotifyTimes) {
			f.announce(a.Notify)
		}
	case len(a.SetTools) > 0:
		if err := f.dir.SetTools(tools.Change(f.tools(), a.SetTools)); err != nil {
			f.exit(usage, err.Error())
		}
	case a.Exit != nil:
		f.exit(*a.Exit, "")
	case a.Signal != "":
		f.raise(a.Signal)
	default:
		f.actOnPipes(r, a)
	}
	return false
}

// actOnPipes does the actions that belong to standard streams.
func (f *fake) actOnPipes(r *request, a script.Action) {
	switch {
	case a.Write != "":
		f.write(forRequest(r, []byte(a.Write)))
	case a.WriteBase64 != "":
		b, err := base64.StdEncoding.DecodeString(a.WriteBase64)
		if err == nil {
			f.write(forRequest(r, b))
		}
	case a.WriteStderr != "":
		_ = writeStderr(func(put func([]byte) error) error { return put([]byte(a.WriteStderr)) }) // nobody may be reading
	case a.Fill != nil:
		f.fill(*a.Fill)
	case a.Deaf:
		f.in.letGo()
		f.awaitHangup()
	case a.CloseStdin:
		f.in.close()
		f.bound()
	case a.CloseStdout:
		f.out.close()
	case a.HoldPipes > 0:
		f.started("pipe-holder", f.holdPipes(a.HoldPipes.D()))
	case a.HoldStdin:
		f.started("stdin-holder", f.holdStdin())
	case a.IgnoreEOF:
		f.ignoreEOF.Store(true)
	case a.IgnoreTERM:
		f.ignoreTERM.Store(true)
	default:
		f.change(r, a)
	}
}

// change does the actions that change what this life is or how it answers.
func (f *fake) change(r *request, a script.Action) {
	switch {
	case a.Pad > 0 && r != nil:
		r.pad = a.Pad
	case a.Split > 0 && r != nil:
		r.split = a.Split
	case a.Speak != "":
		f.script.Era = a.Speak
	case a.Lock:
		f.lock()
	case a.KillLauncher:
		f.killLauncher()
	}
}

// forRequest puts what is known of the request where the bytes want it.
func forRequest(r *request, b []byte) []byte {
	if r == nil || !bytes.Contains(b, []byte("{{")) {
		return b
	}
	id := r.id
	if len(id) == 0 {
		id = []byte("null")
	}
	b = bytes.ReplaceAll(b, []byte("{{id}}"), id)
	return bytes.ReplaceAll(b, []byte("{{nonce}}"), []byte(r.nonce))
}

// lock takes the lock that one life at a time can have, as a server does that owns a data base. A life that cannot have it says so
// and exits.
func (f *fake) lock() {
	file, err := exclusive(f.dir.File(lockFile))
	if err != nil {
		_ = writeStderr(func(put func([]byte) error) error {
			return put([]byte("another instance holds the lock: " + err.Error() + "\n"))
		})
		f.exit(1, "the lock is taken")
	}
	f.keep(file)
}

// lockFile is the lock's name in the state folder.
const lockFile = "lock"

// pause waits, unless the request is given up or stdin ends meanwhile.
func (f *fake) pause(r *request, d time.Duration) {
	if r == nil {
		time.Sleep(d) // birth, death and control belong to no request: nothing can give them up
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.ctx.Done():
	}
}

// replyWith answers a request with what the script says.
func (f *fake) replyWith(r *request, with script.Reply) {
	switch {
	case r == nil:
	case with.Raw != "":
		f.reply(r, []byte(withID(with.Raw, r.id)+"\n"))
	case !r.call():
	case with.Error != nil:
		e := &rpcError{Code: with.Error.Code, Message: with.Error.Message}
		f.reply(r, answer{ID: r.id, Error: e}.encode())
	default:
		res := tools.Result{Text: with.Text + with.IsError, IsError: with.IsError != ""}
		f.reply(r, answer{ID: r.id, Result: f.toolResult(r, res)}.encode())
	}
}

const (
	fillLine  = 120 // bytes, newline included
	fillChunk = 64 << 10
)

// fill writes many bytes that are no message.
func (f *fake) fill(how script.Fill) {
	var chunk []byte
	if how.Lines {
		line := append(bytes.Repeat([]byte{'#'}, fillLine-1), '\n')
		chunk = bytes.Repeat(line, fillChunk/fillLine)
	} else {
		chunk = bytes.Repeat([]byte{'#'}, fillChunk)
	}
	write := f.out.hold
	if how.To == "stderr" {
		write = writeStderr
	}
	_ = write(func(put func([]byte) error) error { // a reader that is gone ends it
		for left := how.Bytes; left > 0; left -= len(chunk) {
			if err := put(chunk[:min(left, len(chunk))]); err != nil {
				return err
			}
		}
		return nil
	})
}

// started journals a process that the fake leaves behind on purpose, or that it could not.
func (f *fake) started(what string, c child) {
	e := journal.Entry{Kind: journal.Child, Detail: what, Child: c.pid, ChildStart: c.start}
	if c.err != nil {
		e.Detail = what + " could not be started: " + c.err.Error()
	}
	f.note(e)
}
