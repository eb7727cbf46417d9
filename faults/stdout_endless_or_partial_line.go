package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// stdoutEndlessOrPartialLine is a server that writes a line that does not end, or ends in the middle of one.
func stdoutEndlessOrPartialLine() []Fault {
	const half = `{"jsonrpc":"2.0","id":{{id}},"result":{"content":[{"type":"te`
	const whole = `{"jsonrpc":"2.0","id":{{id}},"result":{"resultType":"complete","content":[{"type":"text","text":"{{nonce}}"}]}}`
	fault := func(variant, how, recovery string, ends bool, do ...script.Action) Fault {
		return scripted{
			Info: Info{
				ID: "stdout-endless-or-partial-line/" + variant, Title: "the server " + how, Recovery: recovery,
				Reports:   []string{"openai/codex#31805"},
				NeedsCall: true, OneLife: true, Loud: ends, OfLife: !ends,
			},
			rules: inServingCall(do...), ends: ends, how: how,
		}
	}
	return []Fault{
		fault("endless", "writes without end and without a newline", "bound the memory, then end the session and start again", false,
			script.Action{Fill: &script.Fill{To: "stdout", Bytes: 1 << 30}}, drop),
		fault("half-frame-then-exit", "writes half an answer and exits", "fail the call at once with the exit status, start again", true,
			script.Action{Write: half}, exits(1)),
		fault("unterminated-then-exit", "writes its answer without a newline and exits",
			"use the answer, or fail the call at once; start again", true,
			script.Action{Write: whole}, exits(0)),
		fault("half-frame-then-hung", "writes half an answer and nothing more", "fail the call at its deadline, replace the process", false,
			script.Action{Write: half}, hang),
	}
}
