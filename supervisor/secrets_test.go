package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestSUP13_NoSecretAppearsAnywhere makes a server say its secret in every way it can, and reads everything that
// the supervisor says.
func TestSUP13_NoSecretAppearsAnywhere(t *testing.T) {
	const secret = "s3cr3t-value-of-the-environment"
	eachEra(t, func(t *testing.T, era Era) {
		var log bytes.Buffer
		s, err := New(Options{Settings: scaled(), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{TB: t, Supervisor: s, ctx: t.Context()}
		events, stop := s.Events()
		defer stop()
		if err := s.Add(Server{
			Name: "srv", Command: os.Args[0], Args: []string{"testserver", "dir=" + t.TempDir()}, Era: era,
			Env: map[string]string{"TOKEN": secret},
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.tool("srv", "misbehave", m{"how": "env", "text": "TOKEN"}); err != nil || got != secret {
			t.Fatalf("the server itself has it, and results are the user's: %q, %v", got, err)
		}

		said := map[string]string{}
		keep := func(what string, err error) {
			for e := err; e != nil; e = errors.Unwrap(e) {
				said[what+" (error)"] += fmt.Sprintf("%v %+v %#v\n", e, e, e)
			}
		}
		for _, half := range []string{"key=" + secret[:10], secret[10:], "\n"} { // across chunks
			w.tool("srv", "misbehave", m{"how": "stderr", "text": half})
		}
		_, err = w.tool("srv", "misbehave", m{"how": "error", "n": -32000, "text": "bad token " + secret})
		keep("JSON-RPC error", err)
		_, err = w.tool("srv", "misbehave", m{"how": "write", "text": `{"jsonrpc":"2.0","id":{{id}},"result":{"content":[{"type":"` + secret + `"}]}}` + "\n"})
		keep("unreadable answer", err)
		w.tool("srv", "misbehave", m{"how": "write", "text": "token is " + secret + "\n", "nonce": "n"})
		w.tool("srv", "misbehave", m{"how": "stderr", "text": "bye " + secret + "\n"})
		_, err = w.tool("srv", "misbehave", m{"how": "exit1"})
		keep("death", err)
		w.tool("srv", "misbehave", m{"how": "stderr", "text": "half of it " + secret[:20]}) // nothing follows
		_, err = w.tool("srv", "misbehave", m{"how": "kill"})
		keep("death in the middle of it", err)
		w.good("srv")
		said["status"] = fmt.Sprintf("%+v", s.Status())
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		keep("closed", func() error { _, err := w.tool("srv", "echo", nil); return err }())
		for e := range events {
			said["events"] += fmt.Sprintf("%+v\n", e)
		}
		said["log"] = log.String()

		for what, text := range said {
			for n := 8; n <= len(secret); n++ {
				if strings.Contains(text, secret[:n]) {
					t.Errorf("%s shows it: %s", what, text)
					break
				}
			}
			if text == "" {
				t.Errorf("%s says nothing", what)
			}
		}
		if !strings.Contains(said["death (error)"], "out of cheese") || !strings.Contains(said["log"], "server=srv") {
			t.Errorf("it should still be useful: %s %s", said["death (error)"], said["log"])
		}
	})
}
