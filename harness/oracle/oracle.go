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
	Events   []history.Event        // in any order; they are sorted by T before they are judged
	// Secrets are the canary values that must not appear anywhere; never printed.
	Secrets []string
	// MaxRecovery caps every budget, in nanoseconds; 0 = 10 min.
	MaxRecovery int64
}

// Oracle is one question that is asked of every history.
type Oracle struct {
	Name    string
	Meaning string   // one line: what must hold
	Kinds   []string // of the findings it makes
	find    func(*view) []verdict.Finding
}

// Find asks the question. It reads r and changes nothing.
func (o Oracle) Find(r Run) []verdict.Finding { return o.find(look(r)) }

// list is every oracle but the recovery ladder, in the order in which their findings are shown: what hurts most comes first.
var list = []Oracle{
	{"no hang", "every call ends within its own deadline; what must fail fast does",
		[]string{verdict.FindingHungCall}, hungCalls},
	{"bounded start", "a process that never answers the handshake is ended when the connect timeout is over",
		[]string{verdict.FindingHungStart}, hungStarts},
	{"at most once", "no call has its effect twice, unless its tool says that this is harmless",
		[]string{verdict.FindingDuplicateEffect}, duplicateEffects},
	{"own answers", "every caller gets the answer to its own call",
		[]string{verdict.FindingCrossedReply}, crossedReplies},
	{"no secrets", "no secret appears in any text, whole or in part",
		[]string{verdict.FindingSecret}, leakedSecrets},
	{"bystanders", "servers without a fault answer as well and as fast as before",
		[]string{verdict.FindingBystander}, harmedBystanders},
	{"expected results", "every step's calls end as the scenario says",
		[]string{verdict.FindingUnexpected}, unexpectedResults},
	{"expected counts", "the servers read, and the target tells, as much of something as the scenario says",
		[]string{verdict.FindingCount}, unexpectedCounts},
	{"spawn rate", "starts and connects keep to the declared backoff schedule",
		[]string{verdict.FindingSpawnStorm}, spawnStorms},
	{"no needless restart", "a process that has no fault, or none that calls for it, is not replaced",
		[]string{verdict.FindingNeedlessRestart}, needlessRestarts},
	{"no needless stop", "a process that has no fault that calls for it is not told to end",
		[]string{verdict.FindingNeedlessRestart}, needlessStops},
	{"one life at a time", "the old process is gone before the next one starts",
		[]string{verdict.FindingTwoLives}, twoLives},
	{"no write to the dead", "nothing is written to a process that has been dead for a while",
		[]string{verdict.FindingDeadPipeWrite}, deadPipeWrites},
	{"no orphans", "no process of the target's is alive after it closed",
		[]string{verdict.FindingOrphan}, orphans},
	{"bounded stop", "closing takes no longer than the declared graces",
		[]string{verdict.FindingSlowClose}, slowCloses},
	{"told of the close", "calls in flight when the target closes end at once",
		[]string{verdict.FindingHungCall}, untoldCalls},
	{"no growth", "after a recovery the target holds what it held before",
		[]string{verdict.FindingLeak}, resourceGrowth},
	{"registry truth", "the tools on offer are those of the servers that serve",
		[]string{verdict.FindingPhantomTool, verdict.FindingMissingTool}, registryLies},
	{"useful errors", "an error says what happened and to whom",
		[]string{verdict.FindingUselessError}, uselessErrors},
	{"reasons", "where a server said why it does not start, somebody is told",
		[]string{verdict.FindingUselessError}, untoldReasons},
}

// All returns every oracle but the recovery ladder, which gives the class. The slice is the caller's.
func All() []Oracle { return append([]Oracle(nil), list...) }
