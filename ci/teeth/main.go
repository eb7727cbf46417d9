// Command teeth shows for every class of the one list what fails it: the client without a supervisor (bare), the one that
// reconnects on an error and nothing more (naive), or a mutant of ci/mutants/mutants.yaml. A class that nothing fails proves nothing
// when it passes.
//
// It builds the program once and runs it as a user would. The two clients run the whole list once, without repetitions; mutants are
// run for the classes that neither fails. Run `go run ./ci/teeth -h` for the flags.
//
//	table.go  classes against catchers, and how that is printed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/unwedge/unwedge/ci/internal/blackbox"
	"github.com/unwedge/unwedge/ci/internal/mutant"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/scenarios"
)

// bareBound is how long the recovery of the bare client is waited for. It never reconnects: what it has left after a fault
// works at once or never, so there is no need to wait out what its profile declares for calls that hang.
const bareBound = 5 * time.Second

// settings are the flags.
type settings struct {
	era    string
	class  string
	jobs   int
	quick  bool
	all    bool
	json   bool
	out    string
	stderr io.Writer
}

func main() {
	var set settings
	flag.StringVar(&set.era, "era", string(script.Legacy), "protocol era; a scenario that does not exist in it runs in the other")
	flag.StringVar(&set.class, "class", "", "only the classes that match this glob")
	flag.IntVar(&set.jobs, "jobs", 0, "scenarios side by side (default: by the number of cores)")
	flag.BoolVar(&set.quick, "quick", false, "stop at the first catcher of each class")
	flag.BoolVar(&set.all, "all", false, "run every mutant, also those of classes that have a catcher")
	flag.BoolVar(&set.json, "json", false, "print the table as JSON")
	flag.StringVar(&set.out, "out", "", "keep the reports of the runs in this folder")
	flag.Parse()
	set.stderr = os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, set, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "teeth:", err)
		os.Exit(1)
	}
}

// run fills the table and prints it; an error when a class has no catcher.
func run(ctx context.Context, set settings, stdout io.Writer) (err error) {
	classes, err := chosen(set)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, client := range []string{target.BareName, target.NaiveName} {
		if err := b.client(ctx, client, classes); err != nil {
			return err
		}
	}
	if err := b.mutants(ctx, classes); err != nil {
		return err
	}
	show := classes.print
	if set.json {
		show = classes.printJSON
	}
	if err := show(stdout); err != nil {
		return err
	}
	if left := classes.uncaught(); len(left) > 0 {
		return fmt.Errorf("%d of %d classes have no catcher: %v", len(left), len(classes), left)
	}
	return nil
}

// chosen are the rows that the flags ask for, still empty.
func chosen(set settings) (table, error) {
	if set.era != string(script.Legacy) && set.era != string(script.Modern) {
		return nil, fmt.Errorf("-era %s: there is %s and %s", set.era, script.Legacy, script.Modern)
	}
	if _, err := path.Match(set.class, ""); err != nil {
		return nil, fmt.Errorf("-class %s: %w", set.class, err)
	}
	t := slices.DeleteFunc(newTable(scenarios.All()), func(r *row) bool {
		ok, _ := path.Match(set.class, r.Class)
		return set.class != "" && !ok
	})
	if len(t) == 0 {
		return nil, fmt.Errorf("-class %s: no class matches", set.class)
	}
	return t, nil
}

// bench is the built program and where its runs are kept.
type bench struct {
	settings
	root, dir string
	program   blackbox.Program
	runs      int
}

func newBench(ctx context.Context, set settings) (*bench, error) {
	root, err := blackbox.Root(ctx)
	if err != nil {
		return nil, err
	}
	b := &bench{settings: set, root: root}
	if b.out, err = filepath.Abs(b.out); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "unwedge-teeth-"); err != nil {
		return nil, err
	}
	if set.out == "" {
		b.out = b.dir
	}
	if b.program, err = blackbox.Build(ctx, root, filepath.Join(b.dir, "clean"), ""); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// client runs the classes on a client without a supervisor. When the first catcher is enough, classes that have one are left out, and of the
// others one scenario goes ahead: most need no second.
func (b *bench) client(ctx context.Context, name string, t table) error {
	if !b.quick {
		return b.scenarios(ctx, name, t, func(r *row) []scenario.Scenario { return r.scenarios })
	}
	uncaught := func(from, to int) func(*row) []scenario.Scenario {
		return func(r *row) []scenario.Scenario {
			if r.Caught {
				return nil
			}
			return r.scenarios[min(from, len(r.scenarios)):min(to, len(r.scenarios))]
		}
	}
	if err := b.scenarios(ctx, name, t, uncaught(0, 1)); err != nil {
		return err
	}
	return b.scenarios(ctx, name, t, uncaught(1, len(scenarios.All())))
}

// scenarios runs what is picked from each row, each scenario in the era asked for where it exists there.
func (b *bench) scenarios(ctx context.Context, client string, t table, pick func(*row) []scenario.Scenario) error {
	ids := map[script.Era][]string{}
	for _, r := range t {
		for _, s := range pick(r) {
			era := script.Era(b.era)
			if !slices.Contains(s.InEras(), era) {
				era = s.InEras()[0]
			}
			ids[era] = append(ids[era], s.ID)
		}
	}
	for _, era := range []script.Era{script.Legacy, script.Modern} {
		if len(ids[era]) == 0 {
			continue
		}
		begun := time.Now()
		b.runs++
		out := filepath.Join(b.out, fmt.Sprintf("%d-%s-%s", b.runs, client, era))
		args := append([]string{"run", "--target", client, "--era", string(era), "--jobs", strconv.Itoa(b.jobs), "--no-rerun"}, ids[era]...)
		if client == target.BareName {
			args = append(args, "--max-recovery", bareBound.String())
		}
		r, err := b.program.Judge(ctx, out, args...)
		if err != nil {
			return err
		}
		if err := t.add(client, r.Verdicts); err != nil {
			return err
		}
		fmt.Fprintf(b.stderr, "%s: %d scenarios, %s era, %d jobs: %v\n", client, len(ids[era]), era, r.Jobs,
			time.Since(begun).Round(time.Second))
	}
	return nil
}

// mutants puts old defects back: those of classes without a catcher, or all of them.
func (b *bench) mutants(ctx context.Context, t table) error {
	ms, err := mutant.Load(b.root)
	if err != nil {
		return err
	}
	for _, m := range ms {
		r := t.ofScenario(m.Scenario)
		if r == nil && b.class != "" || r != nil && b.spared(r) {
			continue
		}
		begun := time.Now()
		j := m.Judge(ctx, b.program, b.root, b.dir, false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := t.addMutant(m, j); err != nil {
			return err
		}
		fmt.Fprintf(b.stderr, "mutant %s: %s: %v\n", m.Name, m.Scenario, time.Since(begun).Round(time.Second))
	}
	return nil
}

// spared says whether a class needs no more mutants.
func (b *bench) spared(r *row) bool {
	if b.all {
		return false
	}
	return r.Bare.Failed+r.Naive.Failed > 0 || b.quick && r.Caught
}
