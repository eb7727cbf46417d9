// Package scenarios is the one list of scenarios: one for every fault of the catalogue, and the files under field/, which are
// reproductions of public reports. `unwedge certify` and the Ginkgo suite in this folder run these same values through the same
// code.
//
// A newcomer adds a scenario for a fault in the file of its group (subprocess.go, framing.go, http.go), and a reproduction as a file
// under field/. It may import the harness's plain data and the catalogue; only the suite imports what starts processes.
package scenarios

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// field are the reproductions of public reports, one file each, named after the thread.
//
//go:embed field/*.yaml
var field embed.FS

// Names of the servers in every scenario of the catalogue.
const (
	srv = "srv" // the fault is injected here
	by  = "by"  // a healthy server beside it, which must notice nothing
)

// All returns every scenario, the catalogue's first, in its order, then the field files by name. The slice is the caller's; the
// scenarios are shared and must not be changed.
func All() []scenario.Scenario { return slices.Clone(all()) }

var all = sync.OnceValue(func() []scenario.Scenario {
	return slices.Concat(catalogued(), reproductions())
})

// ByID finds a scenario. The bare name of a class finds the first of its variants.
func ByID(id string) (scenario.Scenario, bool) {
	for _, s := range all() {
		if s.ID == id {
			return s, true
		}
	}
	for _, s := range all() {
		if faults.ClassOf(s.ID) == id {
			return s, true
		}
	}
	return scenario.Scenario{}, false
}

// play fills in what is special about the scenario of one fault: steps, and whatever differs from the defaults.
type play func(f faults.Info, s *scenario.Scenario)

// plays has one entry for each class of the catalogue.
var plays = map[string]play{
	"child-dies-idle":           diesIdle,
	"child-killed-mid-call":     killedMidCall,
	"crash-loop":                crashLoop,
	"grandchild-holds-pipe":     holdsPipe,
	"child-stops-reading-stdin": stopsReading,
	"child-stopped":             stopped,
	"stdout-noise":              noise,
	"stderr-pipe-full":          stderrFull,

	"child-exits-before-init":        cannotStart,
	"exits-after-initialize":         cannotStart,
	"child-never-speaks":             neverSpeaks,
	"slow-initialize":                slowStart,
	"grandchild-survives-kill":       behindLauncher,
	"wrapper-needs-eof-first":        behindLauncher,
	"healthy-child-killed":           leftAlone,
	"respawn-without-reap":           locked,
	"orphan-after-client-death":      orphaned,
	"probe-spawn-leaks":              probed,
	"cancel-corrupts-teardown":       cancelled,
	"stdout-invalid-utf8":            invalidText,
	"stdout-huge-line":               hugeLine,
	"stdout-endless-or-partial-line": brokenLine,
	"stdin-epipe":                    brokenStdin,
	"era-fallback":                   askedForEra,

	"http-idle-silent-drop": silentDrop,
	"http-401-window":       window401,

	"tools-missing-after-revival": revival,
	"phantom-tools":               phantoms,
	"stale-tools-after-restart":   staleTools,
	"list-changed-storm":          listStorm,
	"server-hangs-mid-call":       hangs,
	"progress-and-deadline":       progressing,
	"cancel-race":                 crossing,
	"wrong-or-duplicate-id":       wrongID,
	"ping-trouble":                pings,
	"replay-non-idempotent":       replayed,
	"concurrent-callers-wedge":    crowd,

	"breaker-stuck-open":           stuckOpen,
	"breaker-probe-dead-transport": probeDead,
	"breaker-probe-abandoned":      probeAbandoned,
	"breaker-counts-tool-errors":   toolErrors,
	"retry-budget-then-dead":       budgetGone,
	"server-down-at-startup":       downAtStartup,
	"one-timeout-kills-server":     oneTimeout,
	"reconnect-storm":              storm,
	"all-links-drop-together":      dropTogether,
	"leak-on-failed-connect":       failedConnects,
	"leak-per-session":             sessions,
	"child-ignores-stop":           ignoresStop,
	"close-with-pending":           pending,
	"host-cannot-exit":             cannotExit,
}

// catalogued makes one scenario for every fault that has a play.
func catalogued() []scenario.Scenario {
	var out []scenario.Scenario
	for _, f := range faults.Catalogue() {
		i := f.What()
		play, ok := plays[i.Class]
		if !ok {
			continue // the test of this package says so
		}
		s := scenario.Scenario{
			ID:      i.ID,
			Class:   i.Class,
			Title:   i.Title,
			Reports: i.Reports,
			Eras:    i.Eras,
			AskEra:  i.AskEra,
			Servers: map[string]scenario.Server{
				srv: {Transport: i.Transport, Proxy: i.Proxied, Launcher: i.Launcher},
				by:  {Transport: i.Transport},
			},
		}
		play(i, &s)
		out = append(out, s)
	}
	return out
}

// reproductions reads the field files. They are part of the program, so one that cannot be read is a mistake of ours and panics;
// the test of this package reads them all.
func reproductions() []scenario.Scenario {
	names, err := field.ReadDir("field")
	if err != nil {
		panic(err)
	}
	var out []scenario.Scenario
	for _, n := range names {
		file := path.Join("field", n.Name())
		b, err := field.ReadFile(file)
		if err != nil {
			panic(err)
		}
		s, err := scenario.Parse(file, b)
		if err != nil {
			panic(fmt.Sprintf("a scenario file of our own is wrong: %v", err))
		}
		out = append(out, s)
	}
	return out
}

// Source returns the text of a field file, by the scenario's id; ok is false for a scenario that is no file.
func Source(id string) (text string, ok bool) {
	if strings.ContainsAny(id, `/\`) {
		return "", false
	}
	b, err := field.ReadFile("field/" + id + ".yaml")
	return string(b), err == nil
}

// inject is the step that every scenario of the catalogue has.
func inject(f faults.Info) scenario.Step { return scenario.Step{Inject: f.ID, On: srv} }

// observed waits until the fault has taken effect, so that the steps after it meet it.
func observed() scenario.Step { return scenario.Step{Await: scenario.AwaitObserved, On: srv} }
