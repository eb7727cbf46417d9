// Package tools holds the default tools of both fakes: what they are called, what they say of themselves, and what they do.
// A newcomer who wants one more tool adds it to the table in catalogue.go and its work to run.go.
//
// The package imports only the standard library and knows no transport: whoever serves a tool hands in Hooks.
package tools

import (
	"encoding/json"
	"slices"
	"strings"
)

// Definition is a tool as tools/list shows it; its JSON is the protocol's.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations Annotations     `json:"annotations"`
}

// Annotations are the protocol's hints. Clients may resend a call whose outcome is unknown only when a hint allows it.
type Annotations struct {
	ReadOnlyHint    bool  `json:"readOnlyHint"`
	IdempotentHint  bool  `json:"idempotentHint"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// Names returns the names of the default tools, in the order in which they are listed.
func Names() []string {
	out := make([]string, len(catalogue))
	for i, d := range catalogue {
		out[i] = d.Name
	}
	return out
}

// Known says whether there is such a tool: a default one, or a spare one ("extra", "extra-anything") that a script can
// add to change the set. Spare tools do what echo does.
func Known(name string) bool {
	_, ok := Lookup(name)
	return ok
}

// Lookup returns the definition of a default or spare tool.
func Lookup(name string) (Definition, bool) {
	for _, d := range catalogue {
		if d.Name == name {
			return d, true
		}
	}
	if isSpare(name) {
		d := catalogue[0]
		d.Name, d.Description = name, "A spare tool that does what echo does."
		return d, true
	}
	return Definition{}, false
}

func isSpare(name string) bool {
	return name == "extra" || strings.HasPrefix(name, "extra-") && len(name) > len("extra-")
}

// Definitions returns the definitions of the named tools in this order; unknown names are left out.
func Definitions(names []string) []Definition {
	out := make([]Definition, 0, len(names))
	for _, n := range names {
		if d, ok := Lookup(n); ok {
			out = append(out, d)
		}
	}
	return out
}

// Start returns the set that a script begins with: the named tools, or all default ones when none is named.
func Start(scripted []string) []string {
	if len(scripted) == 0 {
		return Names()
	}
	return slices.Clone(scripted)
}

// Change applies a script's set_tools to a set: "+name" adds, "-name" takes away; when any name stands alone, the set
// starts from empty. Nothing is listed twice.
func Change(current, change []string) []string {
	out := slices.Clone(current)
	if slices.ContainsFunc(change, func(c string) bool { return !strings.HasPrefix(c, "+") && !strings.HasPrefix(c, "-") }) {
		out = []string{}
	}
	for _, c := range change {
		if name, less := strings.CutPrefix(c, "-"); less {
			out = slices.DeleteFunc(out, func(n string) bool { return n == name })
			continue
		}
		if name := strings.TrimPrefix(c, "+"); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
