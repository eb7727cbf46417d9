package cli

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/agext/levenshtein"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Labels of a scenario: its class, the group letter, its transports, "field" for a reproduction of a public report.
func Labels(s scenario.Scenario) []string {
	set := map[string]bool{s.Class: true}
	for _, srv := range s.Servers {
		set[srv.Transport] = true
	}
	for _, st := range s.Steps {
		if f, ok := faults.ByID(st.Inject); ok {
			set[f.What().Group] = true
			set[f.What().Class] = true
		}
	}
	if s.File != "" {
		set["field"] = true
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

// selectScenarios keeps what matches the glob and carries every label. An empty choice is an error that says what there is.
func selectScenarios(all []scenario.Scenario, glob string, labels []string) ([]scenario.Scenario, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, fmt.Errorf("--run %s: %w", glob, err)
	}
	var ids, known []string
	for _, s := range all {
		ids = append(ids, s.ID)
		known = append(known, Labels(s)...)
	}
	for _, l := range labels {
		if !slices.Contains(known, l) {
			return nil, fmt.Errorf("--label %s: no scenario has this label%s; `unwedge list` shows them", l, didYouMean(l, known))
		}
	}
	var out []scenario.Scenario
	for _, s := range all {
		if matches(glob, s.ID) && carriesAll(s, labels) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no scenario matches --run %q with labels %v%s; `unwedge list` shows them", glob, labels, didYouMean(glob, ids))
	}
	return out, nil
}

// matches lets "child-dies-idle" stand for all its variants and "child-*" for all that begin so.
func matches(glob, id string) bool {
	if glob == "" {
		return true
	}
	for _, candidate := range []string{id, path.Dir(id)} {
		if ok, _ := path.Match(glob, candidate); ok {
			return true
		}
	}
	return false
}

func carriesAll(s scenario.Scenario, want []string) bool {
	has := Labels(s)
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(has, w) })
}

// didYouMean is ` - did you mean "x"?` for the nearest known word, or empty when none is near.
func didYouMean(word string, known []string) string {
	best, score := "", 0.6
	for _, k := range known {
		if s := levenshtein.Similarity(word, k, nil); s > score {
			best, score = k, s
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" - did you mean %q?", best)
}
