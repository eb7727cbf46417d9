// Package oracle judges: every oracle is a pure function from a history to findings. It touches no process, no file, no clock.
//
// judge.go takes a history through all of them to one verdict; ladder.go decides the recovery class; story.go tells what happened. Every
// other file is one oracle. A newcomer adds a file with one function and a line in the list of oracles.go, and a test that has seen it both
// pass and fail.
//
// # What a history must hold
//
// Oracles rely on these events and on nothing else. What is missing makes a run inconclusive, never a pass.
//
//   - RunEnd closes a complete history. Without it the record broke off.
//   - Baseline says that the servers were good before anything happened; Control, before and after, that a plain client thought so too.
//   - Every Inject is followed by Observed and, later, Lifted for the same Fault and Server; FaultError says that this did not work out.
//   - CallBegin and CallEnd share Call. Load, Want, Fast, Timeout, Step and Nonce stand on CallBegin. A call without an end was never
//     answered; one whose end is neither OK nor has an Err was given up on. The calls of the recovery ladder have Load "probe".
//   - The ladder writes Rung when it starts one for a Server ("load" first), and Good when enough good calls came in a row; Call is
//     the first of them. A server with neither Inject nor Lifted, whose own script is the fault, is healthy when its ladder starts.
//   - TargetExit is Expected when the harness ended the target. Leftover is Expected when it is no child of the target's making, such as the
//     stdin holder of a fake.
//   - ListEnd of a list_tools step carries its Step and Server.
//   - CloseEnd's D is how long the target's own close took; OK is false when it had to be killed.
//   - Journal wraps every entry of every fake's journal, the control's included (Role "control").
//   - Tick, Spawned and Stall come from the metronome, which runs all the time; D is how late, how long, how long.
package oracle
