//go:build unix

package stdio_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

func TestSlowCallsDoNotBlockOthers(t *testing.T) {
	d := folder(t, rules(when(script.When{Tool: "add"}, script.Action{Delay: script.Duration(time.Hour)})))
	l := spawn(t, d).handshake()
	l.send(call(1, "add", `{"a":1,"b":2}`), call(2, "sleep", `{"ms":600000,"nonce":"s"}`), echo(3), ping(4))
	if ids := []any{l.read().ID, l.read().ID}; !slices.Contains(ids, any(3.0)) || !slices.Contains(ids, any(4.0)) {
		t.Fatalf("answered %v", ids)
	}
}

func TestADelayAfterAReplyDoesNotBlockOthers(t *testing.T) {
	d := folder(t, rules(when(script.When{On: script.OnReplied, Method: "ping"},
		script.Action{Write: "noise\n"}, script.Action{Delay: script.Duration(time.Hour)}, exitWith(1))))
	l := spawn(t, d).handshake()
	l.send(ping(1), echo(2))
	l.read()
	if s := l.line(); s != "noise" {
		t.Fatalf("got %q", s)
	}
	if g := l.read(); g.text() != "n2" {
		t.Fatalf("%+v", g)
	}
}

func TestADelayIsFollowedByTheHealthyAnswer(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{Delay: ms(30)})))
	l := spawn(t, d).handshake()
	began := time.Now()
	l.send(echo(1))
	if g := l.read(); g.text() != "n1" || time.Since(began) < 30*time.Millisecond {
		t.Fatalf("%+v after %v", g, time.Since(began))
	}
}

func TestCancelledCallsAreNotAnswered(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	l.send(call(1, "sleep", `{"ms":600000,"nonce":"s"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`,
		echo(2))
	if g := l.read(); g.text() != "n2" {
		t.Fatalf("%+v", g)
	}
	l.in.Close()
	if out := l.rest(); out != "" {
		t.Fatalf("answered %q", out)
	}
	if n := count(t, d, journal.Executed, "s"); n != 0 {
		t.Fatalf("a cancelled sleep is no effect: %d", n)
	}
}

func TestReplies(t *testing.T) {
	cases := []struct {
		reply script.Reply
		want  string
	}{
		{script.Reply{Text: "hello"}, `{"jsonrpc":"2.0","id":"a<b","result":{"content":[{"type":"text","text":"hello"}]}}`},
		{script.Reply{IsError: "no"},
			`{"jsonrpc":"2.0","id":"a<b","result":{"content":[{"type":"text","text":"no"}],"isError":true}}`},
		{script.Reply{Error: &script.RPCError{Code: -32003, Message: "closing"}},
			`{"jsonrpc":"2.0","id":"a<b","error":{"code":-32003,"message":"closing"}}`},
		{script.Reply{Raw: `{"jsonrpc":"1.0","id":{{id}},"result":null}`}, `{"jsonrpc":"1.0","id":"a<b","result":null}`},
	}
	for _, c := range cases {
		d := folder(t, rules(onCall(script.Action{Reply: &c.reply})))
		l := spawn(t, d).handshake()
		l.send(`{"jsonrpc":"2.0","id":"a<b","method":"tools/call","params":{"name":"effect","arguments":{"nonce":"x"}}}`)
		if s := l.line(); s != c.want {
			t.Errorf("got  %s\nwant %s", s, c.want)
		}
		if n := count(t, d, journal.Executed, "x"); n != 0 {
			t.Errorf("a scripted reply must not execute the tool")
		}
	}
}

func TestDropAndNth(t *testing.T) {
	d := folder(t, rules(when(script.When{Tool: "echo", Nth: "2"}, script.Action{Drop: true})))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	l.read()
	l.send(echo(2), echo(3))
	if g := l.read(); g.text() != "n3" {
		t.Fatalf("%+v", g)
	}
}

func TestTheToolSetCanChange(t *testing.T) {
	const changed = "notifications/tools/list_changed"
	d := folder(t, script.Script{Tools: []string{"echo", "add"}, Rules: []script.Rule{
		when(script.When{Tool: "add", Nth: "1"},
			script.Action{SetTools: []string{"+extra-1", "-add"}}, script.Action{Notify: changed, NotifyTimes: 3}),
	}})
	l := spawn(t, d).handshake()
	names := func(l *life) string {
		l.send(listTools(50))
		var out []string
		for _, tool := range l.read().Result.Tools {
			out = append(out, tool.Name)
		}
		return strings.Join(out, " ")
	}
	if n := names(l); n != "echo add" {
		t.Fatal(n)
	}
	l.send(call(1, "add", `{"a":1,"b":2}`))
	for range 3 {
		if g := l.read(); g.Method != changed || len(g.Params) != 0 {
			t.Fatalf("%+v", g)
		}
	}
	if g := l.read(); g.Error == nil || g.Error.Code != -32602 {
		t.Fatalf("a tool that is gone: %+v", g)
	}
	if n := names(l); n != "echo extra-1" {
		t.Fatal(n)
	}
	l.send(call(2, "extra-1", `{"nonce":"x"}`))
	if g := l.read(); g.text() != "x" {
		t.Fatalf("%+v", g)
	}
	if n := names(spawn(t, d).handshake()); n != "echo extra-1" {
		t.Fatalf("the next life offers %s", n)
	}
}

func TestModernSubscribersHearOfChanges(t *testing.T) {
	const changed = "notifications/tools/list_changed"
	d := folder(t, rules(
		when(script.When{Tool: "add"}, script.Action{Notify: changed}),
		when(script.When{Tool: "echo"}, script.Action{Notify: "notifications/message"}),
	))
	l := spawn(t, d)
	modern := func(id, method, rest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, modernMeta, rest)
	}
	add := modern("9", "tools/call", `,"name":"add","arguments":{"a":1,"b":2}`)
	l.send(add)
	if g := l.read(); g.text() != "3" {
		t.Fatalf("nobody listens, so nobody is told: %+v", g)
	}
	l.send(modern(`"sub"`, "subscriptions/listen", `,"notifications":{"toolsListChanged":true}`))
	const subscription = "io.modelcontextprotocol/subscriptionId"
	id := func(g got) any { m, _ := g.Params["_meta"].(map[string]any); return m[subscription] }
	if g := l.read(); g.Method != "notifications/subscriptions/acknowledged" || id(g) != "sub" {
		t.Fatalf("%+v", g)
	}
	l.send(add)
	if g := l.read(); g.Method != changed || id(g) != "sub" {
		t.Fatalf("%+v", g)
	}
	l.read()
	l.send(modern("10", "tools/call", `,"name":"echo","arguments":{"nonce":"x"}`))
	if g := l.read(); g.Method != "notifications/message" {
		t.Fatalf("%+v", g)
	}
	l.read()
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
	if g := l.read(); g.ID != "sub" || g.Error != nil {
		t.Fatalf("the end of a subscription is its result: %+v", g)
	}
	l.send(add)
	if g := l.read(); g.text() != "3" {
		t.Fatalf("%+v", g)
	}
}

func TestErasCanBeLimited(t *testing.T) {
	discover := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta)
	legacy := spawn(t, folder(t, script.Script{Era: script.Legacy}))
	legacy.send(discover)
	if g := legacy.read(); g.Error == nil || g.Error.Code != -32601 {
		t.Fatalf("a legacy server: %+v", g)
	}
	legacy.handshake()
	modern := spawn(t, folder(t, script.Script{Era: script.Modern}))
	modern.send(initialize)
	g := modern.read()
	if g.Error == nil || g.Error.Code != -32022 {
		t.Fatalf("a modern server: %+v", g)
	}
	data, _ := g.Error.Data.(map[string]any)
	if fmt.Sprint(data["supported"]) != "[2026-07-28]" || data["requested"] != "2025-11-25" {
		t.Fatalf("%+v", data)
	}
	modern.send(discover)
	if g := modern.read(); g.Error != nil {
		t.Fatalf("%+v", g)
	}
	modern.send(ping(2))
	if g := modern.read(); g.Error == nil || g.Error.Code != -32601 {
		t.Fatalf("%+v", g)
	}
	modern.send(echo(3))
	if g := modern.read(); g.Error == nil || g.Error.Code != -32602 {
		t.Fatalf("a call without _meta: %+v", g)
	}
}

func TestWhatIsNoMessageIsJournalledAndSurvived(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	l.send("garbage", "", `{"jsonrpc":"2.0","id":77,"result":{}}`, `[1,2]`)
	for range 2 {
		if g := l.read(); g.ID != nil || g.Error == nil || g.Error.Code != -32700 {
			t.Fatalf("%+v", g)
		}
	}
	await(t, d, "the garbage", func(e journal.Entry) bool { return e.Detail == "not JSON-RPC" && e.Bytes == 7 })
	await(t, d, "the response", func(e journal.Entry) bool { return e.Detail == "response" && e.ID == "77" })
	l.send(echo(1))
	if g := l.read(); g.text() != "n1" {
		t.Fatalf("%+v", g)
	}
}

func TestTheJournalTellsWhatWasRead(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	l.send(call(7, "effect", `{"nonce":"x"}`),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"m","method":"tools/list","params":{%s}}`, modernMeta))
	l.read()
	l.read()
	e := await(t, d, "the call", func(e journal.Entry) bool { return e.Kind == journal.Request && e.Nonce == "x" })
	if e.Method != "tools/call" || e.Tool != "effect" || e.ID != "7" || e.Era != "legacy" || e.Bytes == 0 || e.Life != 1 {
		t.Errorf("%+v", e)
	}
	e = await(t, d, "the list", func(e journal.Entry) bool { return e.Kind == journal.Request && e.ID == `"m"` })
	if e.Era != "modern" {
		t.Errorf("%+v", e)
	}
	e = await(t, d, "the reply", func(e journal.Entry) bool { return e.Kind == journal.Replied && e.ID == `"m"` })
	if e.Bytes == 0 || e.Method != "tools/list" {
		t.Errorf("%+v", e)
	}
}

func TestBaselineCallsMarkTheServingLife(t *testing.T) {
	d := folder(t, script.Script{})
	spawn(t, d).handshake() // a throwaway
	l := spawn(t, d).handshake()
	l.send(echo(1))
	l.read()
	if life, ok := d.Serving(); ok {
		t.Fatalf("life %d serves without a baseline call", life)
	}
	l.send(call(2, "echo", `{"nonce":"base-1"}`))
	l.read() // the mark is there before the answer
	if life, ok := d.Serving(); !ok || life != 2 {
		t.Fatalf("serving %d %v", life, ok)
	}
}

func TestEnvTellsNoSecret(t *testing.T) {
	l := spawn(t, folder(t, script.Script{})).handshake()
	for name, want := range map[string]string{
		"SECRET": "set", "HOME": "unset", "UNWEDGE_PUBLIC_COLOUR": "set: blue",
	} {
		l.send(call(1, "env", fmt.Sprintf(`{"name":%q}`, name)))
		if g := l.read(); g.text() != want {
			t.Errorf("%s: %q, want %q", name, g.text(), want)
		}
	}
}

func TestProgressGoesToWhoAskedForIt(t *testing.T) {
	l := spawn(t, folder(t, script.Script{})).handshake()
	l.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"},` +
		`"name":"progress","arguments":{"n":3,"nonce":"x"}}}`)
	for i := range 3 {
		g := l.read()
		if g.Method != "notifications/progress" || g.Params["progressToken"] != "p" || g.Params["progress"] != float64(i+1) {
			t.Fatalf("%+v", g)
		}
	}
	if g := l.read(); g.text() != "x" {
		t.Fatalf("%+v", g)
	}
	l.send(call(2, "progress", `{"n":3,"nonce":"y"}`))
	if g := l.read(); g.text() != "y" {
		t.Fatalf("nobody asked for progress: %+v", g)
	}
}

func TestRulesThatWait(t *testing.T) {
	d := folder(t, rules(when(script.When{On: script.OnSpawn, After: ms(20)}, exitWith(6))))
	l := spawn(t, d).handshake() // it serves meanwhile
	if s := l.status(); s.ExitStatus() != 6 {
		t.Fatalf("%+v", s)
	}
}

func TestALineOfAnyLengthIsRead(t *testing.T) {
	l := spawn(t, folder(t, script.Script{})).handshake()
	text := strings.Repeat("x", 1<<20)
	go l.send(call(1, "echo", fmt.Sprintf(`{"nonce":"n","text":%q}`, text)))
	if g := l.read(); g.text() != "n "+text {
		t.Fatalf("%d bytes came back", len(g.text()))
	}
	l.send(call(2, "big", `{"nonce":"n","bytes":2000000}`))
	if g := l.read(); len(g.text()) != 2_000_000 || !strings.HasPrefix(g.text(), "nxxx") {
		t.Fatalf("%d bytes came back", len(g.text()))
	}
}
