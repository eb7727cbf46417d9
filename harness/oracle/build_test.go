package oracle

import (
	"slices"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// world builds histories by hand. Its clock counts milliseconds; the injection of a standard story is at 1000, so that a line of
// a finding at 1200 stands at 0.2 s.
type world struct {
	Run
	now  int
	call int64
}

func sd(d time.Duration) script.Duration { return script.Duration(d) }

// Faults of the hand-built world.
const (
	death = "child-dies-idle/sigkill"
	loop  = "crash-loop/on-start"
	deaf  = "child-stopped/for-good"
)

// given is a healthy world of two stdio servers, srv and peer, up to a good baseline.
func given() *world {
	w := &world{Run: Run{
		Era: "legacy",
		Profile: target.Profile{Name: "gw", Timings: &target.Timings{
			Call: sd(5 * time.Second), Connect: sd(time.Second), Cooldown: sd(600 * time.Millisecond),
			BackoffMin: sd(50 * time.Millisecond), BackoffMax: sd(400 * time.Millisecond), Retries: 5,
			ParkedRetry: sd(time.Second), DemandInterval: sd(300 * time.Millisecond), StopGrace: sd(250 * time.Millisecond),
		}},
		Faults: map[string]faults.Info{
			death: {ID: death, Class: "child-dies-idle", Transport: faults.Stdio, Loud: true, OneLife: true, Title: "an idle process is killed"},
			loop:  {ID: loop, Class: "crash-loop", Transport: faults.Stdio, Loud: true},
			deaf:  {ID: deaf, Class: "child-stopped", Transport: faults.Stdio, OfLife: true},
		},
		Scenario: scenario.Scenario{
			ID:      death,
			Servers: map[string]scenario.Server{"srv": {Transport: faults.Stdio}, "peer": {Transport: faults.Stdio}},
			Steps:   []scenario.Step{{Call: "srv.echo"}, {Kill: "srv"}, {Call: "srv.echo", Expect: scenario.ExpectAny}},
		},
		Secrets: []string{"canary-0123456789abcdef", "shorty7"},
	}}
	w.add(history.Event{Kind: history.RunStart})
	w.at(100).add(history.Event{Kind: history.TargetUp, Pid: 4000})
	w.at(110).entry(journal.Entry{Kind: journal.Spawn, Server: "srv", Life: 1, Pid: 4711})
	w.at(110).entry(journal.Entry{Kind: journal.Spawn, Server: "peer", Life: 1, Pid: 4712})
	for i, server := range []string{"srv", "peer", "srv", "peer"} {
		w.at(200+10*i).calls(server, history.LoadBaseline, 5, nil)
	}
	w.at(300).add(history.Event{Kind: history.Spawned, D: int64(20 * time.Millisecond)})
	w.at(300).add(history.Event{Kind: history.Control, OK: true, D: int64(12 * time.Millisecond)})
	w.at(310).add(history.Event{Kind: history.Baseline, OK: true})
	return w
}

func (w *world) at(ms int) *world { w.now = ms; return w }

func at(ms int) mono.Time { return mono.Time(ms) * mono.Time(time.Millisecond) }

// add appends an event at the world's clock, unless it brings its own time.
func (w *world) add(e history.Event) *world {
	if e.T == 0 {
		e.T = at(w.now)
	}
	w.Events = append(w.Events, e)
	return w
}

func (w *world) entry(e journal.Entry) *world {
	e.T = at(w.now)
	return w.add(history.Event{Kind: history.Journal, Entry: &e})
}

// calls makes one echo that the server reads and answers, took ms later; change may spoil its two ends.
func (w *world) calls(server, load string, took int, change func(begin, end *history.Event)) string {
	w.call++
	nonce := load + "-" + server + "-" + string(rune('a'+w.call/26)) + string(rune('a'+w.call%26))
	begin := history.Event{
		T: at(w.now), Kind: history.CallBegin, Call: w.call, Server: server, Tool: "echo", Nonce: nonce, Load: load,
		Timeout: int64(5 * time.Second),
	}
	end := history.Event{T: at(w.now + took), Kind: history.CallEnd, Call: w.call, OK: true, NonceOK: true, Text: nonce}
	if change != nil {
		change(&begin, &end)
	}
	w.add(begin)
	if end.Kind != "" {
		w.add(end)
	}
	return nonce
}

// fails spoils a call: it ends with this error.
func fails(message string) func(begin, end *history.Event) {
	return func(_, end *history.Event) {
		end.OK, end.NonceOK, end.Text = false, false, ""
		end.Err = &driver.Error{Message: message, Kind: driver.KindTransport}
	}
}

// never spoils a call: it has no end.
func never(_, end *history.Event) { end.Kind = "" }

// fault puts a whole fault on a server: injected at from, seen 5 ms later, lifted at to.
func (w *world) fault(id, server string, from, to int) *world {
	w.at(from).add(history.Event{Kind: history.Inject, Fault: id, Server: server})
	w.at(from + 5).add(history.Event{Kind: history.Observed, Fault: id, Server: server, Detail: "life 1 (pid 4711) killed with SIGKILL while idle"})
	w.at(to).add(history.Event{Kind: history.Lift, Fault: id, Server: server})
	return w.at(to).add(history.Event{Kind: history.Lifted, Fault: id, Server: server})
}

func (w *world) rung(rung, server string) *world {
	return w.add(history.Event{Kind: history.Rung, Rung: rung, Server: server})
}

// back makes three good probe calls, 10 ms apart, and says good on this rung.
func (w *world) back(rung, server string) *world {
	for range 3 {
		w.calls(server, history.LoadProbe, 5, nil)
		w.now += 10
	}
	return w.add(history.Event{Kind: history.Good, Rung: rung, Server: server})
}

// respawn starts one more life of a server.
func (w *world) respawn(server string, life int) *world {
	return w.entry(journal.Entry{Kind: journal.Spawn, Server: server, Life: life, Pid: 4711 + 10*life})
}

// done closes the world in good order: control, list, close, end.
func (w *world) done() Run {
	w.now += 50
	w.add(history.Event{Kind: history.Control, OK: true, D: int64(12 * time.Millisecond)})
	w.now += 50
	w.add(history.Event{Kind: history.ListEnd, Load: history.LoadExtra, Tools: toolsOf("srv", "peer")})
	w.now += 50
	w.add(history.Event{Kind: history.CloseEnd, OK: true, D: int64(20 * time.Millisecond)})
	w.add(history.Event{Kind: history.TargetExit, Expected: true})
	w.now += 50
	return w.add(history.Event{Kind: history.RunEnd}).Run
}

func toolsOf(servers ...string) []driver.Tool {
	var out []driver.Tool
	for _, s := range servers {
		for _, name := range tools.Names() {
			out = append(out, driver.Tool{Server: s, Name: name})
		}
	}
	return out
}

// recovers is the standard good story: srv is killed at 1000, fails one call, is back 200 ms later, and peer never notices.
func recovers() *world {
	w := given()
	w.fault(death, "srv", 1000, 1010)
	w.at(1020).calls("srv", history.LoadStep, 10, func(b, e *history.Event) {
		b.Want, b.Step = scenario.ExpectAny, 2
		fails("server srv is gone: signal: killed")(b, e)
	})
	w.at(1050).calls("peer", history.LoadBystander, 5, nil)
	w.at(1100).respawn("srv", 2)
	w.at(1100).rung(history.RungLoad, "srv")
	w.at(1110).calls("srv", history.LoadProbe, 5, fails("server srv is gone"))
	return w.at(1205).back(history.RungLoad, "srv")
}

// wedges is the standard bad story: every probe fails the same way until the target is restarted.
func wedges() *world {
	w := given()
	w.fault(death, "srv", 1000, 1010)
	w.rung(history.RungLoad, "srv")
	for ms := 1020; ms < 9000; ms += 400 {
		w.at(ms).calls("srv", history.LoadProbe, 10, fails("client is closing: EOF"))
	}
	w.at(9000).rung(history.RungQuiet, "srv")
	w.at(9500).calls("srv", history.LoadProbe, 10, fails("client is closing: EOF"))
	w.at(10000).rung(history.RungPoke, "srv")
	w.at(10100).calls("srv", history.LoadProbe, 10, fails("client is closing: EOF"))
	w.at(11000).rung(history.RungRestart, "srv")
	w.at(11010).add(history.Event{Kind: history.TargetExit, Expected: true})
	w.at(11050).add(history.Event{Kind: history.TargetUp, Pid: 4001})
	w.at(11060).respawn("srv", 2)
	return w.at(11595).back(history.RungRestart, "srv")
}

// kindsOf are the kinds of findings, sorted, each once.
func kindsOf(fs []verdict.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
