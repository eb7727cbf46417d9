package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/verdict"
)

func main() {
	only := flag.String("run", "", "only the mutants whose name matches this glob")
	all := flag.Bool("all", false, "run the whole list of scenarios under each mutant: nothing else may fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *all); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run judges every mutant and prints the table; an error when one survives or is caught for another reason.
func run(ctx context.Context, only string, all bool) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	table, err := load(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "unwedge-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clean := bench{root: root, dir: filepath.Join(dir, "clean")}
	if err := clean.build(ctx, ""); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "MUTANT\tTHREAD\tSCENARIO\tCLEAN\tCAUGHT\tREASON")
	bad := 0
	for _, m := range table {
		if ok, _ := filepath.Match(only, m.Name); only != "" && !ok {
			continue
		}
		before, caught, reason := judge(ctx, clean, m, dir, all)
		if before != "passes" || caught != "yes" {
			bad++
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, orDash(m.Thread), m.Scenario, before, caught, reason)
		out.Flush()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d mutants not caught, or caught for another reason", bad)
	}
	return nil
}

// judge runs the mutant's scenario on the clean program (it must pass) and on the mutated one (it must fail for the mutant's reason).
func judge(ctx context.Context, clean bench, m Mutant, dir string, all bool) (before, caught, reason string) {
	r, err := clean.certify(ctx, m.Scenario, m.era())
	switch {
	case err != nil:
		return "error", "-", err.Error()
	case len(failing(r)) > 0:
		return "FAILS", "-", describe(failing(r)[0])
	}
	overlay, err := m.overlay(clean.root, dir)
	if err != nil {
		return "passes", "error", err.Error()
	}
	mutated := bench{root: clean.root, dir: filepath.Join(dir, m.Name)}
	if err := mutated.build(ctx, overlay); err != nil {
		return "passes", "error", err.Error()
	}
	glob := m.Scenario
	if all {
		glob = ""
	}
	if r, err = mutated.certify(ctx, glob, m.era()); err != nil {
		return "passes", "error", err.Error()
	}
	caught, reason = "NO", "it survived"
	for _, v := range failing(r) {
		switch {
		case v.Scenario == m.Scenario && m.Reason.fits(v):
			if caught == "NO" {
				caught, reason = "yes", describe(v)
			}
		case v.Scenario == m.Scenario:
			caught, reason = "OTHER REASON", describe(v)
		case !m.may(v.Scenario):
			caught, reason = "TOO MUCH", v.Scenario+" failed as well: "+describe(v)
		}
	}
	return "passes", caught, reason
}

func (m Mutant) era() string {
	if m.Era == "" {
		return "legacy"
	}
	return m.Era
}

// fits says whether a failing verdict failed for this reason.
func (r Reason) fits(v verdict.Verdict) bool {
	text := describe(v)
	for _, l := range v.Story {
		text += "\n" + l.Text
	}
	found := r.Finding == ""
	for _, f := range v.Findings {
		if f.Kind == r.Finding {
			found = true
		}
		text += "\n" + f.Note
	}
	return found && (r.Result == "" || string(v.Result) == r.Result) && strings.Contains(text, r.Text)
}

// bench is one built program.
type bench struct{ root, dir string }

func (b bench) build(ctx context.Context, overlay string) error {
	args := []string{"build", "-o", b.dir + string(filepath.Separator)}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/unwedge", "./cmd/unwedge-helper")...)
	cmd.Dir = b.root
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// certify runs the scenarios that match the glob and reads the verdicts.
func (b bench) certify(ctx context.Context, glob, era string) (report.Report, error) {
	out, err := os.MkdirTemp(b.dir, "out-")
	if err != nil {
		return report.Report{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "unwedge"), "certify", "--target", "builtin", "--quiet",
		"--era", era, "--run", glob, "--out", out)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return report.Report{}, fmt.Errorf("certify: %w\n%s", err, text)
	}
	data, err := os.ReadFile(filepath.Join(out, "verdicts.json"))
	if err != nil {
		return report.Report{}, err
	}
	var r report.Report
	return r, json.Unmarshal(data, &r)
}

func failing(r report.Report) []verdict.Verdict {
	var out []verdict.Verdict
	for _, v := range r.Verdicts {
		if !v.Pass {
			out = append(out, v)
		}
	}
	return out
}

func describe(v verdict.Verdict) string {
	text := string(v.Result)
	for _, f := range v.Findings {
		text += "; " + f.Kind + ": " + f.Note
	}
	return text
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// moduleRoot is where go.mod stands, from wherever inside the checkout this is run.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("not inside the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
