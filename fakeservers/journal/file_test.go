package journal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/journal"
)

const each = 500 // entries that every process writes

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "write" {
		os.Exit(write(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func write(path, server string) int {
	w, err := journal.OpenWriter(path, journal.Entry{Server: server, Pid: os.Getpid(), Life: 1})
	if err != nil {
		return 1
	}
	for i := range each {
		e := journal.Entry{Kind: journal.Request, Nonce: strconv.Itoa(i), Detail: strings.Repeat("x", i%300)}
		if w.Write(e) != nil {
			return 1
		}
	}
	return 0
}

func TestProcessesAppendTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	const n = 4
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := exec.Command(os.Args[0], "write", path, fmt.Sprint("s", i)).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	es, err := journal.Read(path)
	if err != nil || len(es) != n*each {
		t.Fatalf("%d entries, %v", len(es), err)
	}
	next := map[string]int{}
	last := map[string]journal.Entry{}
	for _, e := range es {
		if e.Nonce != strconv.Itoa(next[e.Server]) || e.T < last[e.Server].T || e.Pid == 0 {
			t.Fatalf("%+v after %+v", e, last[e.Server])
		}
		next[e.Server]++
		last[e.Server] = e
	}
}

func TestTheBaseIsFilledIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := journal.OpenWriter(path, journal.Entry{Server: "s", Role: "control", Pid: 3, Start: 4, Life: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(journal.Entry{Kind: journal.Spawn}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(journal.Entry{Kind: journal.Late, T: 1, Pid: 9, Life: 2}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	es, err := journal.Read(path)
	if err != nil || len(es) != 2 {
		t.Fatalf("%+v %v", es, err)
	}
	if e := es[0]; e.T == 0 || e.Server != "s" || e.Role != "control" || e.Pid != 3 || e.Start != 4 || e.Life != 5 {
		t.Errorf("%+v", e)
	}
	if e := es[1]; e.T != 1 || e.Pid != 9 || e.Start != 0 || e.Life != 2 {
		t.Errorf("what an entry brings is its own: %+v", e)
	}
}

func TestFollowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	f := journal.Follow(path)
	poll := func() string {
		es, err := f.Poll()
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, e := range es {
			out = append(out, e.Nonce)
		}
		return strings.Join(out, " ")
	}
	add := func(s string) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct{ add, want string }{
		{"", ""}, {`{"nonce":"a"}` + "\n" + `{"nonce":"b"}` + "\n", "a b"}, {`{"nonce":`, ""}, {`"c"}`, ""}, {"\n", "c"}, {"", ""},
	}
	if got := poll(); got != "" {
		t.Fatalf("no journal yet: %q", got)
	}
	for _, s := range steps {
		add(s.add)
		if got := poll(); got != s.want {
			t.Errorf("after %q: %q, want %q", s.add, got, s.want)
		}
	}
	add("garbage\n" + `{"nonce":"d"}` + "\n")
	if got := poll(); !strings.Contains(got, "unreadable line at byte 42") {
		t.Errorf("garbage: %q", got)
	}
	if got := poll(); got != "d" {
		t.Errorf("after the garbage: %q", got)
	}
}
