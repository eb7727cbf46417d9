package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

func TestTheLanguageNamesTheseTools(t *testing.T) {
	if !slices.Equal(Names(), script.ToolNames) {
		t.Fatalf("%v are served, %v are known to scripts", Names(), script.ToolNames)
	}
}

func TestAnswers(t *testing.T) {
	vars := map[string]string{"SECRET": "hush", "UNWEDGE_PUBLIC_X": "seen"}
	cases := []struct {
		tool, args string
		want       string
		isError    bool
		executed   string // nonces
	}{
		{"echo", `{"nonce":"n"}`, "n", false, "[n]"}, {"echo", `{"nonce":"n","text":"t"}`, "n t", false, "[n]"},
		{"echo", ``, "", false, "[]"}, {"echo", `null`, "", false, "[]"}, {"extra", `{"nonce":"n"}`, "n", false, "[n]"},
		{"add", `{"a":2,"b":3}`, "5", false, "[]"}, {"add", `{"a":0.5,"b":1,"nonce":"n"}`, "n 1.5", false, "[n]"},
		{"fail", `{"nonce":"n"}`, "n failed as asked", true, "[n]"},
		{"big", `{"nonce":"n","bytes":4}`, "nxxx", false, "[n]"}, {"big", `{"nonce":"long","bytes":2}`, "long", false, "[long]"},
		{"big", `{"bytes":-1}`, "bytes must lie between 0 and 67108864", true, ""},
		{"effect", `{"nonce":"n"}`, "n", false, "[n]"}, {"effect", `{}`, "effect needs a nonce", true, ""},
		{"sleep", `{"ms":1,"nonce":"n"}`, "n", false, "[n]"}, {"sleep", `{"ms":600001}`, "ms must lie between 0 and 600000", true, ""},
		{"progress", `{"n":2,"nonce":"n"}`, "n", false, "p1/2 p2/2 [n]"},
		{"progress", `{"n":-1}`, "n must lie between 0 and 100000", true, ""},
		{"progress", `{"n":1,"every_ms":-1}`, "every_ms must lie between 0 and 600000", true, ""},
		{"env", `{"name":"SECRET"}`, "set", false, "[]"}, {"env", `{"name":"NOPE","nonce":"n"}`, "n unset", false, "[n]"},
		{"env", `{"name":"UNWEDGE_PUBLIC_X"}`, "set: seen", false, "[]"},
	}
	for _, c := range cases {
		var seen []string
		res, err := Run(t.Context(), c.tool, json.RawMessage(c.args), Hooks{
			Executed: func(nonce string) { seen = append(seen, "["+nonce+"]") },
			Progress: func(done, total int) { seen = append(seen, fmt.Sprintf("p%d/%d", done, total)) },
			Getenv:   func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
		})
		if err != nil || res.Text != c.want || res.IsError != c.isError || strings.Join(seen, " ") != c.executed {
			t.Errorf("%s %s: %+v %v, executed %v", c.tool, c.args, res, err, seen)
		}
	}
}

func TestBadArgumentsAreToolErrors(t *testing.T) {
	for _, args := range []string{`{"nonce":5}`, `[1]`, `"x"`, `{"nonce":`} {
		if res, err := Run(t.Context(), "echo", json.RawMessage(args), Hooks{}); err != nil || !res.IsError {
			t.Errorf("%s: %+v %v", args, res, err)
		}
		if n := Nonce(json.RawMessage(args)); n != "" {
			t.Errorf("%s has nonce %q", args, n)
		}
	}
	if _, err := Run(t.Context(), "nosuch", nil, Hooks{}); !errors.As(err, new(*ErrUnknown)) {
		t.Errorf("%v", err)
	}
}

func TestSleepTakesItsTimeAndCanBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := Run(t.Context(), "sleep", json.RawMessage(`{"ms":90000}`), Hooks{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 90*time.Second {
			t.Fatalf("slept %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		executed := false
		_, err := Run(ctx, "sleep", json.RawMessage(`{"ms":90000}`), Hooks{Executed: func(string) { executed = true }})
		if !errors.Is(err, context.DeadlineExceeded) || executed {
			t.Fatalf("%v, executed %v", err, executed)
		}
	})
}

func TestTheSetChanges(t *testing.T) {
	cases := []struct{ from, change, want string }{
		{"echo add", "+fail", "echo add fail"}, {"echo add", "-echo", "add"}, {"echo add", "+echo", "echo add"},
		{"echo add", "+extra -add", "echo extra"}, {"echo add", "big fail", "big fail"}, {"echo add", "big +env", "big env"},
		{"echo", "-nosuch", "echo"}, {"echo", "-echo", ""},
	}
	for _, c := range cases {
		got := Change(strings.Fields(c.from), strings.Fields(c.change))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q changed by %q: %v, want %q", c.from, c.change, got, c.want)
		}
	}
	if got := Start(nil); !slices.Equal(got, Names()) {
		t.Errorf("starts with %v", got)
	}
}

func TestDefinitions(t *testing.T) {
	all := Definitions(append(Names(), "extra-1", "nosuch"))
	if len(all) != len(Names())+1 {
		t.Fatalf("%d definitions", len(all))
	}
	careful := map[string]bool{"echo": true, "add": true, "env": true, "big": true, "extra-1": true}
	for _, d := range all {
		var s struct {
			Type       string
			Properties map[string]struct{ Type string }
			Required   []string
		}
		if err := json.Unmarshal(d.InputSchema, &s); err != nil || s.Type != "object" {
			t.Errorf("%s: %s %v", d.Name, d.InputSchema, err)
		}
		for _, r := range s.Required {
			if s.Properties[r].Type == "" {
				t.Errorf("%s requires %q, which is no property", d.Name, r)
			}
		}
		if d.Annotations.ReadOnlyHint != careful[d.Name] {
			t.Errorf("%s: readOnlyHint %v", d.Name, d.Annotations.ReadOnlyHint)
		}
		if d.Name == "effect" && (d.Annotations.IdempotentHint || d.Annotations.ReadOnlyHint) {
			t.Error("effect must not be resent")
		}
	}
}
