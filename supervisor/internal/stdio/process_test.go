//go:build unix

package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/redact"
	"github.com/unwedge/unwedge/supervisor/internal/sent"
	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

// hand makes a call and does not wait for its result.
func hand(t *testing.T, f func() error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestSUP7_HowItEndedIsKnown(t *testing.T) {
	for how, want := range map[string]string{
		"exit0": "exited with status 0", "exit1": "exited with status 1", "kill": "was killed by SIGKILL", "segv": "was killed by SIGSEGV",
	} {
		for era, version := range eras {
			t.Run(how+"/"+era, func(t *testing.T) {
				p := start(t, nil)
				s := connect(t, p, version)
				if _, err := call(t.Context(), s, "misbehave", map[string]any{"how": how}); err == nil {
					t.Fatal("the call should fail")
				}
				if !closed(p.Dead()) {
					t.Fatal("the call failed before the death was known")
				}
				d := p.Death()
				if d.Exit != want || d.What != fmt.Sprintf("process %d %s", p.Pid(), want) {
					t.Errorf("got %+v", d)
				}
				if how == "exit1" && strings.Join(p.Stderr(), "") != "fatal: out of cheese" {
					t.Errorf("stderr %q", p.Stderr())
				}
			})
		}
	}
}

func TestSUP7_LastWordsAreRead(t *testing.T) {
	// The answer is in the pipe when the process is already dead, and somebody else holds the pipe open.
	for range 10 {
		p := start(t, nil)
		s := connect(t, p, eras["legacy"])
		pid, err := call(t.Context(), s, "misbehave", map[string]any{"how": "session-grandchild"})
		if err != nil {
			t.Fatal(err)
		}
		holder, _ := strconv.Atoi(pid)
		defer syscall.Kill(holder, syscall.SIGKILL)
		got, err := call(t.Context(), s, "misbehave", map[string]any{"how": "last-words", "nonce": "goodbye"})
		if err != nil || got != "goodbye" {
			t.Errorf("got %q, %v", got, err)
		}
		await(t, "death", p.Dead())
		began := time.Now()
		p.Stop(time.Minute, nil)
		if took := time.Since(began); took > patience {
			t.Errorf("Stop took %v: it waits for somebody who does not belong to it", took)
		}
	}
}

func TestSUP7_TheGroupGoesWithIt(t *testing.T) {
	for _, polite := range []bool{false, true} {
		p := start(t, nil)
		s := connect(t, p, eras["modern"])
		text, err := call(t.Context(), s, "misbehave", map[string]any{"how": "grandchild"})
		if err != nil {
			t.Fatal(err)
		}
		grandchild, _ := strconv.Atoi(text)
		inflight := hand(t, func() error { _, err := call(context.Background(), s, "lost", nil); return err })
		if !polite {
			syscall.Kill(p.Pid(), syscall.SIGKILL)
			await(t, "death, though the grandchild holds the pipes,", p.Dead())
			if err := <-inflight; err == nil {
				t.Error("the call in flight should have failed")
			}
		}
		p.Stop(200*time.Millisecond, nil)
		if alive(grandchild) || alive(p.Pid()) {
			t.Errorf("polite %v: the group was left behind", polite)
		}
	}
}

func TestSUP7_ClosedStreamsOfALivingProcess(t *testing.T) {
	for how, want := range map[string]string{"close-stdout": "closed its stdout but lives on", "close-stdin": "closed its stdin but lives on"} {
		t.Run(how, func(t *testing.T) {
			p := start(t, nil, "eof=ignore")
			s := connect(t, p, eras["legacy"])
			call(t.Context(), s, "misbehave", map[string]any{"how": how})
			for !closed(p.Dead()) && t.Context().Err() == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				call(ctx, s, "echo", nil)
				cancel()
			}
			if d := p.Death(); !strings.Contains(d.What, want) {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestSUP7_TheLadder(t *testing.T) {
	const grace = 700 * time.Millisecond
	for name, c := range map[string]struct {
		args   []string
		freeze bool
		least  time.Duration
		want   string
	}{
		"exits at EOF":         {nil, false, 0, "exited with status 0"},
		"exits at SIGTERM":     {[]string{"eof=ignore"}, false, grace, "was killed by SIGTERM"},
		"exits at SIGKILL":     {[]string{"eof=ignore", "term=ignore"}, false, 2 * grace, "was killed by SIGKILL"},
		"stopped: SIGKILL now": {nil, true, 0, "was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, nil, c.args...)
			connect(t, p, eras["legacy"])
			if c.freeze {
				syscall.Kill(p.Pid(), syscall.SIGSTOP)
				for !p.Frozen() && runtime.GOOS == "linux" {
					time.Sleep(time.Millisecond)
				}
			}
			began := time.Now()
			p.Stop(grace, nil)
			if took := time.Since(began); took < c.least {
				t.Errorf("took %v, less than its graces", took)
			}
			if p.exit != c.want {
				t.Errorf("it %s, want %s", p.exit, c.want)
			}
			if d := p.Death(); !d.Asked || d.Exit != "" {
				t.Errorf("our own doing should be told as such: %+v", d)
			}
		})
	}
	t.Run("hurry", func(t *testing.T) {
		p := start(t, nil, "eof=ignore", "term=ignore")
		connect(t, p, eras["legacy"])
		hurry := make(chan struct{})
		close(hurry)
		began := time.Now()
		p.Stop(time.Hour, hurry)
		if time.Since(began) > time.Minute || alive(p.Pid()) {
			t.Error("hurry was not heard")
		}
	})
}

func TestSUP6_ADeafServerBlocksNobody(t *testing.T) {
	dir := t.TempDir()
	p := start(t, func(c *Config) { c.WriteTimeout, c.MaxQueue = time.Hour, 3<<19 }, "dir="+dir)
	s := connect(t, p, eras["legacy"])
	hand(t, func() error { _, err := call(context.Background(), s, "deaf", nil); return err })
	for end := time.Now().Add(patience); len(testserver.Lines(dir, "deaf")) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	// A megabyte fills the pipe; its caller and a later, small one come back by their own deadlines.
	for _, size := range []int{1 << 20, 10} {
		mark := new(sent.Mark)
		ctx, cancel := context.WithTimeout(sent.With(t.Context(), mark), time.Second) // to marshal a megabyte takes a while
		began := time.Now()
		_, err := call(ctx, s, "echo", map[string]any{"nonce": strings.Repeat("x", size)})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience/2 {
			t.Fatalf("%d bytes: got %v after %v", size, err, time.Since(began))
		}
		begun := mark.Begun()
		if taken := p.Withdraw(mark); size == 10 && (begun || !taken) {
			t.Errorf("the small call never left: begun %v, withdrawn %v", begun, taken)
		} else if size > 10 && taken {
			t.Error("the big call had begun and cannot be taken back")
		}
	}
	// A full queue fails one call and not the session.
	_, err := call(t.Context(), s, "echo", map[string]any{"nonce": strings.Repeat("x", 1<<20)})
	if as[*Rejected](err) == nil || !errors.Is(err, errQueueFull) {
		t.Errorf("got %v", err)
	}
	if closed(p.Dead()) {
		t.Errorf("the session should live: %+v", p.Death())
	}
}

func TestSUP6_AWriteOverItsDeadlineEndsTheSession(t *testing.T) {
	dir := t.TempDir()
	p := start(t, func(c *Config) { c.WriteTimeout, c.MaxQueue = 200*time.Millisecond, 1<<22 }, "dir="+dir)
	s := connect(t, p, eras["modern"])
	done := hand(t, func() error { _, err := call(context.Background(), s, "deaf", nil); return err })
	for end := time.Now().Add(patience); len(testserver.Lines(dir, "deaf")) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	_, err := call(t.Context(), s, "echo", map[string]any{"nonce": strings.Repeat("x", 1<<20)})
	if err == nil {
		t.Fatal("nobody read that")
	}
	await(t, "death", p.Dead())
	if d := p.Death(); !strings.Contains(d.What, "reads nothing any more") {
		t.Errorf("got %+v", d)
	}
	if err := <-done; err == nil {
		t.Error("the call in flight should fail with the session")
	}
}

func TestSUP6_BigCallsArriveWhole(t *testing.T) {
	p := start(t, func(c *Config) { c.MaxLine, c.MaxQueue, c.WriteTimeout = 16<<20, 16<<20, patience })
	s := connect(t, p, eras["modern"])
	done := make(chan error)
	for i := range 8 {
		go func() {
			nonce := strings.Repeat(strconv.Itoa(i), 1<<20)
			got, err := call(t.Context(), s, "echo", map[string]any{"nonce": nonce})
			if err == nil && got != nonce {
				err = errors.New("mixed up")
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestSUP6_SilentDiscoverFallsBackOnTheSameProcess(t *testing.T) {
	p := start(t, func(c *Config) { c.DiscoverTimeout = 50 * time.Millisecond }, "discover=silent", "era=legacy")
	s := connect(t, p, eras["modern"])
	if got := s.InitializeResult().ProtocolVersion; got != eras["legacy"] {
		t.Errorf("negotiated %s", got)
	}
	if p.Discovered() != Silent {
		t.Errorf("evidence: %v", p.Discovered())
	}
	if got, err := call(t.Context(), s, "echo", map[string]any{"nonce": "n"}); got != "n" {
		t.Error(got, err)
	}
}

func TestSUP8_ProbesAreAnsweredAndFilteredOut(t *testing.T) {
	for era, version := range eras {
		for _, args := range [][]string{nil, {"noping=1"}} {
			p := start(t, nil, args...)
			s := connect(t, p, version)
			for range 20 {
				rx := p.Rx()
				p.Probe(era == "modern")
				for end := time.Now().Add(patience); p.Rx() == rx; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%s: no answer to a probe", era)
					}
				}
			}
			if got, err := call(t.Context(), s, "echo", map[string]any{"nonce": "n"}); got != "n" {
				t.Error(got, err)
			}
			if p.Noise() != 0 || closed(p.Dead()) {
				t.Errorf("%s: noise %d, death %+v", era, p.Noise(), p.death)
			}
		}
	}
}

func TestSUP10_StderrIsDrainedAndItsTailKept(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	p := start(t, func(c *Config) { c.Redact, c.StderrTail = redact.New(secret), 512 })
	s := connect(t, p, eras["legacy"])
	for i := range 50 { // far more than a pipe holds
		text := strings.Repeat("x", 40<<10) + "\n"
		if _, err := call(t.Context(), s, "misbehave", map[string]any{"how": "stderr", "text": text}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	for _, piece := range []string{"token=hun", "ter2-hunter2-", "hunter2 end\n", "half=hunter2-hunt"} {
		call(t.Context(), s, "misbehave", map[string]any{"how": "stderr", "text": piece})
	}
	for end := time.Now().Add(patience); !strings.Contains(strings.Join(p.Stderr(), "\n"), "half="); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %q", p.Stderr())
		}
	}
	text := strings.Join(p.Stderr(), "\n")
	if strings.Contains(text, "hunt") || !strings.Contains(text, "token="+redact.Mark+" end") || len(text) > 600 {
		t.Errorf("got %q", text)
	}
}

func TestSUP7_NothingLeaksOver200Kills(t *testing.T) {
	cycle := func(i int) {
		p := start(t, nil)
		defer p.Stop(time.Second, nil)
		s := connect(t, p, []string{eras["legacy"], eras["modern"]}[i%2])
		if i%3 == 0 {
			call(t.Context(), s, "misbehave", map[string]any{"how": "exit1"})
		} else {
			syscall.Kill(p.Pid(), syscall.SIGKILL)
		}
		await(t, "death", p.Dead())
		p.Stop(time.Second, nil)
		s.Close()
	}
	cycle(0)
	settled := func() (goroutines, files int) {
		runtime.GC()
		fds, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine(), len(fds)
	}
	goroutines, files := settled()
	for i := range 200 {
		cycle(i)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		g, f := settled()
		if g <= goroutines+1 && f <= files {
			break
		}
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines %d -> %d, files %d -> %d\n%s", goroutines, g, files, f, buf[:runtime.Stack(buf, true)])
		}
	}
	if kids := children(t); len(kids) > 0 {
		t.Errorf("children left: %v", kids)
	}
}

// children lists our child processes, zombies included.
func children(t *testing.T) []string {
	t.Helper()
	tasks, _ := os.ReadDir("/proc/self/task")
	var all []string
	for _, task := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		all = append(all, strings.Fields(string(b))...)
	}
	return all
}
