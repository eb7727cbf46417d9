// Command mutants puts old defects back, one at a time, and shows that the scenario named after the thread catches each, for its own
// reason. A suite that passes proves nothing until it has been seen to fail. The table is mutants.yaml; run
// `go run ./ci/mutants -h` for the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"

	"github.com/unwedge/unwedge/ci/internal/blackbox"
	"github.com/unwedge/unwedge/ci/internal/mutant"
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
func run(ctx context.Context, only string, all bool) (err error) {
	root, err := blackbox.Root(ctx)
	if err != nil {
		return err
	}
	table, err := mutant.Load(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "unwedge-mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clean, err := blackbox.Build(ctx, root, filepath.Join(dir, "clean"), "")
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "MUTANT\tTHREAD\tSCENARIO\tCLEAN\tCAUGHT\tREASON")
	bad := 0
	for _, m := range table {
		if ok, _ := filepath.Match(only, m.Name); only != "" && !ok {
			continue
		}
		j := m.Judge(ctx, clean, root, dir, all)
		if !j.OK() {
			bad++
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, orDash(m.Thread), m.Scenario, j.Clean, j.Caught, j.Reason)
		if err := errors.Join(out.Flush(), ctx.Err()); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d mutants not caught, or caught for another reason", bad)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
