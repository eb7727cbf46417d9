package script

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func one(a Action) Script { return Script{Rules: []Rule{{Do: []Action{a}}}} }

func code(n int) *int { return &n }

func TestValidateNamesThePlace(t *testing.T) {
	cases := []struct {
		name string
		s    Script
		path string
		says string
	}{
		{"era", Script{Era: "modren"}, "era", "unknown era"},
		{"tool", Script{Tools: []string{"echo", "ecoh"}}, "tools[1]", `unknown tool "ecoh"`},
		{"tool twice", Script{Tools: []string{"echo", "echo"}}, "tools[1]", "twice"},
		{"nothing to do", Script{Rules: []Rule{{}}}, "rules[0].do", "must do something"},
		{"no verb", one(Action{}), "rules[0].do[0]", "must do something"},
		{"two verbs", one(Action{Drop: true, Deaf: true}), "rules[0].do[0]", "drop and deaf are 2"},
		{"signal", one(Action{Signal: "SEGFAULT"}), "rules[0].do[0].signal", "unknown signal"},
		{"exit", one(Action{Exit: code(256)}), "rules[0].do[0].exit", "256"},
		{"notify", one(Action{Notify: "tools/list_changed"}), "rules[0].do[0].notify", "notifications/"},
		{"notify_times", one(Action{Notify: "notifications/x", NotifyTimes: -1}), "rules[0].do[0].notify_times", "-1"},
		{"base64", one(Action{WriteBase64: "%"}), "rules[0].do[0].write_base64", "base64"},
		{"fill to", one(Action{Fill: &Fill{To: "stdin", Bytes: 1}}), "rules[0].do[0].fill.to", "unknown stream"},
		{"fill bytes", one(Action{Fill: &Fill{To: "stdout"}}), "rules[0].do[0].fill.bytes", "0"},
		{"hold", one(Action{HoldPipes: Duration(2 * time.Hour)}), "rules[0].do[0].hold_pipes", "longer"},
		{"status", one(Action{Status: &Status{Code: 20}}), "rules[0].do[0].status.code", "20"},
		{"set_tools", one(Action{SetTools: []string{"+ecoh"}}), "rules[0].do[0].set_tools[0]", `"ecoh"`},
		{"empty reply", one(Action{Reply: &Reply{}}), "rules[0].do[0].reply", "exactly one"},
		{"error 0", one(Action{Reply: &Reply{Error: &RPCError{}}}), "rules[0].do[0].reply.error.code", "not 0"},
		{"on", when(When{On: "spwan"}), "rules[0].when.on", "unknown event"},
		{"phase", when(When{Phase: "faulty"}), "rules[0].when.phase", "unknown phase"},
		{"http", when(When{HTTP: "PUT"}), "rules[0].when.http", "unknown HTTP method"},
		{"nth", when(When{Nth: "0"}), "rules[0].when.nth", "no range"},
		{"nth serving", when(When{Nth: Serving}), "rules[0].when.nth", "names a life"},
		{"life", when(When{Life: "4-2"}), "rules[0].when.life", "no range"},
		{"method of spawn", when(When{On: OnSpawn, Method: "ping"}), "rules[0].when", "no method"},
		{"tool of list", when(When{Method: "tools/list", Tool: "echo"}), "rules[0].when.tool", "only tools/call"},
		{"after request", when(When{After: 1}), "rules[0].when.after", "delay"},
		{"reply to spawn", Script{Rules: []Rule{{When: When{On: OnSpawn}, Do: []Action{{Drop: true}}}}},
			"rules[0].do[0].drop", "no request"},
		{"times", Script{Rules: []Rule{{Times: -1, Do: []Action{{Drop: true}}}}}, "rules[0].times", "negative"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ps := Problems(Validate(c.s))
			if len(ps) != 1 || ps[0].Path != c.path || !strings.Contains(ps[0].Message, c.says) {
				t.Fatalf("got %+v, want one at %s that says %q", ps, c.path, c.says)
			}
		})
	}
}

func when(w When) Script { return Script{Rules: []Rule{{When: w, Do: []Action{{Deaf: true}}}}} }

func TestValidateAcceptsEveryVerb(t *testing.T) {
	all := []Action{
		{Delay: 1}, {Reply: &Reply{Text: "x"}}, {Healthy: true}, {Effect: true}, {Drop: true},
		{Notify: "notifications/tools/list_changed", NotifyTimes: 3}, {SetTools: []string{"+extra-1", "-echo"}},
		{Exit: code(0)}, {Signal: "KILL"}, {Write: "x"}, {WriteBase64: "AA=="}, {Fill: &Fill{To: "stderr", Bytes: 9}},
		{Deaf: true}, {Hang: true}, {CloseStdin: true}, {CloseStdout: true}, {HoldPipes: 1}, {HoldStdin: true},
		{IgnoreEOF: true}, {IgnoreTERM: true}, {Status: &Status{Code: 503}}, {Reset: true}, {HangHTTP: true},
		{ForgetSessions: true}, {WriteStderr: "x"}, {Pad: 9}, {Split: 9}, {Speak: Modern}, {Lock: true}, {KillLauncher: true},
	}
	if err := Validate(Script{Rules: []Rule{{Do: all}}}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range all {
		if a.Verb() == "" || a.String() == "nothing" || seen[a.Verb()] {
			t.Errorf("%+v is %q, %q", a, a.Verb(), a)
		}
		seen[a.Verb()] = true
	}
	if v := (Action{}).verbs(); len(v) != len(all) {
		t.Errorf("%d verbs are listed, %d are tested", len(v), len(all))
	}
}

// TestEveryFieldIsAVerb keeps verbs() complete when somebody adds a field to Action.
func TestEveryFieldIsAVerb(t *testing.T) {
	listed := map[string]bool{"notify_times": true} // a modifier of notify
	for _, v := range (Action{}).verbs() {
		listed[v.name] = true
	}
	typ := reflect.TypeFor[Action]()
	for i := range typ.NumField() {
		key, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		if !listed[key] {
			t.Errorf("field %s is not listed in verbs()", key)
		}
	}
}

func TestDurationsAndRanges(t *testing.T) {
	var d Duration
	for _, bad := range []string{"5", "-1s", "soon"} {
		if d.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("duration %q was accepted", bad)
		}
	}
	var r Range
	if err := json.Unmarshal([]byte("3"), &r); err != nil || r != "3" {
		t.Errorf("a bare number as range: %q %v", r, err)
	}
	for in, want := range map[Range][3]bool{ // contains 1, 2, 5
		"": {true, true, true}, "2": {false, true, false}, "2+": {false, true, true}, "1-2": {true, true, false},
		Serving: {}, "x": {}, "0": {}, "+": {}, "-": {},
	} {
		got := [3]bool{in.Contains(1), in.Contains(2), in.Contains(5)}
		if got != want {
			t.Errorf("%q contains 1, 2, 5: %v, want %v", in, got, want)
		}
	}
}

func TestScriptsSurviveJSON(t *testing.T) {
	s := Script{Era: Legacy, Tools: []string{"echo"}, Rules: []Rule{{
		Name: "x", Once: true, When: When{On: OnSpawn, Life: "2+", After: Duration(time.Second)},
		Do: []Action{{Exit: code(0)}, {Delay: Duration(50 * time.Millisecond)}},
	}}}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Script
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Fatalf("%s came back as %+v (%v)", b, back, err)
	}
}
