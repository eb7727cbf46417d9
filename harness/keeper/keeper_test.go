//go:build unix

package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/internal/proc"
)

// await is the longest that anything here may take; it is no measure, a test that needs it fails.
const await = 20 * time.Second

// TestMain lets the test binary be the programs that the tests need.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "keeper":
			os.Exit(Main(os.Args[2:]))
		case "harness":
			harness()
		case "stubborn":
			stubborn()
		case "daemon":
			daemon(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

// stubborn ignores whatever can be ignored.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

// daemon starts itself again in a session of its own, depth times (one per letter); each but the last ends at once.
func daemon(depth string) {
	if depth == "" {
		stubborn()
	}
	c := exec.Command(os.Args[0], "daemon", depth[1:])
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Stdout = os.Stdout
	if err := c.Start(); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// harness holds a keeper with everything that is hard to kill, says which processes there are, and waits to be killed.
func harness() {
	ctx := context.Background()
	k, err := Start(ctx, []string{os.Args[0], "keeper"})
	if err != nil {
		panic(err)
	}
	for _, argv := range [][]string{{"stubborn"}, {"stubborn"}, {"daemon", "xx"}, {"daemon", "x"}} {
		r, w, _ := os.Pipe()
		p, err := k.Spawn(ctx, Spec{Argv: append([]string{os.Args[0]}, argv...), Stdout: w})
		if err != nil {
			panic(err)
		}
		w.Close()
		if s, _ := bufio.NewReader(r).ReadString('\n'); s != "ready\n" {
			panic(s)
		}
		_ = p
	}
	below, err := k.Descendants()
	if err != nil {
		panic(err)
	}
	if err := k.Signal(below[0].Pid, below[0].Start, syscall.SIGSTOP); err != nil {
		panic(err)
	}
	below = append(below, Process{Pid: k.Pid(), Start: proc.StartTime(k.Pid())})
	json.NewEncoder(os.Stdout).Encode(below)
	select {}
}

func begin(t *testing.T) *Keeper {
	t.Helper()
	k, err := Start(t.Context(), []string{os.Args[0], "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func done(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(await):
		t.Fatalf("%s: not after %v", what, await)
	}
}

func gone(t *testing.T, ps []Process) {
	t.Helper()
	for _, p := range ps {
		ctx, cancel := context.WithTimeout(context.Background(), await)
		if err := proc.AwaitExit(ctx, p.Pid, p.Start); err != nil {
			t.Errorf("%v is alive: %v", p, err)
		}
		cancel()
	}
}

func TestSpawnReportsStreamsStatusAndSignals(t *testing.T) {
	k := begin(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := k.Spawn(t.Context(), Spec{
		Argv: []string{"sh", "-c", `cat; echo "$A in $(pwd)"; exit 7`}, Env: []string{"A=one"}, Dir: dir, Stdout: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, err := io.ReadAll(r)
	real, _ := filepath.EvalSymlinks(dir)
	if err != nil || strings.TrimSpace(string(out)) != "one in "+real {
		t.Fatalf("output %q %v", out, err)
	}
	done(t, p.Done(), "exit")
	if s := p.Status(); s.Code != 7 || s.String() != "exit status 7" {
		t.Fatal(s)
	}
	p, err = k.Spawn(t.Context(), Spec{Argv: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done(t, p.Done(), "exit")
	if s := p.Status(); s.Signal != syscall.SIGTERM || s.String() != "killed by SIGTERM" {
		t.Fatal(s)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, ErrNotOurs) {
		t.Fatal(err)
	}
}

func TestStartErrors(t *testing.T) {
	k := begin(t)
	var se *StartError
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{"no-such-program"}}); !errors.As(err, &se) {
		t.Fatal(err)
	}
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{t.TempDir() + "/x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{"true"}, Dir: t.TempDir() + "/x"}); !errors.Is(err, syscall.ENOENT) {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), []string{"true"}); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), []string{"sh", "-c", "echo went wrong >&2; exit 3"}); err == nil ||
		!strings.Contains(err.Error(), "went wrong") {
		t.Fatal(err)
	}
}

func TestStrangersAreNotSignalled(t *testing.T) {
	k := begin(t)
	me := os.Getpid()
	if err := k.Signal(me, proc.StartTime(me), syscall.SIGKILL); !errors.Is(err, ErrNotOurs) {
		t.Fatal(err)
	}
}

func TestAGivenUpStartLeavesNothing(t *testing.T) {
	k := begin(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if p, err := k.Spawn(ctx, Spec{Argv: []string{"sleep", "600"}}); err == nil {
			_ = p.Signal(syscall.SIGKILL) // the answer was faster than the look at ctx
			done(t, p.Done(), "exit")
		}
	}
	p, err := k.Spawn(t.Context(), Spec{Argv: []string{"sleep", "600"}}) // all before it are answered
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(await); ; {
		below, err := k.Descendants()
		if err != nil {
			t.Fatal(err)
		}
		if len(below) == 1 && below[0].Pid == p.Pid {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(below)
		}
		runtime.Gosched()
	}
}

func TestCloseKillsWhateverThereIs(t *testing.T) {
	k := begin(t)
	for _, argv := range [][]string{{"stubborn"}, {"daemon", "xxx"}} {
		r, w, _ := os.Pipe()
		if _, err := k.Spawn(t.Context(), Spec{Argv: append([]string{os.Args[0]}, argv...), Stdout: w}); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if s, err := bufio.NewReader(r).ReadString('\n'); err != nil {
			t.Fatal(s, err)
		}
	}
	below, err := k.Descendants()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && len(below) < 2 {
		t.Fatal(below)
	}
	for _, p := range below {
		if err := k.Signal(p.Pid, p.Start, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, below)
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{"true"}}); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// The promise: kill -9 of the harness at any moment, and nothing it started is left.
func TestNothingSurvivesTheHarness(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("without a subreaper, grandchildren in sessions of their own are lost")
		return
	}
	c := exec.Command(os.Args[0], "harness")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var ps []Process
	err = json.NewDecoder(out).Decode(&ps)
	c.Process.Kill()
	c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if len(ps) < 5 {
		t.Errorf("expected at least 4 processes and the keeper: %v", ps)
	}
	gone(t, ps)
}

func TestNothingSurvivesTheHarnessAtRandomMoments(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	for range 10 {
		c := exec.Command(os.Args[0], "harness")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// The moment is random on purpose; nothing is awaited here.
		time.Sleep(rand.N(60 * time.Millisecond))
		below, err := proc.Descendants(c.Process.Pid)
		c.Process.Kill()
		c.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range below {
			gone(t, []Process{{Pid: i.Pid, Start: i.Start}})
		}
	}
}

func TestKeeperSurvivesWhatIsNotMeantForIt(t *testing.T) {
	k := begin(t)
	if err := syscall.Kill(k.Pid(), syscall.SIGPIPE); err != nil {
		t.Fatal(err)
	}
	p, err := k.Spawn(t.Context(), Spec{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	done(t, p.Done(), "exit")
}

func TestKeeperCleansUpWhenItIsTerminated(t *testing.T) {
	k := begin(t)
	p, err := k.Spawn(t.Context(), Spec{Argv: []string{os.Args[0], "stubborn"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(k.Pid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done(t, k.Gone(), "end of the keeper")
	gone(t, []Process{{Pid: p.Pid, Start: p.Start}})
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{"true"}}); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
}

func TestKilledKeeperIsNoticedAndTidiedAfter(t *testing.T) {
	k := begin(t)
	p, err := k.Spawn(t.Context(), Spec{Argv: []string{"sh", "-c", "sleep 600 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(k.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done(t, p.Done(), "end of the process")
	if s := p.Status(); !s.Lost {
		t.Fatal(s)
	}
	gone(t, []Process{{Pid: p.Pid, Start: p.Start}})
}

func TestScratchIsRemovedWhateverHappens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ScratchPrefix+"x")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := Start(t.Context(), []string{os.Args[0], "keeper", "--scratch", dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), []string{os.Args[0], "keeper", "--scratch", t.TempDir()}); err == nil {
		t.Fatal("any folder will do")
	}
}

func TestProgramsDoNotInheritTheSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	k := begin(t)
	r, w, _ := os.Pipe()
	if _, err := k.Spawn(t.Context(), Spec{Argv: []string{"sh", "-c", "ls -l /proc/self/fd"}, Stdout: w,
		Env: os.Environ()}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, err := io.ReadAll(r)
	if err != nil || strings.Contains(string(out), "socket:") {
		t.Fatalf("%v\n%s", err, out)
	}
}
