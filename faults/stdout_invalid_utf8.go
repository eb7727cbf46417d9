package faults

import (
	"encoding/base64"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// stdoutInvalidUTF8 is a server that writes bytes that are no UTF-8. What stands behind them is good.
func stdoutInvalidUTF8() []Fault {
	const bad = "\xff\xfe"
	fault := func(variant, how, bytes string, costs bool) Fault {
		do := []script.Action{{WriteBase64: base64.StdEncoding.EncodeToString([]byte(bytes))}}
		recovery := "a line that cannot be read is skipped; the session lives"
		if costs {
			do, recovery = append(do, drop), "fail or answer that call, keep the session"
		}
		return scripted{
			Info: Info{
				ID: "stdout-invalid-utf8/" + variant, Title: "the server writes " + how, Recovery: recovery,
				Reports: []string{
					"modelcontextprotocol/python-sdk#2302", "modelcontextprotocol/python-sdk#2456", "flop-labs/technocore-chat#106",
				},
				NeedsCall: true,
				Loud:      !costs, // whoever skips the answer learns of the loss from its timeout only
			},
			rules: inEachCall(do...), how: "writes " + how,
		}
	}
	return []Fault{
		fault("line", "a line that is no UTF-8 in front of an answer", bad+"\n", false),
		fault("in-notification", "a notification with a string that is no UTF-8 in front of an answer",
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"caf`+bad+`"}}`+"\n", false),
		fault("in-answer", "an answer with a string that is no UTF-8",
			`{"jsonrpc":"2.0","id":{{id}},"result":{"resultType":"complete","content":[{"type":"text","text":"{{nonce}} caf`+bad+`"}]}}`+"\n", true),
	}
}
