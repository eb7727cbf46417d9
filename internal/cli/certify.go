package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/run"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/scenarios"
)

// Certify runs the list on a target and reports. With demo a bare client is shown beside it afterwards, without a say in the exit code.
func Certify(ctx context.Context, f RunFlags, all []scenario.Scenario, demo bool, out, errOut io.Writer) error {
	chosen, err := selectScenarios(all, f.Run, f.Labels)
	if err != nil {
		return err
	}
	r, err := execute(ctx, f, "certify", chosen, out, errOut)
	if err != nil {
		return err
	}
	if demo && ctx.Err() == nil && f.Run == "" && len(f.Labels) == 0 {
		if err := showBare(ctx, f, out); err != nil {
			fmt.Fprintln(errOut, "unwedge: the bare client beside it could not be shown:", err)
		}
	}
	return ExitOf(r.ExitCode())
}

// Run runs scenario files and scenarios of the list, by id.
func Run(ctx context.Context, f RunFlags, names []string, out, errOut io.Writer) error {
	var chosen []scenario.Scenario
	for _, name := range names {
		s, err := scenarioNamed(name)
		if err != nil {
			return err
		}
		chosen = append(chosen, s)
	}
	chosen, err := selectScenarios(chosen, f.Run, f.Labels)
	if err != nil {
		return err
	}
	r, err := execute(ctx, f, strings.Join(names, " "), chosen, out, errOut)
	if err != nil {
		return err
	}
	return ExitOf(r.ExitCode())
}

// scenarioNamed reads a file, or takes a scenario of the list by its id.
func scenarioNamed(name string) (scenario.Scenario, error) {
	data, err := os.ReadFile(name)
	if err == nil {
		return scenario.Parse(name, data)
	}
	if s, ok := scenarios.ByID(name); ok && errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return scenario.Scenario{}, fmt.Errorf("run %s: no such file, and no scenario with this id%s; `unwedge list` shows them",
			name, didYouMean(name, knownIDs()))
	}
	return scenario.Scenario{}, err
}

// execute turns flags into options, runs, prints and writes the report. An error is bad input: nothing was judged.
func execute(ctx context.Context, f RunFlags, title string, chosen []scenario.Scenario, out, errOut io.Writer) (report.Report, error) {
	o, failOn, err := f.options(title, chosen)
	if err != nil {
		return report.Report{}, err
	}
	news := report.NewProgress(errOut, isTerminal(errOut) && !f.Quiet)
	headed := false
	o.Progress = func(p run.Progress) {
		if p.Report != nil {
			fmt.Fprintln(out, report.Header(*p.Report))
			headed = true
		}
		news.News(p.Done, p.Total, p.Verdict, p.Note)
	}
	r, err := run.Certify(ctx, o)
	if err != nil {
		return r, err
	}
	r.FailOn = failOn
	r.Out = f.Out
	if f.Out != "" {
		if err := report.Write(f.Out, r); err != nil {
			return r, err
		}
	}
	return r, report.Text(out, r, report.Opts{Color: colour(out), Verbose: f.Verbose, NoHeader: headed})
}

// options checks every flag before anything is started.
func (f *RunFlags) options(title string, chosen []scenario.Scenario) (run.Options, verdict.FailOn, error) {
	failOn, err := verdict.ParseFailOn(f.FailOn)
	if err != nil {
		return run.Options{}, failOn, fmt.Errorf("--fail-on: %w", err)
	}
	eras, err := f.eras()
	if err != nil {
		return run.Options{}, failOn, err
	}
	seed, err := f.seed()
	if err != nil {
		return run.Options{}, failOn, err
	}
	switch {
	case f.Jobs < 0:
		return run.Options{}, failOn, fmt.Errorf("--jobs %d: must not be negative", f.Jobs)
	case f.MaxRecovery <= 0:
		return run.Options{}, failOn, fmt.Errorf("--max-recovery %s: must be positive", f.MaxRecovery)
	}
	profile, err := target.Resolve(f.Target)
	if err != nil {
		return run.Options{}, failOn, err
	}
	return run.Options{
		Title: title, Target: profile, Scenarios: chosen, Eras: eras, Jobs: f.Jobs, Seed: seed,
		Out: f.Out, MaxRecovery: f.MaxRecovery, NoRerun: f.NoRerun,
	}, failOn, nil
}

// showBare runs the fault that started it all on a client without a supervisor: what a wedge looks like.
func showBare(ctx context.Context, f RunFlags, out io.Writer) error {
	s, ok := scenarios.ByID(faults.Kill)
	if !ok {
		return fmt.Errorf("scenario %s is not in the list", faults.Kill)
	}
	r, err := run.Certify(ctx, run.Options{
		Title: "beside it", Target: target.Bare(), Scenarios: []scenario.Scenario{s},
		Eras: []script.Era{script.Legacy}, MaxRecovery: f.MaxRecovery,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nBeside it, a bare go-sdk client without a supervisor (shown for comparison, no part of the result):")
	return report.Text(out, r, report.Opts{Color: colour(out)})
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// colour is for terminals whose owner did not refuse it (NO_COLOR).
func colour(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }
