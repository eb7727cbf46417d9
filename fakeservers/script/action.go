package script

import (
	"fmt"
	"strings"
)

// clip is how much of a text a journal line shows.
const clip = 40

// verb is one thing that an Action can do.
type verb struct {
	name string // its key in YAML
	set  bool   // this action does it
	text string // its value in a few words
	http bool   // only an HTTP fake can
	pipe bool   // only a stdio fake can
}

// verbs lists every verb of the language; String and Validate read it, so that a new field is named in one place.
func (a Action) verbs() []verb {
	return []verb{
		{name: "delay", set: a.Delay != 0, text: a.Delay.D().String()},
		{name: "reply", set: a.Reply != nil},
		{name: "healthy", set: a.Healthy},
		{name: "effect", set: a.Effect},
		{name: "drop", set: a.Drop},
		{name: "notify", set: a.Notify != "", text: a.notifyText()},
		{name: "set_tools", set: len(a.SetTools) > 0, text: strings.Join(a.SetTools, " ")},
		{name: "exit", set: a.Exit != nil, text: exitText(a.Exit)},
		{name: "signal", set: a.Signal != "", text: a.Signal},
		{name: "write", set: a.Write != "", text: clipped(a.Write), pipe: true},
		{name: "write_base64", set: a.WriteBase64 != "", text: clipped(a.WriteBase64), pipe: true},
		{name: "write_stderr", set: a.WriteStderr != "", text: clipped(a.WriteStderr), pipe: true},
		{name: "pad", set: a.Pad != 0, text: fmt.Sprint(a.Pad), pipe: true},
		{name: "split", set: a.Split != 0, text: fmt.Sprint(a.Split), pipe: true},
		{name: "speak", set: a.Speak != "", text: string(a.Speak), pipe: true},
		{name: "lock", set: a.Lock, pipe: true},
		{name: "kill_launcher", set: a.KillLauncher, pipe: true},
		{name: "fill", set: a.Fill != nil, text: a.fillText(), pipe: true},
		{name: "deaf", set: a.Deaf, pipe: true},
		{name: "hang", set: a.Hang, pipe: true},
		{name: "close_stdin", set: a.CloseStdin, pipe: true},
		{name: "close_stdout", set: a.CloseStdout, pipe: true},
		{name: "hold_pipes", set: a.HoldPipes != 0, text: a.HoldPipes.D().String(), pipe: true},
		{name: "hold_stdin", set: a.HoldStdin, pipe: true},
		{name: "ignore_eof", set: a.IgnoreEOF, pipe: true},
		{name: "ignore_term", set: a.IgnoreTERM, pipe: true},
		{name: "status", set: a.Status != nil, text: a.statusText(), http: true},
		{name: "reset", set: a.Reset, http: true},
		{name: "hang_http", set: a.HangHTTP, http: true},
		{name: "forget_sessions", set: a.ForgetSessions, http: true},
	}
}

// Verb is the key of what the action does, "" when it does nothing. Of several (which Validate refuses) it is the first.
func (a Action) Verb() string {
	for _, v := range a.verbs() {
		if v.set {
			return v.name
		}
	}
	return ""
}

// HTTPOnly says that only an HTTP fake can do it.
func (a Action) HTTPOnly() bool { return a.is(func(v verb) bool { return v.http }) }

// StdioOnly says that only a stdio fake can do it.
func (a Action) StdioOnly() bool { return a.is(func(v verb) bool { return v.pipe }) }

func (a Action) is(ok func(verb) bool) bool {
	for _, v := range a.verbs() {
		if v.set && ok(v) {
			return true
		}
	}
	return false
}

// String says in a few words what the action does, "exit 1".
func (a Action) String() string {
	for _, v := range a.verbs() {
		if v.set && v.text != "" {
			return v.name + " " + v.text
		}
		if v.set {
			return v.name
		}
	}
	return "nothing"
}

func exitText(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprint(*code)
}

func (a Action) notifyText() string {
	if a.NotifyTimes > 1 {
		return fmt.Sprintf("%s x%d", a.Notify, a.NotifyTimes)
	}
	return a.Notify
}

func (a Action) fillText() string {
	if a.Fill == nil {
		return ""
	}
	return fmt.Sprintf("%s with %d bytes", a.Fill.To, a.Fill.Bytes)
}

func (a Action) statusText() string {
	if a.Status == nil {
		return ""
	}
	return fmt.Sprint(a.Status.Code)
}

func clipped(s string) string {
	if len(s) > clip {
		return fmt.Sprintf("%q...", s[:clip])
	}
	return fmt.Sprintf("%q", s)
}
