// Package run takes a list of scenarios through the whole way: lab, history, oracles, verdict; twins, reruns and the
// schedule. It is the one piece of code behind `unwedge certify`, `unwedge run` and the Ginkgo suites.
package run

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
)

// Options are a run's settings.
type Options struct {
	Title     string // for the report: "certify", or the file
	Target    target.Profile
	Scenarios []scenario.Scenario
	Eras      []script.Era // empty = both, as far as scenario and target allow
	Jobs      int          // labs side by side; 0 = a default from the cores
	Seed      uint64       // 0 = a fresh one, always shown
	// Out is the folder for histories; empty = a temporary one that is removed, unless something failed.
	Out         string
	MaxRecovery time.Duration // cap of every budget; 0 = 10 min
	// Unwedge is the program that is started for HTTP fakes, proxies and the built-in targets; Helper the small one for stdio fakes
	// and the keeper. Empty = found by Programs.
	Unwedge, Helper string
	// Progress is told of every verdict as it falls, from one goroutine at a time; nil is quiet.
	Progress func(Progress)
}

// Progress is one piece of news.
type Progress struct {
	Done, Total int
	Verdict     *verdict.Verdict // nil at the start and for Note
	Note        string
}
