// Package oracle judges: every oracle is a pure function from a history to findings. It touches no process, no file, no clock.
package oracle

import (
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
)

// Run is everything an oracle may look at.
type Run struct {
	Scenario scenario.Scenario
	Profile  target.Profile
	Era      string
	Faults   map[string]faults.Info // by id, those the scenario injects
	Events   []history.Event        // sorted by T
	// Secrets are the canary values that must not appear anywhere; never printed.
	Secrets []string
	// MaxRecovery caps every budget; 0 = 10 min.
	MaxRecovery int64
}

// Judge applies all oracles and climbs from evidence to one verdict. twin is the history of the same topology, workload and era without the
// fault, or nil; kinds of findings that the twin has too are voided.
func Judge(r Run, twin *Run) verdict.Verdict { return verdict.Verdict{} }
