package state_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
)

func create(t *testing.T) *state.Dir {
	t.Helper()
	d, err := state.Create(filepath.Join(t.TempDir(), "srv"), script.Script{Tools: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	made := create(t)
	d, err := state.Open(made.Path())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := d.Script(); err != nil || !slices.Equal(s.Tools, []string{"echo"}) {
		t.Errorf("script %+v %v", s, err)
	}
	if p := d.Phase(); p != script.Baseline {
		t.Errorf("phase %s", p)
	}
	if _, ok := d.Serving(); ok {
		t.Error("nobody served yet")
	}
	if _, ok := d.Tools(); ok {
		t.Error("the tools were never changed")
	}
	if err := errors.Join(made.SetPhase(script.Healed), made.SetServing(7), made.SetTools(nil)); err != nil {
		t.Fatal(err)
	}
	life, serving := d.Serving()
	names, changed := d.Tools()
	if d.Phase() != script.Healed || life != 7 || !serving || !changed || len(names) != 0 {
		t.Errorf("phase %s, serving %d %v, tools %v %v", d.Phase(), life, serving, names, changed)
	}
	left, err := filepath.Glob(filepath.Join(d.Path(), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	d := create(t)
	if _, err := state.Create(d.Path(), script.Script{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := state.Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened an empty folder: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "x")
	if _, err := state.Create(bad, script.Script{Era: "old"}); len(script.Problems(errors.Unwrap(err))) == 0 {
		t.Errorf("made with a bad script: %v", err)
	}
	if _, err := os.Stat(bad); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused script leaves a folder: %v", err)
	}
}

// racers is how many goroutines and processes want the same thing at once.
const racers = 8

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "race" {
		os.Exit(race(os.Args[2]))
	}
	os.Exit(m.Run())
}

// race takes the token in a process of its own; the exit status says who won.
func race(dir string) int {
	d, err := state.Open(dir)
	if err != nil {
		return 3
	}
	if _, err := d.NewLife(os.Getpid()); err != nil {
		return 3
	}
	if d.Take("the token") {
		return 1
	}
	return 0
}

func TestProcessesRace(t *testing.T) {
	d := create(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for range racers {
		wg.Go(func() {
			c := exec.Command(os.Args[0], "race", d.Path())
			_ = c.Run()
			mu.Lock()
			codes[c.ProcessState.ExitCode()]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if codes[1] != 1 || codes[0] != racers-1 {
		t.Errorf("exit codes %v", codes)
	}
	if n, err := d.Lives(); err != nil || n != racers {
		t.Errorf("%d lives, %v", n, err)
	}
}

func TestGoroutinesRace(t *testing.T) {
	d := create(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, lives := 0, map[int]bool{}
	for range racers {
		wg.Go(func() {
			life, err := d.NewLife(1)
			if err != nil {
				t.Error(err)
			}
			took := d.Take("a/b ü")
			mu.Lock()
			defer mu.Unlock()
			lives[life] = true
			if took {
				won++
			}
		})
	}
	wg.Wait()
	if won != 1 || len(lives) != racers || !lives[1] || !lives[racers] {
		t.Fatalf("%d took the token; lives %v", won, lives)
	}
	if !d.Take("a_b ü") {
		t.Error("another token must be free")
	}
}
