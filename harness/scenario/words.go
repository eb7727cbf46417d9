package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/verdict"
)

// The words that a scenario may use, for checks, messages and suggestions.
var (
	transports    = []string{faults.Stdio, faults.HTTP}
	waitWords     = []string{WaitCooldown, WaitBackoff, WaitLiveness, WaitBudget, WaitParked}
	callWords     = []string{ExpectOK, ExpectError, ExpectAny}
	toolWords     = []string{ToolsAll, ToolsNone, ToolsAny}
	launcherWords = script.Launchers
	awaitWords    = []string{AwaitObserved}
	beforeWords   = []string{BeforeStart}
	eraWords      = []string{string(script.Legacy), string(script.Modern)}
	needWords     = []string{NeedReconnect, NeedStatus, NeedEvents, faults.Stdio, faults.HTTP}
	// ends are the words of Step.Target after which nobody is there to be called.
	ends        = []string{TargetKill, TargetHangup, TargetTerm, TargetClose}
	targetWords = append([]string{TargetStop, TargetCont, TargetRestart}, ends...)
	// A run can be expected to end on any rung of the ladder but not to prove nothing.
	classWords = []string{
		string(verdict.Recovered), string(verdict.Slow), string(verdict.NeedsNewSession), string(verdict.NeedsQuiet),
		string(verdict.NeedsPoke), string(verdict.TargetExited), string(verdict.Wedged),
	}
	settingWords = settingNames()
)

// Words of Scenario.Needs, beside the transports.
const (
	NeedReconnect = "reconnect"
	NeedStatus    = "status"
	NeedEvents    = "events"
)

// settingNames are the keys of driver.Settings as they are written on the wire.
func settingNames() []string {
	var names []string
	for f := range reflect.TypeFor[driver.Settings]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Text says in a few words what a step does, as stories tell it: "call srv.echo x3".
func Text(st Step) string {
	switch st.verb() {
	case "call":
		return st.callText()
	case "inject":
		text := "inject " + st.Inject + onServer(st.On)
		if st.Before != "" {
			text += " before the " + st.Before
		}
		return text
	case "kill":
		return "kill " + st.Kill
	case "lift":
		return "lift " + st.Lift + onServer(st.On)
	case "wait":
		return "wait " + st.Wait
	case "await":
		return "wait until the fault" + onServer(st.On) + " is " + st.Await
	case "reconnect":
		return "reconnect " + st.Reconnect
	case "list_tools":
		return "list the tools of " + st.ListTools + st.toolsText()
	case "seen":
		return st.seenText()
	case "target":
		return "target: " + st.Target
	}
	return "nothing"
}

func (st Step) callText() string {
	var b strings.Builder
	b.WriteString("call " + st.Call)
	if st.Times > 1 {
		fmt.Fprintf(&b, " x%d", st.Times)
	}
	if st.Parallel > 1 {
		fmt.Fprintf(&b, ", %d at once", st.Parallel)
	}
	if st.Pad > 0 {
		b.WriteString(" with " + size(st.Pad))
	}
	if st.Timeout > 0 {
		fmt.Fprintf(&b, " within %s", st.Timeout.D())
	}
	if st.Async {
		b.WriteString(", in the background")
	}
	return b.String()
}

func (st Step) toolsText() string {
	switch st.Tools {
	case ToolsAll:
		return ": all must be offered"
	case ToolsNone:
		return ": none may be offered"
	}
	return ""
}

func (st Step) seenText() string {
	what := "reads of " + st.Method + " at"
	if st.Event != "" {
		what = "events " + st.Event + " of"
	}
	text := "count " + what + " " + st.Seen + ":"
	if st.Least > 0 {
		text += fmt.Sprintf(" at least %d", st.Least)
	}
	if st.Most != nil {
		text += fmt.Sprintf(" at most %d", *st.Most)
	}
	return text
}

func onServer(name string) string {
	if name == "" {
		return ""
	}
	return " on " + name
}

// size writes a number of bytes so that it can be read at a glance.
func size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// verbs are the verbs that a step sets, in the order in which the language lists them.
func (st Step) verbs() []string {
	var set []string
	for _, v := range []struct{ name, value string }{
		{"call", st.Call}, {"inject", st.Inject}, {"kill", st.Kill}, {"await", st.Await}, {"lift", st.Lift},
		{"wait", st.Wait}, {"reconnect", st.Reconnect}, {"list_tools", st.ListTools}, {"seen", st.Seen},
		{"target", st.Target},
	} {
		if v.value != "" {
			set = append(set, v.name)
		}
	}
	return set
}

// verb is the step's one verb, "" for none.
func (st Step) verb() string {
	if vs := st.verbs(); len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// WaitFor returns the duration of a Wait that is one; ok is false for a word.
func (st Step) WaitFor() (d time.Duration, ok bool) {
	if st.Wait == "" || slices.Contains(waitWords, st.Wait) {
		return 0, false
	}
	d, err := time.ParseDuration(st.Wait)
	return d, err == nil
}
