package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/scenarios"
)

// Show prints a fault, a scenario or what stands for a public report, whichever id names; several when it names several.
func Show(w io.Writer, id string) error {
	if strings.Contains(id, "#") {
		return showReport(w, id)
	}
	s, isScenario := scenarios.ByID(id)
	fs := faultsNamed(id)
	if !isScenario && len(fs) == 0 {
		return fmt.Errorf("show %s: no scenario, fault or class has this id%s; `unwedge list` shows them", id, didYouMean(id, knownIDs()))
	}
	for _, f := range fs {
		showFault(w, f)
	}
	if isScenario {
		return showScenario(w, s)
	}
	return nil
}

// faultsNamed finds one fault by its id, or all of a class.
func faultsNamed(id string) []faults.Info {
	var out []faults.Info
	for _, f := range faults.Catalogue() {
		if what := f.What(); what.ID == id || what.Class == id {
			out = append(out, what)
		}
	}
	return out
}

func knownIDs() []string {
	var ids []string
	for _, f := range faults.Catalogue() {
		ids = append(ids, f.What().ID, f.What().Class)
	}
	for _, s := range scenarios.All() {
		ids = append(ids, s.ID)
	}
	return ids
}

func showFault(w io.Writer, f faults.Info) {
	fmt.Fprintf(w, "fault     %s\n", f.ID)
	fmt.Fprintf(w, "what      %s\n", f.Title)
	fmt.Fprintf(w, "recovery  %s\n", f.Recovery)
	fmt.Fprintf(w, "class     %s (group %s), over %s, eras %s\n", f.Class, f.Group, f.Transport, strings.Join(eraNames(f.Eras), " and "))
	if len(f.Reports) > 0 {
		fmt.Fprintf(w, "reports   %s\n", strings.Join(f.Reports, ", "))
	}
	fmt.Fprintln(w)
}

// showScenario prints it as the YAML file that `unwedge run` takes; a field file as it was written, with its comments.
func showScenario(w io.Writer, s scenario.Scenario) error {
	text, ok := scenarios.Source(s.ID)
	if !ok {
		made, err := scenario.Marshal(s)
		if err != nil {
			return fmt.Errorf("show %s: %w", s.ID, err)
		}
		text = string(made)
	}
	fmt.Fprintf(w, "scenario  %s (eras %s, labels %s)\nrun it    unwedge run %s\n\n%s", s.ID,
		strings.Join(eraNames(s.InEras()), " and "), strings.Join(Labels(s), " "), s.ID, text)
	return nil
}

// showReport finds the class a public report belongs to and the scenarios that reproduce it.
func showReport(w io.Writer, report string) error {
	class, known := faults.ClassOfReport(report)
	var ids []string
	for _, s := range scenarios.All() {
		if slices.Contains(s.Reports, report) || (known && s.FaultClass() == class.Slug) {
			ids = append(ids, s.ID)
		}
	}
	if !known && len(ids) == 0 {
		return fmt.Errorf("show %s: the catalogue does not know this report", report)
	}
	fmt.Fprintf(w, "report    %s\n", report)
	if known {
		fmt.Fprintf(w, "class     %s\n", class.Slug)
	}
	for _, id := range ids {
		fmt.Fprintf(w, "run it    unwedge run %s --target YOURS\n", id)
	}
	if len(ids) == 0 {
		fmt.Fprintln(w, "no scenario of the list injects this class yet")
	}
	return nil
}
