package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/lab"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// historyDir is the folder in Options.Out with one folder for each run.
const historyDir = "history"

func (r *runner) makeOut() error {
	if r.keepOut {
		err := os.MkdirAll(r.out, 0o755)
		if err == nil { // histories of an earlier run must not pass for this one's
			err = os.RemoveAll(filepath.Join(r.out, historyDir))
		}
		if err != nil {
			return fmt.Errorf("making the folder for the report: %w", err)
		}
		return nil
	}
	var err error
	if r.out, err = os.MkdirTemp("", "unwedge-"); err != nil {
		return fmt.Errorf("making a folder for the histories: %w", err)
	}
	return nil
}

// folder is where a run's history goes, relative to the report: history/ID-ERA, further runs with a number.
func (r *runner) folder(c *oneCase) string {
	name := r.unique(fileName(c.scenario.ID)+"-"+string(c.era), c.name())
	if c.runs > 1 {
		name += "-run" + strconv.Itoa(c.runs)
	}
	return filepath.Join(historyDir, name)
}

// unique keeps two owners from sharing a name: ids that differ only in odd letters.
func (r *runner) unique(name, owner string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for try, n := name, 2; ; n++ {
		if who, taken := r.names[try]; !taken || who == owner {
			r.names[try] = owner
			return try
		}
		try = name + "-" + strconv.Itoa(n)
	}
}

// again is the command line that runs just this again. The scenario is copied into the folder, so that it can be read, changed and sent.
func (r *runner) again(c *oneCase) string {
	file := filepath.Join(r.out, r.unique(fileName(c.scenario.ID), "file of "+c.scenario.ID)+".yaml")
	s := c.scenario
	s.Eras = nil // --era says it
	b, err := scenario.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		r.tell(Progress{Note: fmt.Sprintf("the scenario %s could not be copied: %v", s.ID, err)})
		return ""
	}
	name := r.profile.File
	if name == "" {
		name = r.profile.Name
	}
	return fmt.Sprintf("unwedge run %s --target %s --era %s --seed %x", file, name, c.era, r.seed)
}

// close joins the histories, or removes the folder when nobody asked for it and nothing in it is worth a look.
func (r *runner) close(rep report.Report) error {
	worth := slices.ContainsFunc(rep.Verdicts, func(v verdict.Verdict) bool { return !v.Pass && v.Result != verdict.NotApplicable })
	if !r.keepOut && !worth {
		err := os.RemoveAll(r.out)
		r.out = ""
		return err
	}
	return r.joinHistories(rep)
}

// joined is one line of the joined history: an event, and whose it is.
type joined struct {
	Scenario string `json:"scenario"`
	Era      string `json:"era"`
	Run      int    `json:"run"`
	history.Event
}

// joinHistories writes all histories into one file, case after case.
func (r *runner) joinHistories(rep report.Report) (err error) {
	f, err := os.Create(filepath.Join(r.out, lab.HistoryFile))
	if err != nil {
		return fmt.Errorf("joining the histories: %w", err)
	}
	w := bufio.NewWriter(f)
	defer func() {
		err = errors.Join(err, w.Flush(), f.Close())
	}()
	out := json.NewEncoder(w)
	for _, v := range rep.Verdicts {
		first := filepath.Join(historyDir, r.unique(fileName(v.Scenario)+"-"+v.Era, v.Scenario+" ("+v.Era+")"))
		for n := 1; n <= v.Runs; n++ {
			dir := first
			if n > 1 {
				dir += "-run" + strconv.Itoa(n)
			}
			if err := appendHistory(out, filepath.Join(r.out, dir, lab.HistoryFile), joined{Scenario: v.Scenario, Era: v.Era, Run: n}); err != nil {
				return fmt.Errorf("joining the histories: %w", err)
			}
		}
	}
	return nil
}

// appendHistory copies one history. A run whose world could not be built has none.
func appendHistory(out *json.Encoder, path string, whose joined) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := json.NewDecoder(f)
	for in.More() {
		whose.Event = history.Event{}
		if err := in.Decode(&whose.Event); err != nil {
			return err
		}
		if err := out.Encode(whose); err != nil {
			return err
		}
	}
	return nil
}
