package faults

import (
	"context"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// stdoutNoise is a server that writes to stdout what is no frame. It stands in front of an answer that is good, so a client
// that skips it loses nothing; only text glued to a frame costs that one call.
func stdoutNoise() []Fault {
	return []Fault{
		noise{
			variant: "banner", atStart: true, what: "a banner before the handshake",
			write: "\x1b[1mExample MCP server\x1b[0m\nDownloading model ... 100%\nListening on stdio.\n",
		},
		noise{
			variant: "log-line", what: "log lines between frames",
			write: "2026-01-02T03:04:05Z INFO handling request\nWARN: cache is cold\n",
		},
		noise{
			// The last line is a good frame that ends in CRLF: it must be taken, not skipped.
			variant: "blank-lines-crlf", what: "blank lines and lines that end in CRLF",
			write: "\n\r\n   \n" + `{"jsonrpc":"2.0","method":"notifications/message",` +
				`"params":{"level":"info","data":"ends in CRLF"}}` + "\r\n",
		},
		noise{
			variant: "json-no-rpc", what: "lines of valid JSON that is no JSON-RPC",
			write: `{"level":"info","msg":"handling request"}` + "\n42\n\"ready\"\nnull\n[]\n{}\n",
		},
		noise{
			variant: "bom", what: "a byte order mark in front of a frame",
			write: "\ufeff",
		},
		noise{
			variant: "glued", what: "text without a newline in front of a frame", costs: true,
			write: "Loading model ... ",
		},
	}
}

type noise struct {
	variant, what, write string
	atStart              bool // written by every life before anything else; otherwise in front of every answer to a call
	costs                bool // the call that it meets cannot be saved
}

func (f noise) What() Info {
	id := "stdout-noise/" + f.variant
	when := script.When{Method: "tools/call", Phase: script.Faulty}
	if f.atStart {
		when = script.When{On: script.OnSpawn, Phase: script.Faulty}
	}
	recovery := "skip what is no frame, say so in the log, keep the session"
	if f.costs {
		recovery = "fail that call, keep the session"
	}
	return Info{
		ID:        id,
		Class:     "stdout-noise",
		Group:     "B",
		Transport: Stdio,
		Title:     "the server writes " + f.what + " to stdout",
		Recovery:  recovery,
		Reports: []string{
			"modelcontextprotocol/python-sdk#924", "Azure/azure-mcp#644", "pydantic/mcp-run-python#30",
			"UKGovernmentBEIS/inspect_ai#3290", "mcp-hangar/mcp-hangar#563",
		},
		NeedsCall: !f.atStart,
		Loud:      !f.costs, // a client that skips the glued line learns of the loss from its timeout only
		Rules:     []script.Rule{{Name: id, When: when, Do: []script.Action{{Write: f.write}}}},
	}
}

func (f noise) Inject(ctx context.Context, s Site) error {
	if f.atStart {
		return replaceServing(ctx, s)
	}
	return phaseOn(ctx, s)
}

func (f noise) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFired(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s wrote %s (%d bytes)", lifeOf(e), f.what, len(f.write)), nil
}

func (noise) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: Lift returned when every live process was quiet.
func (noise) Lifted(context.Context, Site) error { return nil }
