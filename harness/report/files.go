package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Files that Write makes.
const (
	VerdictsFile = "verdicts.json"
	JUnitFile    = "junit.xml"
	SummaryFile  = "summary.md"
)

// Schema is the version of verdicts.json. Fields may be added under the same number; a field that changes its meaning or goes
// away raises it.
const Schema = 1

// document is verdicts.json.
type document struct {
	Schema   int `json:"schema"`
	ExitCode int `json:"exit_code"`
	// SeedHex is the seed as --seed takes it; the number may be larger than what a script's numbers hold.
	SeedHex string `json:"seed_hex"`
	Report
}

// Write puts verdicts.json, junit.xml and summary.md into dir, which is made if need be. Files of an earlier report are replaced.
func Write(dir string, r Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	verdicts, err := json.MarshalIndent(document{Schema, r.ExitCode(), fmt.Sprintf("%x", r.Seed), r}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", VerdictsFile, err)
	}
	junit, err := JUnit(r)
	if err != nil {
		return fmt.Errorf("writing %s: %w", JUnitFile, err)
	}
	for name, b := range map[string][]byte{
		VerdictsFile: append(verdicts, '\n'), JUnitFile: junit, SummaryFile: []byte(Markdown(r)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// Read reads a verdicts.json back. A schema that this version does not know is refused.
func Read(path string) (Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("reading verdicts: %w", err)
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return Report{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if d.Schema != Schema {
		return Report{}, fmt.Errorf("reading %s: schema %d, this version knows %d", path, d.Schema, Schema)
	}
	return d.Report, nil
}
