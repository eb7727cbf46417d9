package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unwedge/unwedge/ci/internal/mutant"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
)

// table is every class of the one list against everything that can fail it.
type table []*row

// row is one class.
type row struct {
	Class     string              `json:"class"`
	Bare      cell                `json:"bare"`
	Naive     cell                `json:"naive"`
	Mutants   cell                `json:"mutants"`
	Caught    bool                `json:"caught"` // something fails it
	scenarios []scenario.Scenario // in the list's order
}

// cell is what one catcher showed of a class.
type cell struct {
	Ran    int      `json:"ran"`              // scenarios, or mutants
	Failed int      `json:"failed"`           // how many of them failed as they should
	Seen   []string `json:"seen,omitempty"`   // classes and findings of those that failed, the most frequent first
	By     []string `json:"by,omitempty"`     // the scenarios, or mutants, that failed
	Unsure []string `json:"unsure,omitempty"` // those that proved nothing, and why
	Passed []string `json:"passed,omitempty"` // those that passed
	counts map[string]int
}

// newTable has a row for every class of the list, in the list's order. A scenario without a class stands for itself.
func newTable(all []scenario.Scenario) table {
	var t table
	for _, s := range all {
		r := t.row(classOf(s))
		if r == nil {
			r = &row{Class: classOf(s)}
			t = append(t, r)
		}
		r.scenarios = append(r.scenarios, s)
	}
	return t
}

func classOf(s scenario.Scenario) string { return cmp.Or(s.FaultClass(), s.ID) }

// row is that of a class; nil when there is none.
func (t table) row(class string) *row {
	for _, r := range t {
		if r.Class == class {
			return r
		}
	}
	return nil
}

// add takes in what a client without a supervisor showed.
func (t table) add(client string, vs []verdict.Verdict) error {
	for _, v := range vs {
		r := t.row(cmp.Or(v.Class, v.Scenario))
		if r == nil {
			return fmt.Errorf("a verdict on %s, whose class %q is not in the list", v.Scenario, v.Class)
		}
		c := r.cell(client)
		switch {
		case (verdict.FailOn{}).Failed(v):
			c.catch(v.Name(), seen(v))
			r.Caught = true
		case !v.Result.Judged():
			c.Unsure = append(c.Unsure, fmt.Sprintf("%s: %s: %s", v.Name(), v.Result, v.Reason))
		default:
			c.Passed = append(c.Passed, v.Name())
		}
		c.Ran++
	}
	return nil
}

// addMutant takes in what became of a mutant. The class that it gives a catcher is that of its scenario.
func (t table) addMutant(m mutant.Mutant, j mutant.Judgement) error {
	r := t.ofScenario(m.Scenario)
	if r == nil {
		return fmt.Errorf("mutant %s names scenario %q, which is not in the list", m.Name, m.Scenario)
	}
	r.Mutants.Ran++
	if j.OK() {
		r.Mutants.catch(m.Name, []string{m.Name})
		r.Caught = true
		return nil
	}
	r.Mutants.Unsure = append(r.Mutants.Unsure, fmt.Sprintf("%s: without it %s, caught %s: %s", m.Name, j.Clean, j.Caught, j.Reason))
	return nil
}

func (t table) ofScenario(id string) *row {
	for _, r := range t {
		if slices.ContainsFunc(r.scenarios, func(s scenario.Scenario) bool { return s.ID == id }) {
			return r
		}
	}
	return nil
}

func (r *row) cell(client string) *cell {
	if client == target.BareName {
		return &r.Bare
	}
	return &r.Naive
}

// catch counts one that failed, and keeps what was seen in the order of frequency.
func (c *cell) catch(by string, what []string) {
	c.Failed++
	c.By = append(c.By, by)
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	for _, w := range what {
		c.counts[w]++
	}
	c.Seen = slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b))
	})
}

// seen is what makes a verdict a failing one.
func seen(v verdict.Verdict) []string {
	var out []string
	if (verdict.FailOn{}).ClassFails(v) {
		out = append(out, string(v.Result))
	}
	for _, f := range v.Findings {
		out = append(out, f.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// uncaught are the classes that nothing fails.
func (t table) uncaught() []string {
	var out []string
	for _, r := range t {
		if !r.Caught {
			out = append(out, r.Class)
		}
	}
	return out
}

// print writes the table for people, and behind it what each class without a catcher was given.
func (t table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "CLASS\tBARE\tNAIVE\tMUTANTS")
	for _, r := range t {
		mark := ""
		if !r.Caught {
			mark = "  NO CATCHER"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s%s\n", r.Class, r.Bare, r.Naive, r.Mutants, mark)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, r := range t {
		if !r.Caught {
			r.why(w)
		}
	}
	return nil
}

// why says what was tried on a class that nothing fails.
func (r *row) why(w io.Writer) {
	fmt.Fprintf(w, "\n%s: nothing fails it\n", r.Class)
	for _, c := range []struct {
		name string
		cell
	}{{target.BareName, r.Bare}, {target.NaiveName, r.Naive}, {"mutants", r.Mutants}} {
		for _, p := range c.Passed {
			fmt.Fprintf(w, "  %s passes %s\n", c.name, p)
		}
		for _, u := range c.Unsure {
			fmt.Fprintf(w, "  %s: %s\n", c.name, u)
		}
	}
}

// String is a cell as the table shows it: "wedged, hung-call (3 of 4)".
func (c cell) String() string {
	switch {
	case c.Ran == 0:
		return "."
	case c.Failed == 0 && len(c.Unsure) == c.Ran:
		return "?"
	case c.Failed == 0:
		return fmt.Sprintf("- (0 of %d)", c.Ran)
	}
	return fmt.Sprintf("%s (%d of %d)", strings.Join(c.Seen, ", "), c.Failed, c.Ran)
}

// printJSON writes the table for programs.
func (t table) printJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}
