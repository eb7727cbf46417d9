package faults

import (
	"slices"
	"sync"

	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Kill is the fault behind a scenario's short "kill: server".
const Kill = "child-dies-idle/sigkill"

// Catalogue returns all faults in the order of their groups and classes. The slice is the caller's.
func Catalogue() []Fault {
	return slices.Concat(
		childDiesIdle(),
		childDiesAgain(),
		childKilledMidCall(),
		childExitsBeforeInit(),
		exitsAfterInitialize(),
		childNeverSpeaks(),
		slowInitialize(),
		crashLoop(),
		grandchildSurvivesKill(),
		grandchildHoldsPipe(),
		wrapperNeedsEOFFirst(),
		childStopsReadingStdin(),
		healthyChildKilled(),
		respawnWithoutReap(),
		orphanAfterClientDeath(),
		probeSpawnLeaks(),
		cancelCorruptsTeardown(),
		childStopped(),
		stdoutNoise(),
		stdoutInvalidUTF8(),
		stdoutHugeLine(),
		stdoutEndlessOrPartialLine(),
		stderrPipeFull(),
		stdinEPIPE(),
		eraFallback(),
		httpIdleSilentDrop(),
		http401Window(),
		breakerStuckOpen(),
		breakerProbeDeadTransport(),
		breakerProbeAbandoned(),
		breakerCountsToolErrors(),
		retryBudgetThenDead(),
		serverDownAtStartup(),
		oneTimeoutKillsServer(),
		reconnectStorm(),
		allLinksDropTogether(),
		leakOnFailedConnect(),
		leakPerSession(),
		childIgnoresStop(),
		closeWithPending(),
		hostCannotExit(),
		toolsMissingAfterRevival(),
		phantomTools(),
		staleTools(),
		listChangedStorm(),
		serverHangsMidCall(),
		progressAndDeadline(),
		cancelRace(),
		wrongOrDuplicateID(),
		pingTrouble(),
		replayNonIdempotent(),
		concurrentCallersWedge(),
	)
}

// ByID finds a fault. The bare name of a class finds the first of its variants, so compare What().ID, not the id asked for.
// ok is false for an unknown id; Suggest then names the nearest one.
func ByID(id string) (f Fault, ok bool) {
	f, ok = index()[id]
	return f, ok
}

// index finds faults by id, and by class the first of its variants. It is asked for thousands of times when the list of scenarios
// is read and checked, so it is built once.
var index = sync.OnceValue(func() map[string]Fault {
	all := map[string]Fault{}
	classes := map[string]Fault{}
	for _, f := range Catalogue() {
		i := f.What()
		if _, taken := all[i.ID]; !taken {
			all[i.ID] = f
		}
		if _, taken := classes[i.Class]; !taken {
			classes[i.Class] = f
		}
	}
	for class, f := range classes {
		if _, taken := all[class]; !taken {
			all[class] = f
		}
	}
	return all
})

// OfClass returns the faults of one class in the order of the catalogue.
func OfClass(slug string) []Fault {
	var fs []Fault
	for _, f := range Catalogue() {
		if f.What().Class == slug {
			fs = append(fs, f)
		}
	}
	return fs
}

// Suggest returns the id of the catalogue that is nearest to a misspelt one, or "" when none is near.
func Suggest(id string) string {
	var known []string
	for _, f := range Catalogue() {
		i := f.What()
		known = append(known, i.Class, i.ID)
	}
	return strictyaml.Suggest(id, known)
}
