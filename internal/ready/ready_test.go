package ready

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAwaitSeesTheFileOfTheAwaitedProcessOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.json")
	if err := Write(path, Info{Address: "127.0.0.1:1", Life: 3}); err != nil {
		t.Fatal(err)
	}
	i, err := Await(t.Context(), path, os.Getpid())
	if err != nil || i.Address != "127.0.0.1:1" || i.Life != 3 || i.Pid != os.Getpid() {
		t.Fatalf("got %+v, %v", i, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Await(ctx, path, os.Getpid()+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("another process's file was taken for ours: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}
