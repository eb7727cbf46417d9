package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// registryLies compares what the target offers with what the scenario's steps say, and after a recovery with what the server has
// (SUP-5). Of several lists of one step, and of several after a recovery, the last counts: a registry may need a moment.
func registryLies(v *view) []verdict.Finding {
	var out []verdict.Finding
	for i, s := range v.Scenario.Steps {
		if s.ListTools == "" {
			continue
		}
		lists := v.all(history.ListEnd, on(s.ListTools), func(e history.Event) bool {
			return e.Step == i && (e.Load == "" || e.Load == history.LoadStep)
		})
		if v.twin && s.Tools == scenario.ToolsNone {
			continue // nothing is wrong there that could withdraw them
		}
		if len(lists) > 0 {
			out = append(out, v.compare(lists[len(lists)-1], s.ListTools, s.Tools, fmt.Sprintf("step %d: ", i+1))...)
		}
	}
	for _, server := range v.faulted {
		good, ok := v.recovery(server)
		if !ok {
			continue
		}
		lists := v.all(history.ListEnd, since(good.T), func(e history.Event) bool {
			return e.Load == history.LoadProbe || e.Load == history.LoadExtra
		})
		if len(lists) > 0 {
			out = append(out, v.compare(lists[len(lists)-1], server, scenario.ToolsAll, "after the recovery: ")...)
		}
	}
	return out
}

// recovery is the Good event of a server that came back by itself.
func (v *view) recovery(server string) (history.Event, bool) {
	for _, e := range v.all(history.Good, on(server)) {
		return e, e.Rung != history.RungRestart
	}
	return history.Event{}, false
}

// compare holds one list against "all", "none" or "any".
func (v *view) compare(list history.Event, server, want, when string) []verdict.Finding {
	finding := func(kind, note, expected string) []verdict.Finding {
		f := v.finding(kind, server, list.T, "%s%s", when, note)
		f.Expected = expected
		f.Evidence = []verdict.Line{v.line(list.T, "tools of %q on offer: %s", server, names(offered(list, server)))}
		return []verdict.Finding{f}
	}
	if list.Err != nil {
		note := "listing the tools failed, error text empty"
		if !blank(list.Err.Message) {
			note = fmt.Sprintf("listing the tools failed: %q", v.quote(list.Err.Message))
		}
		return finding(verdict.FindingMissingTool, note, "a list, whatever the state of one server")
	}
	has, have := v.toolsOf(server, list.T), offered(list, server)
	switch want {
	case scenario.ToolsNone:
		if len(have) > 0 {
			return finding(verdict.FindingPhantomTool, fmt.Sprintf("%d tools of %q are on offer though it is withdrawn", len(have), server),
				"none of its tools on offer")
		}
	case scenario.ToolsAll:
		var out []verdict.Finding
		if missing := less(has, have); len(missing) > 0 {
			out = finding(verdict.FindingMissingTool, fmt.Sprintf("tools of %q are not on offer: %s", server, names(missing)), "all its tools: "+names(has))
		}
		if phantom := less(have, has); len(phantom) > 0 {
			out = append(out, finding(verdict.FindingPhantomTool, fmt.Sprintf("%q has no such tools: %s", server, names(phantom)), "just its tools: "+names(has))...)
		}
		return out
	}
	return nil
}

// toolsOf is what the server serves at t: what its script begins with, changed by the rules that fired until then.
func (v *view) toolsOf(server string, t mono.Time) []string {
	s := v.Scenario.Servers[server].Script
	var rules []script.Rule
	for _, f := range v.faultsOn(server) {
		rules = append(rules, f.Rules...)
	}
	rules = append(rules, s.Rules...)
	set := tools.Start(s.Tools)
	for _, e := range v.seen(server, journal.Rule) {
		if e.T > t {
			break
		}
		for i, r := range rules {
			if e.Rule != r.Name && e.Rule != fmt.Sprintf("rule %d", i+1) {
				continue
			}
			for _, a := range r.Do {
				if len(a.SetTools) > 0 {
					set = tools.Change(set, a.SetTools)
				}
			}
		}
	}
	return set
}

// offered are the names of one server's tools in a list.
func offered(list history.Event, server string) []string {
	var out []string
	for _, t := range list.Tools {
		if t.Server == server {
			out = append(out, t.Name)
		}
	}
	return out
}

// less is a without b.
func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	list = slices.Sorted(slices.Values(list))
	return strings.Join(list, ", ")
}
