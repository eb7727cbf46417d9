package oracle

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// uselessErrors reads the errors that callers got. Of any target an error must have a text. The built-in supervisor promises more: the
// server's name, a kind, for calls in flight whether they may have had an effect, and how the process ended when it died in the
// call (SUP-4, SUP-10, SUP-12).
func uselessErrors(v *view) []verdict.Finding {
	var out []verdict.Finding
	told := make(map[string]bool)
	for _, c := range v.calls {
		if !c.done || c.res.Err == nil || v.ended(c) || v.closing(c) {
			continue
		}
		for _, d := range v.defects(c) {
			key := c.Server + "|" + d.note
			if told[key] {
				continue
			}
			told[key] = true
			f := v.finding(verdict.FindingUselessError, c.Server, c.end, "%s", d.note)
			f.Expected = d.expected
			f.Evidence = []verdict.Line{v.line(c.T, "call to %s begins", c.name()), v.line(c.end, "it %s", v.outcome(c))}
			out = append(out, f)
		}
	}
	return out
}

type defect struct{ note, expected string }

// defects are what an error lacks.
func (v *view) defects(c *call) []defect {
	err := c.res.Err
	if blank(err.Message) {
		return []defect{{"an error has no text", "a text that says what happened and to which server"}}
	}
	if !v.profile.BuiltIn {
		return nil
	}
	var out []defect
	if !strings.Contains(err.Message, c.Server) {
		out = append(out, defect{"an error does not name its server", "the text names the server"})
	}
	if err.Kind == "" {
		out = append(out, defect{"an error has no kind", "a kind, such as transport or timeout"})
	}
	read, inFlight := v.inFlight(c)
	if err.Outcome == driver.OutcomeNotSent && read != nil {
		out = append(out, defect{"an error says \"not sent\" of a call that the server read", "not sent only of what certainly was not"})
	}
	if inFlight && err.Outcome == "" {
		out = append(out, defect{"an error does not say whether the call may have had an effect", "an outcome: not-sent, unknown or answered"})
	}
	if inFlight && err.Kind != driver.KindCancelled {
		if how := v.deathOf(c.Server, read.Life, read.T, v.due(c)); how != "" && !tells(err.Message, how) {
			out = append(out, defect{"an error does not say how the process ended", fmt.Sprintf("the text says %q", how)})
		}
	}
	return out
}

// inFlight finds the server's own record of having read a call. It is in flight when the server never answered it. An answer is journalled
// after it was written, so on a busy machine its caller may have read it before: an error that the server has sent itself shows that.
func (v *view) inFlight(c *call) (read *journal.Entry, inFlight bool) {
	if c.Nonce == "" {
		return nil, false
	}
	for _, e := range v.entries {
		if e.Server != c.Server || e.Role != "" || e.Nonce != c.Nonce {
			continue
		}
		answer := e.Kind == journal.Replied && c.res.Err != nil && c.res.Err.Kind == driver.KindTool
		if e.T > c.end && !answer {
			continue
		}
		switch e.Kind {
		case journal.Request:
			read, inFlight = &e, true
		case journal.Replied:
			inFlight = false
		}
	}
	return read, inFlight
}

// due is when a call was over for its caller: an error that comes at the deadline cannot tell of what follows from it, such as the
// death of a server that is told of the cancellation.
func (v *view) due(c *call) mono.Time {
	if c.Timeout <= 0 {
		return c.end
	}
	return min(c.end, c.T.Add(time.Duration(c.Timeout)))
}

// deathOf is how a life ended by its script within a span: "exit 1", "signal KILL"; "" when it did not.
func (v *view) deathOf(server string, life int, from, to mono.Time) string {
	for _, e := range v.entries {
		if e.Server != server || e.Role != "" || e.Life != life || e.T < from || e.T > to {
			continue
		}
		if e.Kind != journal.Rule {
			continue // an exit of its own will may be its answer to what the target did: a closed pipe, an end of stdin
		}
		for act := range strings.SplitSeq(e.Detail, ", ") {
			verb, what, _ := strings.Cut(act, " ")
			if verb == "exit" || verb == "signal" && what != "STOP" && what != "CONT" {
				return act
			}
		}
	}
	return ""
}

// signalWords are the words by which operating systems and people call a signal, where its own short name is not one of them.
var signalWords = map[string]string{
	"KILL": "kill", "SEGV": "segv|segmentation", "TERM": "term", "INT": "sigint|interrupt", "ABRT": "abrt|abort",
	"HUP": "hup|hangup", "PIPE": "pipe", "BUS": "bus", "ILL": "sigill|illegal", "FPE": "fpe|floating",
}

// tells says whether an error text tells a death such as "exit 1" or "signal KILL".
func tells(text, how string) bool {
	verb, what, _ := strings.Cut(how, " ")
	pattern := `exit[^0-9]*\b` + regexp.QuoteMeta(what) + `\b`
	if verb == "signal" {
		if pattern = signalWords[what]; pattern == "" {
			pattern = regexp.QuoteMeta(what)
		}
	}
	ok, err := regexp.MatchString("(?i)"+pattern, text)
	return err == nil && ok
}

// blank says whether a text says nothing.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
