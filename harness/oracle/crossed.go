package oracle

import (
	"strings"

	"github.com/unwedge/unwedge/harness/verdict"
)

// crossedReplies finds answers that lack the call's own nonce. An answer that a script made up is the server's, not the
// target's, doing.
func crossedReplies(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, c := range v.calls {
		if !c.done || !c.res.OK || c.res.IsError || c.res.Err != nil || c.res.NonceOK || c.Nonce == "" || v.scripted(c) {
			continue
		}
		f := v.finding(verdict.FindingCrossedReply, c.Server, c.end, "an answer to %s is not the caller's own", c.name())
		f.Expected = "the answer begins with the call's own nonce"
		f.Evidence = []verdict.Line{
			v.line(c.T, "call to %s begins", c.name()),
			v.line(c.end, "it was answered with %q", v.quote(c.res.Text)),
		}
		if other := v.ownerOf(c.res.Text); other != nil && other != c {
			f.Evidence = append(f.Evidence, v.line(other.T, "that is the answer to another call, to %s, begun here", other.name()))
		}
		out = append(out, f)
	}
	return perServer(out)
}

// ownerOf is the call whose nonce begins a text.
func (v *view) ownerOf(text string) *call {
	for _, c := range v.calls {
		if c.Nonce != "" && strings.HasPrefix(text, c.Nonce) {
			return c
		}
	}
	return nil
}

// scripted says whether the answer's text is one that the server's script gives instead of the healthy one.
func (v *view) scripted(c *call) bool {
	rules := v.Scenario.Servers[c.Server].Script.Rules
	for _, f := range v.faultsOn(c.Server) {
		rules = append(rules[:len(rules):len(rules)], f.Rules...)
	}
	for _, r := range rules {
		for _, a := range r.Do {
			if a.Reply != nil && c.res.Text != "" && (a.Reply.Text == c.res.Text || underOwnID(a.Reply.Raw, c.res.Text)) {
				return true
			}
		}
	}
	return false
}

// underOwnID says whether a raw reply gives this text under the request's own id, be it written as a number or as a string. A text
// under any other id is nobody's answer.
func underOwnID(raw, text string) bool {
	return strings.Contains(raw, "{{id}}") && strings.Contains(raw, text)
}
