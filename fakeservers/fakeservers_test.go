package fakeservers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unwedge/unwedge/fakeservers"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

const good = `# dies on the third call of life 1, refuses to start in lives 2 to 4, is healthy from life 5
era: legacy
tools: [echo, effect, extra-1]
rules:
  - name: third call
    when: {method: tools/call, nth: 3, life: 1}
    do: [{effect: true}, {delay: 50ms}, {exit: 0}]
  - when: {on: spawn, life: 2-4}
    do:
      - fill: {to: stderr, bytes: 1000, lines: true}
      - signal: KILL
  - when: {phase: fault, life: serving}
    once: true
    do:
      - reply: {error: {code: -32000, message: no}}
      - notify: notifications/tools/list_changed
        notify_times: 3
`

func TestParseScript(t *testing.T) {
	s, err := fakeservers.ParseScript("a.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Rules
	if s.Era != script.Legacy || len(s.Tools) != 3 || len(r) != 3 || r[0].When.Nth != "3" || r[0].When.Life != "1" ||
		*r[0].Do[2].Exit != 0 || r[0].Do[1].Delay.D().Milliseconds() != 50 || r[1].When.Life != "2-4" ||
		r[1].Do[0].Fill.Bytes != 1000 || r[2].When.Life != script.Serving || !r[2].Once ||
		r[2].Do[0].Reply.Error.Code != -32000 || r[2].Do[1].NotifyTimes != 3 {
		t.Fatalf("%+v", s)
	}
	if s, err := fakeservers.ParseScript("empty.yaml", nil); err != nil || len(s.Rules) != 0 {
		t.Errorf("an empty file is a healthy server: %+v %v", s, err)
	}
}

func TestMistakesInScripts(t *testing.T) {
	cases := []struct{ text, want string }{
		{"tols: [echo]\n", `s.yaml:1:1: unknown field "tols"; did you mean "tools"?`},
		{"tools: [echo, ecoh]\n", `s.yaml:1:15: unknown tool "ecoh": write one of echo, add`},
		{"rules:\n  - when: {method: tools/call}\n    do: [{exitt: 1}]\n",
			`s.yaml:3:11: unknown field "exitt"; did you mean "exit"?`},
		{"rules:\n  - do: [{delay: 5}]\n", `s.yaml:2:18: "5" is no duration`},
		{"rules:\n  - do: [{signal: SEGFAULT}]\n", `s.yaml:2:19: unknown signal "SEGFAULT"`},
		{"rules:\n  - do: [{signal: KIL}]\n", `did you mean "KILL"?`},
		{"rules:\n  - when: {nth: 0}\n    do: [{drop: true}]\n", `s.yaml:2:17: "0" is no range`},
		{"rules:\n  - do: [{exit: 0, drop: true}]\n", `s.yaml:2:10: an action does one thing`},
		{"rules:\n  - when: {on: spawn}\n", `s.yaml:2:5: a rule must do something`},
		{"era: modren\n", `s.yaml:1:6: unknown era "modren": write one of legacy, modern; did you mean "modern"?`},
	}
	for _, c := range cases {
		_, err := fakeservers.ParseScript("s.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
	_, err := fakeservers.ParseScript("s.yaml", []byte("rules:\n  - do: [{signal: X}]\n  - do: []\n"))
	if es := strictyaml.Errors(err); len(es) != 2 || es[0].Line != 2 || es[1].Line != 3 {
		t.Errorf("every mistake is told: %v", err)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("rules: [{when: {after: 1s, on: phase}, do: [{write: \"\\x00\"}, {set_tools: [+echo, -add]}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := fakeservers.ParseScript("f.yaml", data)
		if err == nil {
			if _, err := json.Marshal(s); err != nil {
				t.Fatalf("accepted, but cannot be handed over: %v", err)
			}
			return
		}
		if len(strictyaml.Errors(err)) == 0 {
			t.Fatalf("untyped: %v", err)
		}
	})
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "fake" {
		os.Exit(fakeservers.RunStdio(fakeservers.StdioOptions{Script: os.Args[2], State: os.Args[3]}))
	}
	os.Exit(m.Run())
}

const session = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"nonce":"x"}}}
`

// run plays a session to a fake that is run from a script file.
func run(t *testing.T, file, dir string) (out, stderr string, code int) {
	t.Helper()
	tmp := t.TempDir()
	c := exec.Command(os.Args[0], "fake", file, dir)
	c.Env = append(os.Environ(), "TMPDIR="+tmp, "GORACE=atexit_sleep_ms=0")
	c.Stdin = strings.NewReader(session)
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	_ = c.Run()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunStdio(t *testing.T) {
	out, stderr, code := run(t, "", "")
	if code != 0 || stderr != "" || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"text":"x"`) {
		t.Errorf("healthy: %q %q %d", out, stderr, code)
	}
	for name, verb := range map[string]string{"exit": "exit: 7", "signal": "signal: KILL"} {
		_, stderr, code := run(t, write(t, "rules: [{when: {tool: echo}, do: [{"+verb+"}]}]\n"), "")
		if want := map[string]int{"exit": 7, "signal": -1}[name]; code != want || stderr != "" {
			t.Errorf("%s: %q %d", name, stderr, code)
		}
	}
	_, stderr, code = run(t, write(t, "rules:\n  - do: [{exitt: 1}]\n"), "")
	if code != 2 || !strings.Contains(stderr, `s.yaml:2:11: unknown field "exitt"; did you mean "exit"?`) ||
		!strings.Contains(stderr, "   2 |   - do: [{exitt: 1}]") {
		t.Errorf("bad script: %q %d", stderr, code)
	}
	if _, stderr, code = run(t, filepath.Join(t.TempDir(), "no.yaml"), ""); code != 2 || stderr == "" {
		t.Errorf("no script: %q %d", stderr, code)
	}
}

func TestAStateFolderCountsLivesAndTakesTheNewScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	file := write(t, "rules: [{when: {on: spawn, life: 1}, do: [{exit: 5}]}]\n")
	for life, want := range []int{5, 0} {
		if _, stderr, code := run(t, file, dir); code != want {
			t.Fatalf("life %d: %q %d", life+1, stderr, code)
		}
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "rules: [{when: {on: spawn, life: 3+}, do: [{exit: 6}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, file, dir); code != 6 {
		t.Fatalf("life 3: %q %d", stderr, code)
	}
}
