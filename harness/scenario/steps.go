package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Bounds of one step.
const (
	maxTimes    = 10_000
	maxParallel = 1000
	maxPad      = 64 << 20 // four times the longest line that common SDKs take
	maxWait     = time.Hour
	maxSeen     = 1_000_000
)

// step checks one step and keeps track of what it turns on and off.
func (v *validator) step(path string, st Step) {
	verbs := st.verbs()
	switch len(verbs) {
	case 0:
		v.add(path, "a step needs a verb: call, inject, kill, await, lift, wait, reconnect, list_tools, seen or target")
		return
	case 1:
	default:
		v.add(path, "a step does one thing: %s are %d; make them steps of their own", strings.Join(verbs, " and "), len(verbs))
		return
	}
	v.belongs(path, st, verbs[0])
	v.reachable(path, st)
	switch verbs[0] {
	case "call":
		v.call(path, st)
	case "inject", "kill":
		v.inject(path, st)
	case "lift":
		v.lift(path, st)
	case "await":
		v.await(path, st)
	case "wait":
		v.wait(path, st)
	case "reconnect":
		v.server(path+".reconnect", st.Reconnect)
	case "list_tools":
		v.server(path+".list_tools", st.ListTools)
		if st.Tools != "" {
			v.word(path+".tools", "word for tools", st.Tools, toolWords)
		}
	case "seen":
		v.seen(path, st)
	case "target":
		v.target(path, st)
	}
}

// belongs refuses fields that mean nothing beside this verb: they were meant for another one.
func (v *validator) belongs(path string, st Step, verb string) {
	for _, f := range []struct {
		name string
		set  bool
		to   []string
	}{
		{"args", len(st.Args) > 0, []string{"call"}},
		{"times", st.Times != 0, []string{"call"}},
		{"parallel", st.Parallel != 0, []string{"call"}},
		{"expect", st.Expect != "", []string{"call", "target"}},
		{"fast", st.Fast, []string{"call"}},
		{"async", st.Async, []string{"call"}},
		{"pad", st.Pad != 0, []string{"call"}},
		{"timeout", st.Timeout != 0, []string{"call"}},
		{"before", st.Before != "", []string{"inject"}},
		{"on", st.On != "", []string{"inject", "lift", "await"}},
		{"tools", st.Tools != "", []string{"list_tools"}},
		{"method", st.Method != "", []string{"seen"}},
		{"event", st.Event != "", []string{"seen"}},
		{"least", st.Least != 0, []string{"seen"}},
		{"most", st.Most != nil, []string{"seen"}},
	} {
		if f.set && !slices.Contains(f.to, verb) {
			v.add(path+"."+f.name, "%s belongs to %s, not to %s", f.name, strings.Join(f.to, ", "), verb)
		}
	}
}

func (v *validator) call(path string, st Step) {
	server, tool := st.CallTarget()
	if tool == "" {
		v.add(path+".call", "%q names no tool: write server.tool, as in srv.echo", st.Call)
	} else if v.server(path+".call", server) {
		v.word(path+".call", "tool", tool, v.tools(server))
	}
	if st.Expect != "" {
		v.word(path+".expect", "expectation", st.Expect, callWords)
	}
	v.between(path+".times", st.Times, maxTimes)
	v.between(path+".parallel", st.Parallel, maxParallel)
	v.between(path+".pad", st.Pad, maxPad)
	if _, both := st.Args["text"]; both && st.Pad > 0 {
		v.add(path+".pad", "pad is the argument text, which args sets as well")
	}
	if st.Timeout.D() > maxWait {
		v.add(path+".timeout", "%s is longer than %s", st.Timeout.D(), maxWait)
	}
}

func (v *validator) between(path string, n, most int) {
	if n < 0 || n > most {
		v.add(path, "%d does not lie between 0 and %d", n, most)
	}
}

// tools are the tools that a server may ever offer: its script's, and those that a rule of the script or of a fault brings.
func (v *validator) tools(server string) []string {
	s := v.s.Servers[server].Script
	names := s.Tools
	if len(names) == 0 {
		names = script.ToolNames
	}
	names = slices.Clone(names)
	rules := slices.Clone(s.Rules)
	for _, in := range v.s.Injections() {
		if in.Server == server {
			rules = append(rules, in.Fault.What().Rules...)
		}
	}
	for _, r := range rules {
		for _, a := range r.Do {
			for _, t := range a.SetTools {
				if !strings.HasPrefix(t, "-") {
					names = append(names, strings.TrimPrefix(t, "+"))
				}
			}
		}
	}
	return names
}

func (v *validator) seen(path string, st Step) {
	v.server(path+".seen", st.Seen)
	if (st.Method == "") == (st.Event == "") {
		v.add(path+".seen", "say what was seen: a method that the server read, or an event of the target's")
	}
	if st.Least == 0 && st.Most == nil {
		v.add(path+".seen", "say how many: least, most, or both")
	}
	v.between(path+".least", st.Least, maxSeen)
	if st.Most == nil {
		return
	}
	v.between(path+".most", *st.Most, maxSeen)
	if *st.Most < st.Least {
		v.add(path+".most", "%d is less than least, %d", *st.Most, st.Least)
	}
}

func (v *validator) inject(path string, st Step) {
	id, at := st.Inject, path+".inject"
	if st.Kill != "" {
		id, at = faults.Kill, path+".kill"
	}
	v.before(path, st)
	f, ok := faults.ByID(id)
	if !ok {
		v.problems = append(v.problems, &Problem{
			Path: at, Message: fmt.Sprintf("unknown fault %q: `unwedge list` shows them all", id), Suggestion: faults.Suggest(id),
		})
		return
	}
	server := v.site(path, at, st)
	if server == "" {
		return
	}
	info := f.What()
	if t := v.s.Servers[server].Transport; t != info.Transport && slices.Contains(transports, t) {
		v.add(at, "%s needs a server on %s, %q is on %s", info.ID, info.Transport, server, t)
		return
	}
	if on := v.on[server]; on != "" {
		v.add(at, "%s is still on at %q: lift it first", on, server)
		return
	}
	if st.Kill == "" { // which is lifted as soon as it is seen
		v.on[server] = info.ID
	}
}

func (v *validator) lift(path string, st Step) {
	f, ok := faults.ByID(st.Lift)
	if !ok {
		v.problems = append(v.problems, &Problem{
			Path: path + ".lift", Message: fmt.Sprintf("unknown fault %q", st.Lift), Suggestion: faults.Suggest(st.Lift),
		})
		return
	}
	server := v.site(path, path+".lift", st)
	if server == "" {
		return
	}
	if v.on[server] != f.What().ID {
		v.add(path+".lift", "%s is not on at %q here", st.Lift, server)
		return
	}
	delete(v.on, server)
}

func (v *validator) await(path string, st Step) {
	v.word(path+".await", "event", st.Await, awaitWords)
	if server := v.site(path, path+".await", st); server != "" && v.on[server] == "" {
		v.add(path+".await", "no fault is on at %q here", server)
	}
}

func (v *validator) wait(path string, st Step) {
	d, isDuration := st.WaitFor()
	switch {
	case isDuration && d <= 0:
		v.add(path+".wait", "%s is no time to wait", st.Wait)
	case isDuration && d > maxWait:
		v.add(path+".wait", "%s is longer than %s", d, maxWait)
	case !isDuration && !slices.Contains(waitWords, st.Wait):
		v.problems = append(v.problems, &Problem{
			Path:       path + ".wait",
			Message:    fmt.Sprintf("%q is no wait: write a duration (250ms, 2s) or one of %s", st.Wait, strings.Join(waitWords, ", ")),
			Suggestion: strictyaml.Suggest(st.Wait, waitWords),
		})
	}
}

// site returns the server that a step on a fault is about, or "" after saying why there is none.
func (v *validator) site(path, at string, st Step) string {
	server := v.s.ServerOf(st)
	if server == "" {
		if len(v.s.Servers) > 0 {
			v.add(at, "there are several servers (%s): name one with on", strings.Join(v.names(), ", "))
		}
		return ""
	}
	if st.On != "" {
		at = path + ".on"
	}
	if !v.server(at, server) {
		return ""
	}
	return server
}

func (v *validator) server(path, name string) bool {
	if len(v.s.Servers) == 0 {
		return false // said once already
	}
	return v.word(path, "server", name, v.names())
}
