//go:build linux

package stdio_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/internal/proc"
)

// launched is a fake behind a launcher, which has answered one request.
type launched struct {
	t        *testing.T
	d        *state.Dir
	launcher *exec.Cmd
	in       io.WriteCloser
	fake     journal.Entry // its spawn
}

func launch(t *testing.T, kind string, s script.Script) *launched {
	t.Helper()
	l := &launched{t: t, d: folder(t, s)}
	l.launcher = exec.Command(os.Args[0], stdio.LauncherVerb, "--kind", kind, "--",
		os.Args[0], "stdio", "--server", "srv", "--state", l.d.Path())
	l.launcher.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	// Both pipes are ours to close: Wait must neither wait for a fake that outlives its launcher, nor end its stdin.
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l.in, l.launcher.Stdin, l.launcher.Stdout = in, stdin, w
	if err := l.launcher.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	w.Close()
	t.Cleanup(func() {
		in.Close()
		r.Close()
		l.launcher.Process.Kill()
		l.launcher.Wait()
		proc.Signal(l.fake.Pid, l.fake.Start, syscall.SIGKILL)
	})
	if _, err := io.WriteString(l.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	r.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatalf("answered %q (%v)", line, err)
	}
	l.fake = l.await(journal.Spawn)
	return l
}

// await waits for a journal entry.
func (l *launched) await(k journal.Kind) journal.Entry {
	l.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		es, err := journal.Read(l.d.JournalPath())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range es {
			if e.Kind == k {
				return e
			}
		}
	}
	l.t.Fatalf("no %s in the journal", k)
	return journal.Entry{}
}

func (l *launched) alive() bool { return proc.Alive(l.fake.Pid, l.fake.Start) }

func TestALauncherHandsOnTheEndOfStdinAndTheStatus(t *testing.T) {
	for _, kind := range script.Launchers {
		t.Run(kind, func(t *testing.T) {
			l := launch(t, kind, rules(when(script.When{On: script.OnEOF}, exitWith(7))))
			if own := l.launcher.Process.Pid == l.fake.Pid; own {
				t.Fatal("there is no launcher")
			}
			l.in.Close()
			l.launcher.Wait()
			if code := l.launcher.ProcessState.ExitCode(); code != 7 {
				t.Errorf("the launcher exited with %d", code)
			}
			l.await(journal.EOF)
			if l.alive() {
				t.Error("the server outlived its launcher")
			}
		})
	}
}

// Whoever signals a container's launcher first has a server that nothing reaches any more; with a wrapper the end of stdin still does.
func TestALauncherThatIsSignalledFirst(t *testing.T) {
	for _, kind := range script.Launchers {
		t.Run(kind, func(t *testing.T) {
			l := launch(t, kind, script.Script{})
			l.launcher.Process.Signal(syscall.SIGTERM)
			l.launcher.Wait()
			if !l.alive() {
				t.Fatal("the signal was passed on")
			}
			i, err := proc.Read(l.fake.Pid)
			if err != nil {
				t.Fatal(err)
			}
			if own := i.Session == l.fake.Pid; own != (kind == script.Container) {
				t.Errorf("a session of its own: %v", own)
			}
			l.in.Close()
			if kind == script.Wrapper {
				l.await(journal.EOF)
				return
			}
			time.Sleep(50 * time.Millisecond) // what must not happen has no event
			if !l.alive() {
				t.Error("it saw the end of its stdin after its launcher was gone")
			}
		})
	}
}

func TestKillingTheLauncher(t *testing.T) {
	l := launch(t, script.Wrapper, rules(when(script.When{Method: "tools/list"}, script.Action{KillLauncher: true})))
	io.WriteString(l.in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
	l.launcher.Wait()
	if s := l.launcher.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v", s)
	}
	if !l.alive() {
		t.Error("the server went along")
	}
}
