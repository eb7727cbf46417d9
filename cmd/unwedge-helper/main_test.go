package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "helper" {
		os.Exit(run(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func TestVerbs(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"version"}, 0, buildinfo.Version + "\n"},
		{[]string{"sleeper", "--for", "1ms"}, 0, ""},
		{[]string{"sleeper"}, 2, ""},
		{[]string{"holder"}, 2, ""},
		{[]string{"stdio"}, 2, ""},
		{[]string{"stdio", "--server", "s", "--state", filepath.Join(t.TempDir(), "none")}, 2, ""},
		{[]string{"nonsense"}, 2, ""},
	} {
		cmd := exec.Command(os.Args[0], append([]string{"helper"}, c.args...)...)
		out, _ := cmd.Output() // the exit code is looked at below
		if code := cmd.ProcessState.ExitCode(); code != c.code || string(out) != c.out {
			t.Errorf("%v: exit %d, said %q", c.args, code, out)
		}
	}
}

// TestNothingHeavyIsLinked keeps the start short: one careless import in a package that a fake uses would cost every spawn of
// every run.
func TestNothingHeavyIsLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if !strings.HasPrefix(p, "github.com/unwedge/unwedge/") && !strings.HasPrefix(p, "golang.org/x/sys/") {
			t.Errorf("links %s", p)
		}
	}
}

// BenchmarkStart is from the start of the process to its answer to initialize.
func BenchmarkStart(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "unwedge-helper")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n"
	for b.Loop() {
		b.StopTimer()
		d, err := state.Create(b.TempDir(), script.Script{})
		if err != nil {
			b.Fatal(err)
		}
		c := exec.Command(bin, "stdio", "--server", "s", "--state", d.Path())
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := in.Write([]byte(initialize)); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		in.Close()
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
