package script

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a script. They keep a typo from filling a disk or leaving processes behind.
const (
	maxHold        = time.Hour // a pipe holder ends by itself after this
	maxFill        = 1 << 30
	maxPad         = 64 << 20 // four times the longest line that common SDKs take
	maxNotify      = 1_000_000
	maxExit        = 255
	maxRules       = 1000
	minHTTP        = 100
	maxHTTP        = 599
	spareTool      = "extra"
	toStdout       = "stdout"
	toStderr       = "stderr"
	notificationNS = "notifications/"
)

// Kinds of launchers.
const (
	// Wrapper starts the server with its own pipes, in its own process group, and waits for it. A signal ends it and it passes
	// none on: whoever signals it alone leaves the server behind (npx, uvx, sh -c).
	Wrapper = "wrapper"
	// Container starts the server in a session of its own and carries its stdin over. Whoever closes the launcher's stdin ends the
	// server; whoever signals the launcher first has a server that nobody can tell anything any more (docker run -i).
	Container = "container"
)

// Words of the language, for messages and suggestions.
var (
	// ToolNames are the default tools (package tools has what they do).
	ToolNames = []string{"echo", "add", "sleep", "fail", "big", "effect", "progress", "env"}
	// Launchers are the kinds of processes that may stand between a target and a stdio server.
	Launchers = []string{Wrapper, Container}
	// Signals that a fake can raise on itself.
	Signals = []string{"KILL", "SEGV", "STOP", "TERM"}

	eras   = []string{string(Legacy), string(Modern)}
	phases = []string{string(Baseline), string(Faulty), string(Healed)}
	ons    = []string{string(OnRequest), string(OnReplied), string(OnSpawn), string(OnPhase),
		string(OnEOF), string(OnSignal), string(OnHTTP)}
	httpMethods = []string{"GET", "POST", "DELETE"}
	streams     = []string{toStdout, toStderr}
)

// Problem is one thing that is wrong in a script.
type Problem struct {
	Path    string // where, as YAML paths are written: "rules[2].do[0].signal"
	Message string
	Value   string   // the word that was written, when a list of words was expected
	Known   []string // that list
}

func (p Problem) Error() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Validate says whether the script makes sense. The error joins one *Problem for each thing that is wrong, in the order of the
// script; see Problems.
func Validate(s Script) error {
	v := &validator{}
	if s.Era != Both {
		v.word("era", string(s.Era), "era", eras)
	}
	for i, t := range s.Tools {
		v.tool(fmt.Sprintf("tools[%d]", i), t)
		if slices.Contains(s.Tools[:i], t) {
			v.add(fmt.Sprintf("tools[%d]", i), "tool %q is named twice", t)
		}
	}
	if len(s.Rules) > maxRules {
		v.add("rules", "%d rules are more than the %d that a script may have", len(s.Rules), maxRules)
		return v.err()
	}
	for i, r := range s.Rules {
		v.rule(fmt.Sprintf("rules[%d]", i), r)
	}
	return v.err()
}

// Problems takes the error of Validate apart.
func Problems(err error) []*Problem {
	var out []*Problem
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, Problems(e)...)
		}
		return out
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		out = append(out, p)
	}
	return out
}

type validator struct{ problems []error }

func (v *validator) err() error { return errors.Join(v.problems...) }

func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, &Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// word demands one of a list of words.
func (v *validator) word(path, value, what string, known []string) {
	if slices.Contains(known, value) {
		return
	}
	v.problems = append(v.problems, &Problem{
		Path: path, Value: value, Known: known,
		Message: fmt.Sprintf("unknown %s %q: write one of %s", what, value, strings.Join(known, ", ")),
	})
}

func (v *validator) tool(path, name string) {
	if more, ok := strings.CutPrefix(name, spareTool+"-"); name != spareTool && (!ok || more == "") {
		v.word(path, name, "tool", append(slices.Clone(ToolNames), spareTool))
	}
}

func (v *validator) rule(path string, r Rule) {
	v.when(path+".when", r.When)
	if r.Times < 0 {
		v.add(path+".times", "%d is negative; leave it out for no limit", r.Times)
	}
	if len(r.Do) == 0 {
		v.add(path+".do", "a rule must do something")
	}
	for i, a := range r.Do {
		v.action(fmt.Sprintf("%s.do[%d]", path, i), a, r.When)
	}
}

func (v *validator) when(path string, w When) {
	if w.On != "" {
		v.word(path+".on", string(w.On), "event", ons)
	}
	if w.Phase != "" {
		v.word(path+".phase", string(w.Phase), "phase", phases)
	}
	if w.HTTP != "" {
		v.word(path+".http", w.HTTP, "HTTP method", httpMethods)
	}
	if err := w.Nth.Validate(); err != nil {
		v.add(path+".nth", "%v", err)
	} else if w.Nth == Serving {
		v.add(path+".nth", "%q names a life, not a count", w.Nth)
	}
	if err := w.Life.Validate(); err != nil {
		v.add(path+".life", "%v, or serving", err)
	}
	asked := w.On == "" || w.On == OnRequest || w.On == OnReplied || w.On == OnHTTP
	if !asked && (w.Method != "" || w.Tool != "" || w.HTTP != "") {
		v.add(path, "event %q has no method, tool or http to match", w.On)
	}
	if w.Tool != "" && w.Method != "" && w.Method != "tools/call" {
		v.add(path+".tool", "only tools/call has a tool, not %q", w.Method)
	}
	if w.After > 0 && w.On != OnSpawn && w.On != OnPhase {
		v.add(path+".after", "only the events spawn and phase can be waited after; use the action delay")
	}
}

func (v *validator) action(path string, a Action, w When) {
	var set []string
	for _, verb := range a.verbs() {
		if verb.set {
			set = append(set, verb.name)
		}
	}
	switch {
	case len(set) == 0:
		v.add(path, "an action must do something: it has no verb, or its value is empty or zero")
		return
	case len(set) > 1:
		v.add(path, "an action does one thing: %s are %d; make them items of the list", strings.Join(set, " and "), len(set))
		return
	}
	if a.NotifyTimes != 0 && a.Notify == "" {
		v.add(path+".notify_times", "it counts a notify, which is not there")
	}
	v.values(path+"."+set[0], a)
	answers := a.Pad > 0 || a.Split > 0 || a.Reply != nil || a.Healthy || a.Effect || a.Drop
	if asked := w.On == "" || w.On == OnRequest || w.On == OnHTTP; answers && !asked {
		v.add(path+"."+set[0], "event %q has no request to answer", w.On)
	}
}

// values checks what a verb is given.
func (v *validator) values(path string, a Action) {
	switch {
	case a.Reply != nil:
		v.reply(path, *a.Reply)
	case a.Signal != "":
		v.word(path, a.Signal, "signal", Signals)
	case a.Exit != nil && (*a.Exit < 0 || *a.Exit > maxExit):
		v.add(path, "exit code %d does not lie between 0 and %d", *a.Exit, maxExit)
	case a.Notify != "" && !strings.HasPrefix(a.Notify, notificationNS):
		v.add(path, "%q is no notification: it must begin with %q", a.Notify, notificationNS)
	case a.Notify != "" && (a.NotifyTimes < 0 || a.NotifyTimes > maxNotify):
		v.add(path+"_times", "%d does not lie between 0 and %d", a.NotifyTimes, maxNotify)
	case a.WriteBase64 != "":
		if _, err := base64.StdEncoding.DecodeString(a.WriteBase64); err != nil {
			v.add(path, "no base64: %v", err)
		}
	case a.Fill != nil:
		v.word(path+".to", a.Fill.To, "stream", streams)
		if a.Fill.Bytes < 1 || a.Fill.Bytes > maxFill {
			v.add(path+".bytes", "%d does not lie between 1 and %d", a.Fill.Bytes, maxFill)
		}
	case a.Speak != "":
		v.word(path, string(a.Speak), "era", eras)
	case a.Pad < 0 || a.Pad > maxPad:
		v.add(path, "%d does not lie between 1 and %d", a.Pad, maxPad)
	case a.Split < 0:
		v.add(path, "%d is negative", a.Split)
	case a.HoldPipes.D() > maxHold:
		v.add(path, "%s is longer than %s", a.HoldPipes.D(), maxHold)
	case a.Status != nil && (a.Status.Code < minHTTP || a.Status.Code > maxHTTP):
		v.add(path+".code", "HTTP status %d does not lie between %d and %d", a.Status.Code, minHTTP, maxHTTP)
	}
	for i, t := range a.SetTools {
		v.tool(fmt.Sprintf("%s[%d]", path, i), strings.TrimLeft(t, "+-"))
	}
}

func (v *validator) reply(path string, r Reply) {
	n := 0
	for _, set := range []bool{r.Text != "", r.IsError != "", r.Error != nil, r.Raw != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		v.add(path, "a reply is exactly one of text, is_error, error, raw; %d are set", n)
	}
	if r.Error != nil && r.Error.Code == 0 {
		v.add(path+".error.code", "a JSON-RPC error needs a code that is not 0")
	}
}
