package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/target"
)

// clipped is how much of a text the history keeps; nonces and error texts fit.
const clipped = 2000

// A call is one call through the target, as the lab wants it made.
type call struct {
	server, tool string
	args         map[string]any
	load         string
	want         string
	fast         bool
	step         int
	timeout      time.Duration // the caller's deadline; 0 takes the target's call timeout
	begun        func(nonce string)
}

// outcome is how a call ended, as far as the lab itself needs to know.
type outcome struct {
	id   int64
	good bool // answered, with its own answer
	err  *driver.Error
}

// caller makes calls and records them. It is safe for concurrent use.
type caller struct {
	rec    *recorder
	run    string        // makes nonces of different runs differ
	usual  time.Duration // the target's call timeout
	nextID atomic.Int64
	slack  func() float64
}

// do makes a call and records both its ends. A target that does not answer is given up on by the harness itself, so that a hung
// target is a fact of the history and not a hung lab.
func (c *caller) do(ctx context.Context, s target.Session, k call) outcome {
	id := c.nextID.Add(1)
	timeout := k.timeout
	if timeout <= 0 {
		timeout = c.usual
	}
	nonce := fmt.Sprintf("%s-%s-%d", prefixes[k.load], c.run, id)
	args, check := arguments(k.tool, k.args, nonce)
	raw, err := json.Marshal(args)
	if err != nil { // scenario files hold plain data
		raw = json.RawMessage("{}")
	}
	begun := c.rec.add(history.Event{
		Kind: history.CallBegin, Call: id, Server: k.server, Tool: k.tool, Nonce: nonceOf(args), Load: k.load,
		Want: k.want, Fast: k.fast, Step: k.step, Timeout: int64(timeout),
	})
	if k.begun != nil {
		k.begun(nonceOf(args))
	}
	bound := 2*timeout + time.Duration(float64(answerSlack)*c.slack())
	wait, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	res, derr := s.Call(wait, k.server, k.tool, raw, k.timeout)
	end := history.Event{Kind: history.CallEnd, Call: id, Server: k.server, Tool: k.tool, OK: derr == nil}
	switch {
	case derr == nil:
		end.Text, end.IsError, end.NonceOK = clip(res.Text), res.IsError, check(res)
	case derr.Kind == target.KindNoAnswer && ctx.Err() != nil:
		end.Detail = "given up: the lab was closing"
	case derr.Kind == target.KindNoAnswer:
		end.Detail = "no answer"
	case derr.Kind == target.KindTargetGone:
		end.Detail, end.Err = "the target was gone", clipError(derr)
	default:
		end.Err = clipError(derr)
	}
	end.T = now()
	end.D = int64(end.T.Sub(begun))
	c.rec.add(end)
	return outcome{id: id, good: end.OK && end.NonceOK, err: derr}
}

// answerSlack is how much longer than twice its deadline a call is waited for, on a quiet machine: a target that answers at all
// does so by then.
const answerSlack = 2 * time.Second

// prefixes are how nonces begin; the fakes know the baseline's.
var prefixes = map[string]string{
	history.LoadBaseline:  "base",
	history.LoadStep:      "step",
	history.LoadBystander: "by",
	history.LoadProbe:     "probe",
	history.LoadExtra:     "extra",
}

// Tools of the fakes that need to be known here; see fakeservers/tools.
const (
	toolEcho = "echo"
	toolAdd  = "add"
	toolEnv  = "env"
	toolFail = "fail"
)

// arguments completes what the scenario gives by what the tool needs, and returns how to check the answer.
func arguments(tool string, given map[string]any, nonce string) (map[string]any, func(*driver.Result) bool) {
	args := map[string]any{}
	switch tool {
	case toolAdd:
		args["a"], args["b"] = 1, 2
	case toolEnv:
		args["name"] = "PATH"
	case "sleep":
		args["ms"] = 10
	case "big":
		args["bytes"] = 1 << 20
	case "progress":
		args["n"], args["every_ms"] = 3, 10
	}
	if tool != toolAdd && tool != toolEnv {
		args["nonce"] = nonce
	}
	maps.Copy(args, given)
	own := nonceOf(args)
	return args, func(r *driver.Result) bool {
		switch {
		case tool == toolAdd || own == "":
			return !r.IsError
		case tool == toolFail:
			return r.IsError && strings.HasPrefix(r.Text, own)
		}
		// A long text ends with what was sent; one that a rule has grown, with the nonce again. So one that was cut short shows.
		sent, _ := args["text"].(string)
		whole := tool != toolEcho || len(r.Text) < grown || strings.HasSuffix(r.Text, own) ||
			sent != "" && strings.HasSuffix(r.Text, sent)
		return !r.IsError && strings.HasPrefix(r.Text, own) && whole
	}
}

// grown is longer than any nonce and whatever a script puts behind it.
const grown = 4 << 10

func nonceOf(args map[string]any) string {
	s, _ := args["nonce"].(string)
	return s
}

func clip(s string) string {
	if len(s) > clipped {
		return strings.ToValidUTF8(s[:clipped], "") + "..."
	}
	return s
}

// clipError copies an error for the history. The harness's own kinds stay out of it: a target never says them.
func clipError(e *driver.Error) *driver.Error {
	c := *e
	c.Message = clip(c.Message)
	if c.Kind == target.KindNoAnswer || c.Kind == target.KindTargetGone {
		c.Kind = ""
	}
	return &c
}
