package scenario

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// good is a scenario that nothing is wrong with; each case below spoils it in one way.
func good() Scenario {
	return Scenario{
		ID:      "good",
		Servers: map[string]Server{"srv": {Transport: "stdio"}, "web": {Transport: "http"}},
		Steps:   []Step{{Call: "srv.echo"}},
	}
}

func steps(st ...Step) func(*Scenario) { return func(s *Scenario) { s.Steps = st } }

func one(srv Server) func(*Scenario) {
	return func(s *Scenario) { s.Servers = map[string]Server{"srv": srv} }
}

func TestValidateFindsWhatIsWrong(t *testing.T) {
	drop := []script.Action{{Drop: true}}
	for _, c := range []struct {
		name       string
		spoil      func(*Scenario)
		path, says string
		suggestion string
	}{
		{"no servers", func(s *Scenario) { s.Servers = nil }, "servers", "at least one server", ""},
		{"no steps", steps(), "steps", "at least one step", ""},
		{"unknown transport", one(Server{Transport: "stdoi"}), "servers.srv.transport", `unknown transport "stdoi"`, "stdio"},
		{"no transport", one(Server{}), "servers.srv.transport", "unknown transport", ""},
		{"proxied stdio", one(Server{Transport: "stdio", Proxy: true}), "servers.srv.proxy", "only an http server", ""},
		{"name with a dot", func(s *Scenario) { s.Servers["a.b"] = Server{Transport: "stdio"} }, `servers["a.b"]`, "no name", ""},
		{"script of the wrong transport", one(Server{Transport: "http", Script: script.Script{
			Rules: []script.Rule{{Do: []script.Action{{Deaf: true}}}}}}),
			"servers.srv.script.rules[0].do[0]", "deaf needs a stdio server", ""},
		{"script of the other wrong transport", one(Server{Transport: "stdio", Script: script.Script{
			Rules: []script.Rule{{Do: []script.Action{{Reset: true}}}}}}),
			"servers.srv.script.rules[0].do[0]", "reset needs an http server", ""},
		{"misspelt word in a script", one(Server{Transport: "stdio", Script: script.Script{
			Rules: []script.Rule{{When: script.When{Phase: "faulty"}, Do: drop}}}}),
			"servers.srv.script.rules[0].when.phase", `unknown phase "faulty"`, "fault"},
		{"unknown class", func(s *Scenario) { s.Class = "crash-lop" }, "class", "unknown class", "crash-loop"},
		{"no report", func(s *Scenario) { s.Reports = []string{"#3"} }, "reports[0]", "owner/repo#123", ""},
		{"unknown era", func(s *Scenario) { s.Eras = []script.Era{"modren"} }, "eras[0]", "unknown era", "modern"},
		{"unknown expectation", func(s *Scenario) { s.Expect = "recoverd" }, "expect", "unknown recovery class", "recovered"},
		{"inconclusive cannot be expected", func(s *Scenario) { s.Expect = "inconclusive" }, "expect", "unknown recovery class", ""},
		{"negative spawns", func(s *Scenario) { s.Spawns = -1 }, "spawns", "-1", ""},
		{"spawns against no respawn", func(s *Scenario) { s.Spawns, s.NoRespawn = 2, true }, "no_respawn", "leave one of them out", ""},
		{"unknown setting", func(s *Scenario) { s.Settings = map[string]int64{"livenes_ms": 1} },
			"settings.livenes_ms", "unknown setting", "liveness_ms"},
		{"impossible setting", func(s *Scenario) { s.Settings = map[string]int64{"liveness_ms": -2} },
			"settings.liveness_ms", "-2", ""},
		{"unknown need", func(s *Scenario) { s.Needs = []string{"reconnects"} }, "needs[0]", "unknown need", "reconnect"},

		{"no verb", steps(Step{}), "steps[0]", "needs a verb", ""},
		{"two verbs", steps(Step{Call: "srv.echo", Wait: "1s"}), "steps[0]", "call and wait are 2", ""},
		{"call without a tool", steps(Step{Call: "srv"}), "steps[0].call", "server.tool", ""},
		{"unknown server in a call", steps(Step{Call: "sv.echo"}), "steps[0].call", `unknown server "sv"`, "srv"},
		{"unknown tool", steps(Step{Call: "srv.ecko"}), "steps[0].call", `unknown tool "ecko"`, "echo"},
		{"a tool that this script leaves out", func(s *Scenario) {
			one(Server{Transport: "stdio", Script: script.Script{Tools: []string{"add"}}})(s)
		}, "steps[0].call", `unknown tool "echo"`, ""},
		{"unknown expectation of a call", steps(Step{Call: "srv.echo", Expect: "eror"}), "steps[0].expect", "unknown expectation", "error"},
		{"negative times", steps(Step{Call: "srv.echo", Times: -1}), "steps[0].times", "-1", ""},
		{"too many at once", steps(Step{Call: "srv.echo", Parallel: 1_000_000}), "steps[0].parallel", "1000000", ""},
		{"pad and text", steps(Step{Call: "srv.echo", Pad: 5, Args: map[string]any{"text": "x"}}), "steps[0].pad", "args", ""},
		{"endless timeout", steps(Step{Call: "srv.echo", Timeout: script.Duration(2 * time.Hour)}), "steps[0].timeout", "longer", ""},
		{"field of another verb", steps(Step{Wait: "1s", Times: 3}), "steps[0].times", "times belongs to call, not to wait", ""},
		{"seen without what", steps(Step{Seen: "srv", Least: 1}), "steps[0].seen", "say what was seen", ""},
		{"seen without how many", steps(Step{Seen: "srv", Method: "ping"}), "steps[0].seen", "say how many", ""},
		{"seen most below least", steps(Step{Seen: "srv", Method: "ping", Least: 2, Most: new(1)}), "steps[0].most", "less than least", ""},
		{"seen at an unknown server", steps(Step{Seen: "sv", Event: "state", Most: new(0)}), "steps[0].seen", "unknown server", "srv"},
		{"least beside a call", steps(Step{Call: "srv.echo", Least: 1}), "steps[0].least", "least belongs to seen", ""},
		{"on beside a call", steps(Step{Call: "srv.echo", On: "srv"}), "steps[0].on", "on belongs to inject", ""},
		{"unknown fault", steps(Step{Inject: "crash-loop/at-stat", On: "srv"}), "steps[0].inject", "unknown fault", "crash-loop/at-start"},
		{"fault on an unnamed server", steps(Step{Inject: "crash-loop"}), "steps[0].inject", "several servers (srv, web)", ""},
		{"fault on an unknown server", steps(Step{Inject: "crash-loop", On: "wev"}), "steps[0].on", `unknown server "wev"`, "web"},
		{"stdio fault on http", steps(Step{Inject: "crash-loop", On: "web"}), "steps[0].inject", "needs a server on stdio", ""},
		{"http fault on stdio", steps(Step{Inject: "http-401-window", On: "srv"}), "steps[0].inject", "needs a server on http", ""},
		{"kill over http", steps(Step{Kill: "web"}), "steps[0].kill", "needs a server on stdio", ""},
		{"kill an unknown server", steps(Step{Kill: "serv"}), "steps[0].kill", `unknown server "serv"`, "srv"},
		{"second fault while one is on", steps(Step{Inject: "crash-loop", On: "srv"}, Step{Kill: "srv"}), "steps[1].kill", "still on", ""},
		{"third fault while one is on", steps(Step{Inject: "crash-loop", On: "srv"}, Step{Inject: "child-stopped/for-good", On: "srv"}),
			"steps[1].inject", "still on", ""},
		{"two scripted faults on one server", steps(
			Step{Inject: "stdout-noise/bom", On: "srv"}, Step{Lift: "stdout-noise/bom", On: "srv"},
			Step{Inject: "crash-loop/at-start", On: "srv"}), "steps[2]", "one fault that is a script", ""},
		{"lift of an unknown fault", steps(Step{Lift: "crash-lop", On: "srv"}), "steps[0].lift", "unknown fault", "crash-loop"},
		{"lift before the injection", steps(Step{Lift: "crash-loop/at-start", On: "srv"}), "steps[0].lift", "is not on", ""},
		{"await with no fault on", steps(Step{Await: "observed", On: "srv"}), "steps[0].await", "no fault is on", ""},
		{"await of something else", steps(Step{Inject: "crash-loop", On: "srv"}, Step{Await: "observd", On: "srv"}), "steps[1].await", "unknown event", "observed"},
		{"unknown word for a wait", steps(Step{Wait: "cooldwn"}), "steps[0].wait", "no wait", "cooldown"},
		{"no time to wait", steps(Step{Wait: "0s"}), "steps[0].wait", "no time", ""},
		{"wait without end", steps(Step{Wait: "999h"}), "steps[0].wait", "longer", ""},
		{"reconnect of an unknown server", steps(Step{Reconnect: "srvv"}), "steps[0].reconnect", "unknown server", "srv"},
		{"list of an unknown server", steps(Step{ListTools: "wev"}), "steps[0].list_tools", "unknown server", "web"},
		{"unknown word for the target", steps(Step{Target: "sigkil"}), "steps[0].target", "unknown word for the target's life", "sigkill"},
		{"call of a target that has ended", steps(Step{Target: TargetKill}, Step{Call: "srv.echo"}), "steps[1].call", "restart it first", ""},
		{"target ended twice", steps(Step{Target: TargetKill}, Step{Target: TargetClose}), "steps[1].target", "restart it first", ""},
		{"call of a stopped target", steps(Step{Target: TargetStop}, Step{ListTools: "srv"}), "steps[1].list_tools", "async", ""},
		{"close of a stopped target", steps(Step{Target: TargetStop}, Step{Target: TargetClose}), "steps[1].target", "only sigcont or sigkill", ""},
		{"target stopped twice", steps(Step{Target: TargetStop}, Step{Target: TargetStop}), "steps[1].target", "already", ""},
		{"target continued that runs", steps(Step{Target: TargetCont}), "steps[0].target", "not stopped", ""},
		{"error expected of a target", steps(Step{Target: TargetKill, Expect: ExpectError}), "steps[0].expect", "only be any", ""},
		{"leftovers of a restart", steps(Step{Target: TargetRestart, Expect: ExpectAny}), "steps[0].expect", "only be any", ""},
		{"before something unknown", steps(Step{Inject: "crash-loop", On: "srv", Before: "strat"}), "steps[0].before", "unknown word for before", "start"},
		{"before a start that has been", steps(Step{Call: "srv.echo"}, Step{Inject: "crash-loop", On: "srv", Before: BeforeStart}),
			"steps[1].before", "in front of all other steps", ""},
		{"a kill before the start", steps(Step{Kill: "srv", Before: BeforeStart}), "steps[0].before", "belongs to inject", ""},
		{"unknown word for tools", steps(Step{ListTools: "srv", Tools: "noone"}), "steps[0].tools", "unknown word for tools", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			s := good()
			c.spoil(&s)
			problems := Problems(Validate(s))
			g.Expect(problems).To(HaveLen(1), "%v", Validate(s))
			g.Expect(problems[0].Path).To(Equal(c.path))
			g.Expect(problems[0].Message).To(ContainSubstring(c.says))
			g.Expect(problems[0].Suggestion).To(Equal(c.suggestion))
		})
	}
}

func TestValidateNamesEverythingAtOnceInOrder(t *testing.T) {
	g := NewWithT(t)
	s := good()
	s.Expect = "fine"
	s.Servers["web"] = Server{Transport: "htp"}
	s.Steps = []Step{{Call: "nobody.echo"}, {Wait: "soon"}}
	var paths []string
	for _, p := range Problems(Validate(s)) {
		paths = append(paths, p.Path)
	}
	g.Expect(paths).To(Equal([]string{"expect", "servers.web.transport", "steps[0].call", "steps[1].wait"}))
	g.Expect(Validate(s).Error()).To(ContainSubstring(`did you mean "http"?`))
}

func TestValidateLetsThrough(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*Scenario)
	}{
		{"the good one", func(*Scenario) {}},
		{"a fault that is lifted and injected again", steps(
			Step{Inject: "crash-loop/at-start", On: "srv"}, Step{Lift: "crash-loop/at-start", On: "srv"},
			Step{Inject: "crash-loop/at-start", On: "srv"})},
		{"kills, one after the other", steps(Step{Kill: "srv"}, Step{Call: "srv.echo", Expect: "any"}, Step{Kill: "srv"})},
		{"faults on two servers at once", steps(
			Step{Inject: "stdout-noise/bom", On: "srv"}, Step{Inject: "http-401-window", On: "web"}, Step{Await: "observed", On: "web"})},
		{"a class for its first variant, with the only server unnamed", func(s *Scenario) {
			one(Server{Transport: "stdio"})(s)
			s.Steps = []Step{{Inject: "child-dies-idle"}, {Await: "observed"}, {Lift: "child-dies-idle/sigkill"}}
		}},
		{"a tool that a rule brings", func(s *Scenario) {
			one(Server{Transport: "stdio", Script: script.Script{
				Tools: []string{"echo"},
				Rules: []script.Rule{{When: script.When{Method: "tools/list"}, Do: []script.Action{{SetTools: []string{"+extra"}}}}},
			}})(s)
			s.Steps = []Step{{Call: "srv.extra", Expect: "any"}}
		}},
		{"two faults before the start", steps(Step{Inject: "crash-loop", On: "srv", Before: BeforeStart},
			Step{Inject: "http-401-window", On: "web", Before: BeforeStart}, Step{Call: "srv.echo"})},
		{"a target's whole life", steps(Step{Target: TargetStop}, Step{Call: "srv.echo", Async: true}, Step{Target: TargetCont},
			Step{Call: "srv.echo"}, Step{Target: TargetTerm}, Step{Target: TargetRestart}, Step{Call: "srv.echo"},
			Step{Target: TargetStop}, Step{Target: TargetKill, Expect: ExpectAny}, Step{Wait: "1s"}, Step{Target: TargetRestart},
			Step{Target: TargetRestart}, Step{Target: TargetHangup})},
		{"every word for a wait", steps(Step{Wait: "cooldown"}, Step{Wait: "backoff"}, Step{Wait: "liveness"},
			Step{Wait: "budget"}, Step{Wait: "parked"}, Step{Wait: "250ms"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.make(&s)
			NewWithT(t).Expect(Validate(s)).To(Succeed())
		})
	}
}

func TestTextOfSteps(t *testing.T) {
	for want, st := range map[string]Step{
		"call srv.echo":    {Call: "srv.echo"},
		"call srv.echo x3": {Call: "srv.echo", Times: 3},
		"call srv.echo x2, 4 at once with 1 MiB within 2s, in the background": {Call: "srv.echo", Times: 2, Parallel: 4,
			Pad: 1 << 20, Timeout: script.Duration(2 * time.Second), Async: true},
		"call srv.echo with 1000 bytes":              {Call: "srv.echo", Pad: 1000},
		"call srv.echo with 3 KiB":                   {Call: "srv.echo", Pad: 3 << 10},
		"inject crash-loop/at-start on srv":          {Inject: "crash-loop/at-start", On: "srv"},
		"inject crash-loop/at-start":                 {Inject: "crash-loop/at-start"},
		"lift crash-loop/at-start on srv":            {Lift: "crash-loop/at-start", On: "srv"},
		"kill srv":                                   {Kill: "srv"},
		"wait cooldown":                              {Wait: "cooldown"},
		"wait until the fault on srv is observed":    {Await: "observed", On: "srv"},
		"reconnect srv":                              {Reconnect: "srv"},
		"list the tools of srv":                      {ListTools: "srv"},
		"list the tools of srv: all must be offered": {ListTools: "srv", Tools: "all"},
		"list the tools of srv: none may be offered": {ListTools: "srv", Tools: "none"},
		"target: sigkill":                            {Target: TargetKill},
		"inject crash-loop on srv before the start":  {Inject: "crash-loop", On: "srv", Before: BeforeStart},
		"nothing": {},
	} {
		NewWithT(t).Expect(Text(st)).To(Equal(want))
	}
}

func TestPlan(t *testing.T) {
	g := NewWithT(t)
	s := good()
	s.Steps = []Step{
		{Kill: "srv"}, {Inject: "http-401-window", On: "web"}, {Reconnect: "srv"}, {Inject: "no-such-fault"},
	}
	in := s.Injections()
	g.Expect(in).To(HaveLen(2))
	g.Expect(in[0].Fault.What().ID).To(Equal("child-dies-idle/sigkill"))
	g.Expect(in[0].Server).To(Equal("srv"))
	g.Expect(in[1].Step).To(Equal(1))
	g.Expect(s.Faulted()).To(Equal([]string{"srv", "web"}))
	g.Expect(s.Requires()).To(Equal([]string{"http", "reconnect", "stdio"}))
	g.Expect(s.InEras()).To(Equal([]script.Era{script.Legacy, script.Modern}))
	g.Expect(s.FaultClass()).To(Equal("child-dies-idle"), "of the first fault")
	s.ID = "crash-loop/mine"
	g.Expect(s.FaultClass()).To(Equal("crash-loop"), "of the id")
	s.Class = "phantom-tools"
	g.Expect(s.FaultClass()).To(Equal("phantom-tools"), "its own")
	g.Expect(Scenario{}.FaultClass()).To(BeEmpty())
}
