// Package verdict is the result of judging a history: one scenario on one target in one era. It knows which classes and findings
// fail, when a run is repeated and how two runs are put together, which failures share a cause, and the exit code. It imports
// nothing of the harness, so that everybody may import it.
//
// A newcomer changes the list of finding kinds most often.
package verdict

import "time"

// Class is the recovery class, see the ladder in DESIGN words: how far the lab had to climb until something worked.
type Class string

const (
	Recovered       Class = "recovered"
	Slow            Class = "slow"
	NeedsNewSession Class = "needs-new-session"
	NeedsQuiet      Class = "needs-quiet"
	NeedsPoke       Class = "needs-poke"
	TargetExited    Class = "target-exited"
	Wedged          Class = "wedged"
	NotRecovered    Class = "not-recovered"
	Unrecoverable   Class = "unrecoverable"
	Inconclusive    Class = "inconclusive"
	NotApplicable   Class = "not-applicable"
)

// Finding kinds.
const (
	FindingHungCall        = "hung-call"        // an answer came later than the call's own deadline allows, or a failure came slow, or never
	FindingHungStart       = "hung-start"       // a process that never answered the handshake was let be for longer than the connect timeout
	FindingDuplicateEffect = "duplicate-effect" // one call, executed more than once
	FindingCrossedReply    = "crossed-reply"    // a caller got another call's answer
	FindingBystander       = "bystander-harmed" // a server without a fault failed or slowed
	FindingSpawnStorm      = "spawn-storm"      // more spawns or connects than the schedule allows
	FindingNeedlessRestart = "needless-restart" // a healthy process was replaced
	FindingTwoLives        = "two-live-instances"
	FindingOrphan          = "orphan-process" // alive after the target closed
	FindingPhantomTool     = "phantom-tool"   // offered though its server is withdrawn
	FindingMissingTool     = "missing-tool"   // not offered though its server serves
	FindingUselessError    = "useless-error"  // an error without a text, or one that does not name the server
	FindingSecret          = "secret-leaked"
	FindingUnexpected      = "unexpected-result" // a step that had to work failed, or the other way round
	FindingCount           = "unexpected-count"  // the server read, or the target told, something more or less often than the scenario says
	FindingSlowClose       = "slow-close"
	FindingDeadPipeWrite   = "write-to-dead-server" // bytes written to a dead server's pipe
	FindingLeak            = "resource-growth"
)

// Finding is a named defect with its evidence.
type Finding struct {
	Kind     string        `json:"kind"`
	Server   string        `json:"server,omitempty"`
	Note     string        `json:"note"`               // one line, blames nobody
	Expected string        `json:"expected,omitempty"` // what should have been seen
	Evidence []Line        `json:"evidence,omitempty"`
	At       time.Duration `json:"at_ns,omitempty"`
}

// Line is one line of a story: when, relative to the injection, and what.
type Line struct {
	At   time.Duration `json:"at_ns"`
	Text string        `json:"text"`
}

// Verdict is the judgement of one scenario on one target in one era.
type Verdict struct {
	Scenario string `json:"scenario"`
	Class    string `json:"fault_class"`
	Era      string `json:"era"`
	Target   string `json:"target"`
	Result   Class  `json:"result"`
	Pass     bool   `json:"pass"`
	// BackAfter is from the fault being lifted to the first of the K good calls in a row; 0 where it never came back.
	BackAfter time.Duration `json:"back_after_ns,omitempty"`
	Budget    time.Duration `json:"budget_ns,omitempty"`
	// BudgetSum spells the budget out: "(cooldown 0.6 + connect 3 + ...) x 1.3".
	BudgetSum string  `json:"budget_sum,omitempty"`
	Slack     float64 `json:"slack,omitempty"`
	// Expect is what the scenario lets pass, when that is more than the ladder's default: "needs-poke".
	Expect string `json:"expect,omitempty"`
	// Expected is one line for people: what should have been seen.
	Expected string `json:"expected,omitempty"`
	// Note is one line for a table's row: "back 0.6 s after a restart".
	Note string `json:"note,omitempty"`
	// Symptom is what failing runs with the same root have in common; only compared, never shown.
	Symptom string `json:"symptom,omitempty"`
	// Again is the command line that runs just this again; set by whoever knows the command.
	Again    string        `json:"again,omitempty"`
	Reason   string        `json:"reason,omitempty"` // for inconclusive and not applicable: why
	Findings []Finding     `json:"findings,omitempty"`
	Story    []Line        `json:"story,omitempty"`
	Reports  []string      `json:"reports,omitempty"`
	Runs     int           `json:"runs"`             // how often it was run for this verdict
	Agreed   int           `json:"agreed"`           // how many of the runs had this result
	Voided   []string      `json:"voided,omitempty"` // finding kinds that do not count since the twin had them too
	Took     time.Duration `json:"took_ns"`
	Load     float64       `json:"load,omitempty"`   // 1-minute load average during the run
	Folder   string        `json:"folder,omitempty"` // where history.jsonl is, relative to the report
}

// Cause groups the failing verdicts of one run that share a root.
type Cause struct {
	Result    Class    `json:"result"`
	Scenarios []string `json:"scenarios"` // "id (era)", the representative first
	Note      string   `json:"note"`
}
