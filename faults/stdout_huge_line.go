package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// commonCap is the longest line that common SDKs take (it is go-sdk's own cap).
const commonCap = 16 * mib

// stdoutHugeLine is an answer on one very long line.
func stdoutHugeLine() []Fault {
	fault := func(variant, how string, bytes, split int) Fault {
		over := bytes > commonCap
		recovery := "hand the answer out whole"
		if over {
			recovery = "fail that call with an error that says so; the session lives or is replaced cleanly"
		}
		do := []script.Action{{Pad: bytes}}
		if split > 0 {
			do = append(do, script.Action{Split: split})
		}
		return scripted{
			Info: Info{
				ID: "stdout-huge-line/" + variant, Title: "the server answers with " + how + " on one line", Recovery: recovery,
				Reports: []string{
					"mark3labs/mcp-go#588", "elastic/kibana#268715", "lynnswap/XcodeMCPKit#220", "QwenLM/qwen-code#9298",
					"superfly/flyctl#4402", "TokenRhythm/opensquilla#953",
				},
				NeedsCall: true,
				Loud:      !over, // whoever skips the line learns of the loss from its timeout only
			},
			rules: inEachCall(do...), how: "answers with " + how,
		}
	}
	return []Fault{
		fault("64k", "one byte more than 64 KiB", 64*kib+1, 0), // what Go's and others' line scanners take by default
		fault("1m", "1 MiB", mib, 0),
		fault("8m", "8 MiB", 8*mib, 0),
		fault("8m-in-pieces", "8 MiB in small writes", 8*mib, 4*kib-1),
		fault("over-cap", "one byte more than 16 MiB", commonCap+1, 0),
	}
}
