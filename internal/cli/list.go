package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/scenarios"
)

// Listable are the words that `unwedge list` takes; the first is its default.
var Listable = []string{"scenarios", "faults", "targets"}

// row is one line of a list; the JSON form has the same facts.
type row struct {
	ID      string   `json:"id"`
	Eras    []string `json:"eras,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Title   string   `json:"title"`
	Reports []string `json:"reports,omitempty"`
}

// List prints what there is of one kind.
func List(w io.Writer, what string, asJSON bool) error {
	var rows []row
	switch what {
	case "scenarios":
		for _, s := range scenarios.All() {
			rows = append(rows, scenarioRow(s))
		}
	case "faults":
		for _, f := range faults.Catalogue() {
			rows = append(rows, faultRow(f.What()))
		}
	case "targets":
		for _, p := range target.Own() {
			rows = append(rows, row{ID: p.Name, Title: p.Title, Eras: eraNames(p.Eras)})
		}
	default:
		return fmt.Errorf("list %s: there are %s%s", what, strings.Join(Listable, ", "), didYouMean(what, Listable))
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, strings.ToUpper(strings.TrimSuffix(what, "s"))+"\tERAS\tLABELS\tWHAT")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, strings.Join(r.Eras, ","), strings.Join(r.Labels, ","), r.Title)
	}
	return tw.Flush()
}

func scenarioRow(s scenario.Scenario) row {
	title := s.Title
	if f, ok := faults.ByID(s.ID); title == "" && ok {
		title = f.What().Title
	}
	return row{ID: s.ID, Eras: eraNames(s.InEras()), Labels: Labels(s), Title: title, Reports: s.Reports}
}

func faultRow(f faults.Info) row {
	return row{ID: f.ID, Eras: eraNames(f.Eras), Labels: []string{f.Group, f.Transport}, Title: f.Title, Reports: f.Reports}
}

// eraNames spells eras out; none given means both.
func eraNames(eras []script.Era) []string {
	if len(eras) == 0 {
		eras = []script.Era{script.Legacy, script.Modern}
	}
	out := make([]string, 0, len(eras))
	for _, e := range eras {
		out = append(out, string(e))
	}
	slices.Sort(out)
	return out
}
