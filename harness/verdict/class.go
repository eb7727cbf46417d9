package verdict

import "slices"

// ladder is the order of the classes, best first. Inconclusive stands between what passes and what fails: of several
// judgements the worst wins, and "unknown" is worse than "good" but accuses nobody.
var ladder = []Class{
	NotApplicable, Recovered, NeedsNewSession,
	Inconclusive,
	Slow, NeedsQuiet, NeedsPoke, TargetExited, NotRecovered, Wedged, Unrecoverable,
}

// Classes returns all classes, best first. The slice is the caller's.
func Classes() []Class { return slices.Clone(ladder) }

// Severity orders classes: a larger one is worse. A class that nobody gave is inconclusive; a misspelt one is as bad as the worst.
func (c Class) Severity() int {
	if c == "" {
		c = Inconclusive
	}
	if i := slices.Index(ladder, c); i >= 0 {
		return i
	}
	return len(ladder)
}

// Failing says whether the class fails where neither the scenario nor the user says otherwise.
func (c Class) Failing() bool { return c.Severity() > Inconclusive.Severity() }

// Judged says whether the class is a judgement about the target at all.
func (c Class) Judged() bool { return c != Inconclusive && c != NotApplicable && c != "" }

// Passes says whether a class passes in a scenario that expects this one or better; "" expects the ladder's default.
func (c Class) Passes(expect string) bool {
	if !c.Judged() {
		return false
	}
	return !c.Failing() || expect != "" && c.Severity() <= Class(expect).Severity() && slices.Contains(ladder, Class(expect))
}

// kinds are all finding kinds, in the order in which help texts show them.
var kinds = []string{
	FindingHungCall, FindingHungStart, FindingDuplicateEffect, FindingCrossedReply, FindingBystander, FindingSpawnStorm,
	FindingNeedlessRestart, FindingTwoLives, FindingOrphan, FindingPhantomTool, FindingMissingTool,
	FindingUselessError, FindingSecret, FindingUnexpected, FindingCount, FindingSlowClose, FindingDeadPipeWrite, FindingLeak,
}

// Kinds returns all kinds of findings. The slice is the caller's.
func Kinds() []string { return slices.Clone(kinds) }

// Timed says whether a finding of this kind rests on how long something took, so that a machine that stood still takes the
// ground from under it.
func Timed(kind string) bool {
	return kind == FindingHungCall || kind == FindingHungStart || kind == FindingBystander || kind == FindingSlowClose
}

// Hard says whether a finding of this kind stands by itself, even when the rest of the run proves nothing: no state of the world
// excuses a call executed twice, an answer to the wrong caller, or a secret in an error text.
func Hard(kind string) bool {
	return kind == FindingDuplicateEffect || kind == FindingCrossedReply || kind == FindingSecret
}

// Name is the scenario with its era: "child-dies-idle/sigkill (legacy)".
func (v Verdict) Name() string {
	if v.Era == "" {
		return v.Scenario
	}
	return v.Scenario + " (" + v.Era + ")"
}
