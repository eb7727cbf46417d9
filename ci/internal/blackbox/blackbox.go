// Package blackbox builds the program and runs it as a user would: what goes in are a command line and, for mutants, changed
// source files; what comes out is the report's verdicts.json. It knows nothing of what the program does inside. For our own tools
// in ci/ only.
package blackbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/verdict"
)

// Root is where go.mod stands, from wherever inside the checkout this is run.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("not inside the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Program is one build of the checkout: unwedge and its helper in a folder.
type Program struct{ Dir string }

// Build compiles the checkout at root into dir, which it makes. overlay is a file for `go build -overlay`, or empty.
func Build(ctx context.Context, root, dir, overlay string) (Program, error) {
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/unwedge", "./cmd/unwedge-helper")...)
	cmd.Dir = root
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Program{}, err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return Program{}, fmt.Errorf("build: %w\n%s", err, out)
	}
	return Program{Dir: dir}, nil
}

// Judge runs a verb that judges, such as "certify" or "run", with its report in the folder out, and reads the verdicts. Whether
// they are good is the caller's business; the error says that there are none.
func (p Program) Judge(ctx context.Context, out string, args ...string) (report.Report, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return report.Report{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.Dir, "unwedge"), append(args, "--quiet", "--out", out)...)
	cmd.Dir = out // so that no file here is taken for a scenario
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return report.Report{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != verdict.ExitFail && exit.ExitCode() != verdict.ExitUnknown) {
		return report.Report{}, fmt.Errorf("unwedge %s: %w\n%s", args[0], err, text)
	}
	data, err := os.ReadFile(filepath.Join(out, "verdicts.json"))
	if err != nil {
		return report.Report{}, err
	}
	var r report.Report
	return r, json.Unmarshal(data, &r)
}

// Describe is a verdict in one line: its class, why it is none, and its findings.
func Describe(v verdict.Verdict) string {
	text := string(v.Result)
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	for _, f := range v.Findings {
		text += "; " + f.Kind + ": " + f.Note
	}
	return text
}
