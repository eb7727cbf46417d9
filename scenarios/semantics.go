package scenarios

import (
	"strings"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group J: faults of what is answered, and when.

const cancelNotice = "notifications/cancelled"

// hangs: a call ends at its own deadline and the server is told; nobody else waits. A process that has fallen silent for good is replaced.
func hangs(f faults.Info, s *scenario.Scenario) {
	switch {
	case strings.HasSuffix(f.ID, "/one-tool"):
		s.NoRespawn = true
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.effect", Parallel: 2, Expect: scenario.ExpectError, Timeout: medium, Async: true},
			observed(),
			{Call: "srv.echo", Parallel: 4, Times: 3, Timeout: brief},
			{Wait: "1600ms"},
			{Seen: srv, Method: cancelNotice, Least: 2},
		}
	case strings.HasSuffix(f.ID, "/every-call"):
		s.NoRespawn = true // whoever answers probes is alive
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.effect", Parallel: 3, Expect: scenario.ExpectError, Timeout: medium},
			observed(),
			{Seen: srv, Method: cancelNotice, Least: 1},
			{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectError, Timeout: brief},
		}
	default:
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Times: 2},
			{Call: "srv.echo", Parallel: 3, Expect: scenario.ExpectAny, Timeout: medium},
			observed(),
		}
	}
}

// progressing: progress may come as it likes, the call ends as it must.
func progressing(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.progress", Args: map[string]any{"n": 8, "every_ms": 50}},
		observed(),
		{Call: "srv.echo", Times: 2},
	}
	if strings.HasSuffix(f.ID, "/never-ends") {
		s.Steps[1] = scenario.Step{
			Call: "srv.progress", Args: map[string]any{"n": 100, "every_ms": 50}, Expect: scenario.ExpectError, Timeout: medium,
		}
	}
}

// crossing: calls are given up on just before their answers come, and long before. What arrives afterwards belongs to nobody.
func crossing(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{inject(f)}
	if strings.HasSuffix(f.ID, "/unknown-request") {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.echo", Parallel: 3, Times: 2}, observed())
		return
	}
	s.Steps = append(s.Steps,
		scenario.Step{Call: "srv.sleep", Args: map[string]any{"ms": 700}, Parallel: 2, Expect: scenario.ExpectError, Timeout: brief},
		scenario.Step{Call: "srv.sleep", Args: map[string]any{"ms": 400}, Parallel: 4, Expect: scenario.ExpectAny, Timeout: brief},
		observed(),
		scenario.Step{Call: "srv.echo", Times: 2}, // among the late answers
		scenario.Step{Wait: "700ms"},
		scenario.Step{Call: "srv.echo", Times: 2},
		scenario.Step{Seen: srv, Method: cancelNotice, Least: 2},
	)
}

// wrongID: nobody gets what was not meant for him, and nothing else is lost than the call itself.
func wrongID(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	call := scenario.Step{Call: "srv.effect", Parallel: 2, Expect: scenario.ExpectAny, Timeout: brief}
	if strings.HasSuffix(f.ID, "/twice") {
		call.Expect = scenario.ExpectOK
	}
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.sleep", Args: map[string]any{"ms": 300}, Parallel: 2, Async: true}, // pending under other ids
		call,
		observed(),
		{Call: "srv.echo", Times: 2},
	}
}

// pings: whether a server is alive is not decided by one method alone.
func pings(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	switch {
	case strings.HasSuffix(f.ID, "/method-not-found"):
		s.Steps = []scenario.Step{inject(f), {Wait: scenario.WaitLiveness}, observed(), {Call: "srv.echo", Times: 2}}
	case strings.HasSuffix(f.ID, "/never-answered"):
		s.Steps = []scenario.Step{
			inject(f),
			// Long enough for one probe and one miss after the other, were they counted beside calls that are answered.
			{Call: "srv.sleep", Args: map[string]any{"ms": 300}, Parallel: 2, Times: 5},
			observed(),
		}
	case strings.HasSuffix(f.ID, "/busy"):
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.sleep", Args: map[string]any{"ms": 2000}},
			observed(),
			{Call: "srv.echo"},
		}
	default:
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.sleep", Args: map[string]any{"ms": 1000}, Async: true},
			observed(),
			{Seen: srv, Method: history.Answer, Least: 1},
			{Call: "srv.echo"},
		}
	}
}

// replayed: an effect is not repeated, however inviting the next life is.
func replayed(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.effect", Expect: scenario.ExpectError, Fast: true},
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium},
	}
	if !strings.HasSuffix(f.ID, "/hint-withdrawn") {
		return
	}
	// The first list calls the tool read-only; every later one, which a reconnect brings, does not.
	server := s.Servers[srv]
	server.Script = script.Script{
		Tools: []string{"echo", "effect"},
		Rules: []script.Rule{{
			Name: "harmless at first", When: script.When{Method: "tools/list", Phase: script.Baseline},
			Do: []script.Action{{Reply: &script.Reply{Raw: harmlessAtFirst}}},
		}},
	}
	s.Servers[srv] = server
}

const harmlessAtFirst = `{"jsonrpc":"2.0","id":{{id}},"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` +
	`{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"effect","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true}}]}}`

// crowd (group G): many callers meet the same thing, and each of them gets an answer or an error in time.
func crowd(f faults.Info, s *scenario.Scenario) {
	switch {
	case strings.HasSuffix(f.ID, "/death"):
		s.Steps = []scenario.Step{
			{Call: "srv.sleep", Args: map[string]any{"ms": 4000}, Parallel: 30, Expect: scenario.ExpectAny, Fast: true, Async: true},
			inject(f),
			{Call: "srv.effect", Parallel: 5, Expect: scenario.ExpectAny, Fast: true},
			observed(),
			{Call: "srv.echo", Parallel: 10, Expect: scenario.ExpectAny, Timeout: medium},
		}
	case strings.HasSuffix(f.ID, "/death-after-death"):
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.effect", Parallel: 6, Times: 3, Expect: scenario.ExpectAny, Timeout: medium, Async: true},
			{Call: "srv.echo", Parallel: 10, Times: 2, Expect: scenario.ExpectAny, Timeout: medium},
			observed(),
		}
	default:
		s.NoRespawn = true
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.effect", Expect: scenario.ExpectError, Timeout: medium, Async: true},
			observed(),
			{Call: "srv.echo", Parallel: 20, Times: 3, Timeout: brief},
			{Call: "srv.sleep", Args: map[string]any{"ms": 100}, Parallel: 5, Timeout: medium},
		}
	}
}
