package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// FailOn is what makes a run fail. The zero value is the default: every failing class of the ladder, unless its scenario lets
// it pass, and every finding.
type FailOn struct {
	words []string // classes and finding kinds; nil is the default
}

// Words of --fail-on besides classes and finding kinds.
const (
	failOnDefault  = "default"  // everything that fails without --fail-on
	failOnFindings = "findings" // every finding
)

// BadWord is a word of --fail-on that names neither a class nor a finding.
type BadWord struct {
	Word, Near string // Near is the nearest word that exists, or ""
}

func (e *BadWord) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("%q is neither a class nor a finding", e.Word)
	}
	return fmt.Sprintf("%q is neither a class nor a finding, did you mean %q?", e.Word, e.Near)
}

// minLikeness is the share of letters in common under which a suggestion would be a guess.
const minLikeness = 0.5

// ParseFailOn reads a list such as "wedged,hung-call". Besides classes and finding kinds it knows "findings" (every kind) and
// "default". Empty is the default. The error is a *BadWord.
func ParseFailOn(s string) (FailOn, error) {
	var on FailOn
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		switch {
		case word == "":
			continue
		case word == failOnDefault:
			for _, c := range ladder {
				if c.Failing() {
					on.words = append(on.words, string(c))
				}
			}
			on.words = append(on.words, kinds...)
		case word == failOnFindings:
			on.words = append(on.words, kinds...)
		case slices.Contains(failOnWords(), word):
			on.words = append(on.words, word)
		default:
			return FailOn{}, &BadWord{Word: word, Near: nearest(word, failOnWords())}
		}
	}
	return on, nil
}

// failOnWords are all words that --fail-on knows. Classes that say nothing bad are not among them.
func failOnWords() []string {
	words := []string{failOnDefault, failOnFindings}
	for _, c := range ladder {
		if c != Recovered && c != NotApplicable {
			words = append(words, string(c))
		}
	}
	return append(words, kinds...)
}

func nearest(word string, words []string) string {
	best, likeness := "", minLikeness
	for _, w := range words {
		if l := levenshtein.Similarity(word, w, nil); l > likeness {
			best, likeness = w, l
		}
	}
	return best
}

// ClassFails says whether the verdict's class fails the run. What the scenario expects passes, also when it is on the list.
func (on FailOn) ClassFails(v Verdict) bool {
	if on.words == nil {
		return v.Result.Failing() && !v.Result.Passes(v.Expect)
	}
	expected := v.Expect != "" && Class(v.Expect) != Recovered && v.Result.Passes(v.Expect)
	return slices.Contains(on.words, string(v.Result)) && !expected
}

// FindingFails says whether a finding of this kind fails the run.
func (on FailOn) FindingFails(kind string) bool {
	return on.words == nil || slices.Contains(on.words, kind)
}

// Failed says whether the verdict fails the run, by its class or by a finding.
func (on FailOn) Failed(v Verdict) bool {
	return on.ClassFails(v) || slices.ContainsFunc(v.Findings, func(f Finding) bool { return on.FindingFails(f.Kind) })
}

// Exit codes. Bad input is the command's own: nothing was run then.
const (
	ExitPass     = 0
	ExitFail     = 1
	ExitBadInput = 2
	ExitUnknown  = 3
)

// ExitCode is 1 when any verdict fails; else 3 when any is inconclusive, when none was applicable, or when the run was
// interrupted; else 0.
func ExitCode(vs []Verdict, interrupted bool, on FailOn) int {
	if slices.ContainsFunc(vs, on.Failed) {
		return ExitFail
	}
	unknown := slices.ContainsFunc(vs, func(v Verdict) bool { return v.Result == Inconclusive || v.Result == "" })
	judged := slices.ContainsFunc(vs, func(v Verdict) bool { return v.Result.Judged() })
	if interrupted || unknown || !judged {
		return ExitUnknown
	}
	return ExitPass
}
