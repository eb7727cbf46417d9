// Package mutant is the table of old defects, ci/mutants/mutants.yaml, and how one is put back and judged. A mutant is a few text
// edits of the supervisor; they are applied to a copy and compiled in with `go build -overlay`, so the checkout is never touched.
// For our own tools in ci/ only.
//
//	mutant.go  the table, its edits
//	judge.go   whether the scenario that is named catches it, for its own reason
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Mutant is one old behaviour.
type Mutant struct {
	Name   string `yaml:"name"`
	Thread string `yaml:"thread"` // the public thread it restores the behaviour of; empty for an unrelated one
	Why    string `yaml:"why"`    // what the old behaviour does
	Edits  []Edit `yaml:"edits"`
	// Scenario must fail with the mutant in, and for this reason.
	Scenario string `yaml:"scenario"`
	Era      string `yaml:"era,omitempty"` // empty = legacy
	Reason   Reason `yaml:"reason"`
	// Only are globs of the scenarios that may fail when the whole list runs (-all); empty = Scenario alone.
	Only []string `yaml:"only,omitempty"`
}

// Edit replaces one piece of a file. Old must stand in it exactly once.
type Edit struct {
	File string `yaml:"file"`
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// Reason is why the scenario must fail: a recovery class, a finding, or both. Text must stand in the story or the finding.
type Reason struct {
	Result  string `yaml:"result,omitempty"`
	Finding string `yaml:"finding,omitempty"`
	Text    string `yaml:"text,omitempty"`
}

// Load reads the table beside the module's root.
func Load(root string) ([]Mutant, error) {
	file := filepath.Join(root, "ci", "mutants", "mutants.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var table []Mutant
	if err := strictyaml.Decode(file, data, &table); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, m := range table {
		switch {
		case m.Name == "" || m.Why == "" || m.Scenario == "" || len(m.Edits) == 0:
			return nil, fmt.Errorf("%s: mutant %q: name, why, scenario and edits are needed", file, m.Name)
		case m.Reason == (Reason{}):
			return nil, fmt.Errorf("%s: mutant %q has no reason to be caught for", file, m.Name)
		case seen[m.Name]:
			return nil, fmt.Errorf("%s: mutant %q stands twice", file, m.Name)
		}
		seen[m.Name] = true
	}
	return table, nil
}

// Overlay writes the mutated copies and the overlay file into dir and returns the overlay's path.
func (m Mutant) Overlay(root, dir string) (string, error) {
	replace := map[string]string{}
	for i, e := range m.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		from := path
		if earlier, ok := replace[path]; ok {
			from = earlier
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if n := strings.Count(string(data), e.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: edit %d: the old text stands %d times in %s, it must stand once", m.Name, i+1, n, e.File)
		}
		copied := filepath.Join(dir, fmt.Sprintf("%s-%d-%s", m.Name, i, filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(strings.Replace(string(data), e.Old, e.New, 1)), 0o644); err != nil {
			return "", err
		}
		replace[path] = copied
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, m.Name+"-overlay.json")
	return file, os.WriteFile(file, data, 0o644)
}

// may says whether a scenario may fail under this mutant.
func (m Mutant) may(scenario string) bool {
	globs := m.Only
	if len(globs) == 0 {
		globs = []string{m.Scenario}
	}
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := filepath.Match(g, scenario)
		return err == nil && ok
	})
}
