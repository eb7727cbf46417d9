package oracle

import (
	"strings"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

// fragment is how much of a secret in a row is a leak: too long to be there by chance, short enough to catch one that was cut in two at a
// chunk's border (SUP-13).
const fragment = 12

// shortSecret is the least length of a secret that is looked for as a whole. Anything shorter would be found by chance.
const shortSecret = 6

// leakedSecrets looks for the canary values in every text that left the target or a fake. It never repeats what it found.
func leakedSecrets(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, e := range v.events {
		for _, t := range textsOf(e) {
			if !v.secrets.in(t.text) {
				continue
			}
			server := e.Server
			if e.Kind == history.Journal && e.Entry != nil {
				server = e.Entry.Server
			}
			f := v.finding(verdict.FindingSecret, server, e.T, "a secret, or a part of one, stands in %s", t.where)
			f.Expected = "no secret in any text, whole or in part"
			f.Evidence = []verdict.Line{v.line(e.T, "%s of a %q event: %q", t.where, e.Kind, v.quote(t.text))}
			out = append(out, f)
		}
	}
	return perServer(out)
}

type text struct{ where, text string }

// textsOf are all texts of an event that people or programs may read later.
func textsOf(e history.Event) []text {
	out := []text{{"a result", e.Text}, {"a detail", e.Detail}, {"a nonce", e.Nonce}}
	if e.Kind == history.Stderr {
		out[0].where = "the target's stderr"
	}
	if e.Err != nil {
		out = append(out, text{"an error text", e.Err.Message}, text{"an error kind", e.Err.Kind})
	}
	if e.Target != nil {
		out = append(out, text{"a target's event", e.Target.Kind + " " + e.Target.Detail})
	}
	for _, s := range e.Servers {
		out = append(out, text{"a status", s.State})
	}
	for _, t := range e.Tools {
		out = append(out, text{"a tool's name", t.Name})
	}
	if j := e.Entry; j != nil {
		for _, s := range []string{j.Detail, j.Nonce, j.ID, j.Method, j.Tool, j.Rule} {
			out = append(out, text{"a fake's journal", s})
		}
	}
	return out
}

// needles are what to look for: every run of fragment bytes of every secret, and short secrets as they are.
type needles struct {
	runs  map[string]struct{}
	short []string
}

func needlesOf(secrets []string) needles {
	n := needles{runs: make(map[string]struct{})}
	for _, s := range secrets {
		if len(s) < fragment && len(s) >= shortSecret {
			n.short = append(n.short, s)
		}
		for i := 0; i+fragment <= len(s); i++ {
			n.runs[s[i:i+fragment]] = struct{}{}
		}
	}
	return n
}

// in says whether any needle is in a text.
func (n needles) in(s string) bool {
	for i := 0; i+fragment <= len(s) && len(n.runs) > 0; i++ {
		if _, ok := n.runs[s[i:i+fragment]]; ok {
			return true
		}
	}
	for _, short := range n.short {
		if strings.Contains(s, short) {
			return true
		}
	}
	return false
}

// hidden stands where a secret stood.
const hidden = "[secret]"

// hide replaces all that in would find.
func (n needles) hide(s string) string {
	if !n.in(s) {
		return s
	}
	for _, short := range n.short {
		s = strings.ReplaceAll(s, short, hidden)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for j := i; j <= end && j+fragment <= len(s); j++ {
			if _, ok := n.runs[s[j:j+fragment]]; ok {
				end = j + fragment
			}
		}
		if end > i {
			b.WriteString(hidden)
			i = end
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}
