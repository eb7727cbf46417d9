//go:build unix

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

// What the state machine does with real processes.

func (w *world) signal(server string, sig syscall.Signal) int {
	w.Helper()
	pid := w.status(server).Pid
	if pid <= 0 {
		w.Fatalf("%s has no process: %+v", server, w.status(server))
	}
	syscall.Kill(pid, sig)
	return pid
}

// lost waits until the server has read n calls that it will not answer.
func (w *world) lost(dir string, n int) {
	w.Helper()
	w.until(fmt.Sprint(n, " calls are in flight"), func() bool { return len(testserver.Lines(dir, "lost")) >= n })
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(b), ") Z ")
}

func TestSUP2_AnIdleDeathIsHealedByTheNextCall(t *testing.T) { // NousResearch/hermes-agent#16788
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		w.serve("srv", era)
		w.good("srv")
		for range 20 {
			w.signal("srv", syscall.SIGKILL)
			w.good("srv") // no failed call in between, although no probe has looked
		}
		if s := w.status("srv"); s.Breaker != "closed" || s.State != StateReady {
			t.Errorf("got %+v", s)
		}
	})
}

func TestSUP4_EffectsHappenAtMostOnce(t *testing.T) { // NousResearch/hermes-agent#88821, #106421
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		dir := w.serve("srv", era)
		w.good("srv")
		for _, how := range []string{"before", "after"} {
			e := w.bad("srv", "effect", m{"how": how, "nonce": how})
			if e.Kind != KindTransport || e.Sent != OutcomeUnknown || e.Exit != "was killed by SIGKILL" {
				t.Errorf("%s: got %#v", how, e)
			}
			w.good("srv")
		}
		if got := testserver.Lines(dir, "effects"); fmt.Sprint(got) != "[after]" {
			t.Errorf("effects: %v", got)
		}
	})
}

func TestSUP4_AHarmlessCallIsSentToTheNextProcess(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		dir := w.serve("srv", era)
		got, err := w.tool("srv", "echo", m{"nonce": "n", "how": "kill", "text": "a"})
		if err != nil || got != "n" {
			t.Errorf("got %q, %v", got, err)
		}
		if lives := testserver.Lines(dir, "lives"); len(lives) != 2 || w.status("srv").Resends != 1 {
			t.Errorf("lives %v, status %+v", lives, w.status("srv"))
		}
	})
}

func TestSUP4_TheErrorSaysEverything(t *testing.T) {
	w := newWorld(t, scaled())
	w.serve("srv", AnyEra)
	w.good("srv")
	pid := w.status("srv").Pid
	e := w.bad("srv", "misbehave", m{"how": "exit1"})
	want := fmt.Sprintf(`server "srv": tool "misbehave": process %d exited with status 1 while the call was running; `+
		`it may have had an effect; last stderr: "fatal: out of cheese"; a new process is being started; try again`, pid)
	if e.Error() != want {
		t.Errorf("got  %s\nwant %s", e, want)
	}
}

func TestSUP4_AllCallsInFlightFailAtOnce(t *testing.T) { // NousResearch/hermes-agent#81995
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.CallTimeout = time.Hour
		w := newWorld(t, set)
		dir := w.serve("srv", era)
		w.good("srv")
		errs := make(chan error, 50)
		for range 50 {
			go func() { _, err := w.tool("srv", "lost", nil); errs <- err }()
		}
		w.lost(dir, 50)
		w.signal("srv", syscall.SIGSEGV)
		for range 50 {
			select {
			case err := <-errs:
				if e := as[*Error](err); e == nil || e.Kind != KindTransport {
					t.Errorf("got %v", err)
				}
			case <-time.After(patience):
				t.Fatal("a call rides the dead process")
			}
		}
		w.good("srv")
	})
}

func TestSUP7_AGrandchildThatHoldsThePipes(t *testing.T) { // mattapperson/noetic#97
	for _, how := range []string{"grandchild", "session-grandchild"} {
		t.Run(how, func(t *testing.T) {
			set := scaled()
			set.CallTimeout = time.Hour
			w := newWorld(t, set)
			dir := w.serve("srv", AnyEra)
			text, err := w.tool("srv", "misbehave", m{"how": how})
			if err != nil {
				t.Fatal(err)
			}
			grandchild, _ := strconv.Atoi(text)
			defer syscall.Kill(grandchild, syscall.SIGKILL)
			errs := make(chan error, 1)
			go func() { _, err := w.tool("srv", "lost", nil); errs <- err }()
			w.lost(dir, 1)
			w.signal("srv", syscall.SIGKILL)
			if err := <-errs; as[*Error](err) == nil {
				t.Errorf("got %v", err)
			}
			w.good("srv")
			if how == "grandchild" && alive(grandchild) {
				t.Error("it was left behind")
			}
		})
	}
}

func TestSUP7_StreamsClosedByALivingProcess(t *testing.T) {
	for _, how := range []string{"close-stdout", "close-stdin"} {
		eachEra(t, func(t *testing.T, era Era) {
			w := newWorld(t, scaled())
			dir := w.serve("srv", era, "eof=ignore")
			w.good("srv")
			first := w.status("srv").Pid
			w.tool("srv", "misbehave", m{"how": how})
			w.until("it is replaced", func() bool {
				ctx, cancel := context.WithTimeout(w.ctx, 500*time.Millisecond)
				defer cancel()
				_, err := w.Call(ctx, "srv", "echo", m{"nonce": "n"})
				return err == nil && w.status("srv").Pid != first
			})
			if alive(first) {
				t.Errorf("%s: two are alive", how)
			}
			if n := len(testserver.Lines(dir, "lives")); n != 2 {
				t.Errorf("%s: %d lives", how, n)
			}
		})
	}
}

func TestSUP8_AStoppedProcessIsReplaced(t *testing.T) {
	for _, busy := range []bool{false, true} {
		eachEra(t, func(t *testing.T, era Era) {
			set := scaled()
			set.Liveness, set.CallTimeout = 30*time.Millisecond, time.Hour
			w := newWorld(t, set)
			dir := w.serve("srv", era)
			w.good("srv")
			errs := make(chan error, 1)
			if busy {
				go func() { _, err := w.tool("srv", "lost", nil); errs <- err }()
				w.lost(dir, 1)
			}
			pid := w.signal("srv", syscall.SIGSTOP)
			w.until("it is replaced", func() bool { p := w.status("srv").Pid; return p != 0 && p != pid })
			w.good("srv")
			if alive(pid) {
				t.Error("the stopped one was left behind")
			}
			if busy {
				if e := as[*Error](<-errs); e == nil || e.Kind != KindTransport || !strings.Contains(e.What, "silent") {
					t.Errorf("got %v", e)
				}
			}
		})
	}
}

func TestSUP8_AHealthyServerIsLeftAlone(t *testing.T) { // NousResearch/hermes-agent#50028
	for _, args := range [][]string{nil, {"noping=1"}, {"one=1"}} {
		eachEra(t, func(t *testing.T, era Era) {
			set := scaled()
			set.Liveness, set.LivenessMisses = 10*time.Millisecond, 40 // the machine may be slow, too
			w := newWorld(t, set)
			dir := w.serve("srv", era, args...)
			w.good("srv")
			w.until("it was probed often", func() bool { return w.status("srv").Probes > 30 })
			if _, err := w.tool("srv", "sleep", m{"ms": 600, "nonce": "n"}); err != nil { // beyond what idle silence is allowed
				t.Errorf("%v: a slow call: %v", args, err)
			}
			w.good("srv")
			if n := len(testserver.Lines(dir, "lives")); n != 1 {
				t.Errorf("%v: %d lives", args, n)
			}
		})
	}
}

func TestSUP9_AHungServerIsReplaced(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.CallTimeout = 150 * time.Millisecond
		w := newWorld(t, set)
		w.serve("srv", era)
		w.awaitState("srv", StateReady)
		pid := w.status("srv").Pid
		w.bad("srv", "misbehave", m{"how": "hang"})
		w.until("it is replaced", func() bool {
			w.tool("srv", "echo", m{"nonce": "n"})
			p := w.status("srv").Pid
			return p != 0 && p != pid
		})
	})
}

func TestSUP10_NoiseIsCountedAndTold(t *testing.T) {
	w := newWorld(t, scaled())
	events, stop := w.Events()
	defer stop()
	w.serve("srv", AnyEra)
	for range 3 {
		if _, err := w.tool("srv", "misbehave", m{"how": "write", "text": "Listening on stdio\n", "nonce": "n"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.status("srv").Noise; got != 3 {
		t.Errorf("counted %d", got)
	}
	told := 0
	for len(events) > 0 {
		if e := <-events; e.Kind == EventNoise && e.Detail == "Listening on stdio" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestSUP11_OneBadServerCostsTheOthersNothing(t *testing.T) { // NousResearch/hermes-agent#50394
	w := newWorld(t, scaled())
	w.serve("good", AnyEra)
	w.good("good")
	w.serve("loops", AnyEra, "fail=1-1000")
	w.serve("mute", Legacy, "mute=initialize")
	w.serve("hangs", AnyEra)
	go w.tool("hangs", "misbehave", m{"how": "hang"})
	pid := w.status("good").Pid
	for range 200 {
		w.good("good")
	}
	if s := w.status("good"); s.Pid != pid || s.Failures != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestReconnectReplacesAHealthySession(t *testing.T) {
	w := newWorld(t, scaled())
	dir := w.serve("srv", AnyEra)
	w.good("srv")
	pid := w.status("srv").Pid
	errs := make(chan error, 1)
	go func() { _, err := w.tool("srv", "lost", nil); errs <- err }()
	w.lost(dir, 1)
	if err := w.Reconnect(w.ctx, "srv"); err != nil {
		t.Fatal(err)
	}
	if p := w.status("srv").Pid; p == pid || alive(pid) || len(testserver.Lines(dir, "lives")) != 2 {
		t.Errorf("pid %d -> %d, lives %v", pid, p, testserver.Lines(dir, "lives"))
	}
	if e := as[*Error](<-errs); e == nil || !strings.Contains(e.What, "reconnect was asked for") {
		t.Errorf("got %v", e)
	}
	w.good("srv")
}

func TestSUP6_CloseIsBoundedAndLeavesNothing(t *testing.T) { // servers that ignore everything
	set := scaled()
	set.StopGrace = time.Hour
	s, err := New(Options{Settings: set})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, Supervisor: s, ctx: t.Context()}
	w.serve("stubborn", AnyEra, "eof=ignore", "term=ignore")
	w.serve("frozen", AnyEra)
	w.serve("nice", AnyEra)
	var pids []int
	for _, name := range []string{"stubborn", "frozen", "nice"} {
		w.good(name)
		pids = append(pids, w.status(name).Pid)
	}
	w.signal("frozen", syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("Close took %v", took)
	}
	if err := s.Close(t.Context()); err != nil { // the killing was already under way
		t.Errorf("again: %v", err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d was left behind", pid)
		}
	}
}

func TestRemoveForgets(t *testing.T) {
	w := newWorld(t, scaled())
	w.serve("srv", AnyEra)
	w.good("srv")
	pid := w.status("srv").Pid
	if err := w.Remove("srv"); err != nil {
		t.Fatal(err)
	}
	if alive(pid) || len(w.Tools()) != 0 || len(w.Status()) != 0 {
		t.Errorf("alive %v, tools %v, status %v", alive(pid), w.Tools(), w.Status())
	}
	if e := w.bad("srv", "echo", nil); e.Kind != KindNoSession {
		t.Errorf("got %v", e)
	}
	w.serve("srv", AnyEra) // the name is free
	w.good("srv")
}

// TestSUP7_KillsUnderLoad kills at random while many call, and then looks at what is left.
func TestSUP7_KillsUnderLoad(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		set := scaled()
		set.BackoffMin = time.Millisecond
		before := settledCounts()
		func() {
			s, err := New(Options{Settings: set, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			w := &world{TB: t, Supervisor: s, ctx: t.Context()}
			dir := w.serve("srv", era)
			w.good("srv")
			stop := make(chan struct{})
			var callers sync.WaitGroup
			var sent atomic.Int64
			for i := range 8 {
				callers.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						nonce := fmt.Sprintf("%d-%d", i, n)
						tool := []string{"echo", "effect"}[n%2]
						got, err := w.tool("srv", tool, m{"nonce": nonce})
						sent.Add(1)
						if err == nil && got != nonce {
							t.Errorf("crossed replies: asked %s, got %s", nonce, got)
						}
						if e := as[*Error](err); err != nil && (e == nil || e.Kind != KindTransport) {
							t.Errorf("got %v", err)
						}
					}
				})
			}
			for range 100 {
				w.until("there is a session", func() bool { return w.status("srv").Pid != 0 })
				n := sent.Load()
				if pid := w.status("srv").Pid; pid > 0 {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				w.until("calls go on", func() bool { return sent.Load() > n+8 })
			}
			close(stop)
			callers.Wait()
			w.good("srv")
			seen := map[string]bool{}
			for _, nonce := range testserver.Lines(dir, "effects") {
				if seen[nonce] {
					t.Errorf("effect %s happened twice", nonce)
				}
				seen[nonce] = true
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		var after counts
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if after = settledCounts(); after.goroutines <= before.goroutines && after.files <= before.files && after.children == 0 {
				return
			}
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("left over: %+v, before %+v\n%s", after, before, buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

type counts struct{ goroutines, files, children int }

func settledCounts() counts {
	runtime.GC()
	fds, _ := os.ReadDir("/proc/self/fd")
	c := counts{goroutines: runtime.NumGoroutine(), files: len(fds)}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		c.children += len(strings.Fields(string(b)))
	}
	return c
}
