package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
)

func folder(t *testing.T) *state.Dir {
	t.Helper()
	d, err := state.Create(t.TempDir(), script.Script{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCommandsArriveOneAfterTheOther(t *testing.T) {
	d := folder(t)
	var mu sync.Mutex
	var got []string
	busy := false
	closer, err := control.Serve(t.Context(), d, 4, func(c control.Command, _ func()) error {
		if busy {
			t.Error("two at once")
		}
		busy = true
		mu.Lock()
		got = append(got, c.String())
		mu.Unlock()
		busy = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := control.Send(t.Context(), d, 4, control.Command{Phase: script.Healed}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := control.Send(t.Context(), d, 4, control.Command{Do: &script.Action{Signal: "KILL"}}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 11 || got[0] != `{"phase":"healed"}` || !slices.Contains(got, `{"do":{"signal":"KILL"}}`) {
		t.Fatalf("%v", got)
	}
}

func TestTheSenderLearnsWhatHappened(t *testing.T) {
	d := folder(t)
	release := make(chan struct{})
	closer, err := control.Serve(t.Context(), d, 1, func(c control.Command, ack func()) error {
		if c.Do != nil {
			return errors.New("cannot do that")
		}
		ack()
		<-release // the sender must not wait for what follows
		return errors.New("too late to refuse")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Send(t.Context(), d, 1, control.Command{Phase: script.Healed}); err != nil {
		t.Errorf("acknowledged: %v", err)
	}
	close(release)
	err = control.Send(t.Context(), d, 1, control.Command{Do: &script.Action{Hang: true}})
	if refused, ok := errors.AsType[*control.RefusedError](err); !ok || refused.Reason != "cannot do that" || refused.Life != 1 {
		t.Errorf("refused: %v", err)
	}
	if err := control.Send(t.Context(), d, 2, control.Command{}); !errors.Is(err, control.ErrGone) {
		t.Errorf("a life that never was: %v", err)
	}
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := control.Send(t.Context(), d, 1, control.Command{}); !errors.Is(err, control.ErrGone) {
		t.Errorf("a closed channel: %v", err)
	}
}

func TestContextsAreHonoured(t *testing.T) {
	d := folder(t)
	entered := make(chan struct{})
	serving, stop := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	if _, err := control.Serve(serving, d, 1, func(control.Command, func()) error {
		close(entered)
		<-release
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if err := control.Send(ctx, d, 1, control.Command{}); !errors.Is(err, context.Canceled) || errors.Is(err, control.ErrGone) {
		t.Errorf("given up: %v", err)
	}
	stop()
	// The listener is closed beside us; until it is, the connection is accepted and dropped or queued behind the stuck one.
	addr := address(t, d)
	for {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		c.Close()
	}
	if err := control.Send(t.Context(), d, 1, control.Command{}); !errors.Is(err, control.ErrGone) {
		t.Errorf("served no more: %v", err)
	}
}

func address(t *testing.T, d *state.Dir) string {
	t.Helper()
	b, err := os.ReadFile(d.File("control-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var a struct{ Addr string }
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	return a.Addr
}

func TestStrangersAreNotObeyed(t *testing.T) {
	d := folder(t)
	var commands int
	if _, err := control.Serve(t.Context(), d, 1, func(control.Command, func()) error { commands++; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"", "garbage\n", "{}\n", `{"token":"guess","phase":"fault"}` + "\n", `{"token":""}` + "\n"} {
		c, err := net.Dial("tcp", address(t, d))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if err := control.Send(t.Context(), d, 1, control.Command{Phase: script.Healed}); err != nil || commands != 1 {
		t.Fatalf("%v, %d commands", err, commands)
	}
}
