package mutant

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unwedge/unwedge/ci/internal/blackbox"
	"github.com/unwedge/unwedge/scenarios"
)

// loaded is the table of this checkout.
func loaded(t *testing.T) (root string, table []Mutant) {
	t.Helper()
	root, err := blackbox.Root(t.Context())
	if err == nil {
		table, err = Load(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	return root, table
}

// TestEveryMutantAppliesAndCompiles keeps the table in step with the supervisor's text.
func TestEveryMutantAppliesAndCompiles(t *testing.T) {
	root, table := loaded(t)
	if len(table) == 0 {
		t.Fatal("the table of mutants is empty")
	}
	for _, m := range table {
		t.Run(m.Name, func(t *testing.T) {
			overlay, err := m.Overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./supervisor/...", "./breaker/...")
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// TestEveryMutantNamesAScenario of the one list, and its globs match something.
func TestEveryMutantNamesAScenario(t *testing.T) {
	_, table := loaded(t)
	ids := map[string]bool{}
	for _, s := range scenarios.All() {
		ids[s.ID] = true
	}
	for _, m := range table {
		if !ids[m.Scenario] {
			t.Errorf("mutant %s names scenario %q, which is not in the list", m.Name, m.Scenario)
		}
	}
}

// TestOverlayRefusesAnEditThatDoesNotFit shows that a stale patch cannot pass in silence.
func TestOverlayRefusesAnEditThatDoesNotFit(t *testing.T) {
	root, err := blackbox.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := Mutant{Name: "stale", Edits: []Edit{{File: filepath.ToSlash("go.mod"), Old: "no such text", New: ""}}}
	if _, err := m.Overlay(root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "stands 0 times") {
		t.Fatalf("got %v", err)
	}
}
