package oracle

import (
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/harness/verdict"
)

// duplicateEffects counts in the servers' own ledger how often each nonce was executed. Reconnecting and repeating are separate
// decisions (SUP-4): only a tool that calls itself read-only or idempotent may run twice for one call.
func duplicateEffects(v *view) []verdict.Finding {
	calls := make(map[string]int)
	by := make(map[string]*call)
	for _, c := range v.calls {
		if c.Nonce != "" {
			calls[c.Nonce]++
			by[c.Nonce] = c
		}
	}
	runs := make(map[string][]journal.Entry)
	var order []string
	for _, e := range v.entries {
		if e.Kind != journal.Executed || e.Role != "" || e.Nonce == "" || repeatable(e.Tool) {
			continue
		}
		if len(runs[e.Nonce]) == 0 {
			order = append(order, e.Nonce)
		}
		runs[e.Nonce] = append(runs[e.Nonce], e)
	}
	var out []verdict.Finding
	for _, nonce := range order {
		ran := runs[nonce]
		if len(ran) <= max(1, calls[nonce]) {
			continue
		}
		f := v.finding(verdict.FindingDuplicateEffect, ran[0].Server, ran[1].T,
			"one call to %s.%s was executed %d times", ran[0].Server, ran[0].Tool, len(ran))
		f.Expected = "at most one execution: the tool does not call itself read-only or idempotent"
		for i, e := range ran {
			f.Evidence = append(f.Evidence, v.line(e.T, "execution %d, by life %d (pid %d)", i+1, e.Life, e.Pid))
		}
		if c := by[nonce]; c != nil && c.done {
			f.Evidence = append(f.Evidence, v.line(c.end, "the call %s", v.outcome(c)))
		}
		out = append(out, f)
	}
	return perServer(out)
}

// repeatable says whether a tool of the fakes calls itself read-only or idempotent.
func repeatable(tool string) bool {
	d, ok := tools.Lookup(tool)
	return ok && (d.Annotations.ReadOnlyHint || d.Annotations.IdempotentHint)
}
