package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c
}

func TestParseStatCopesWithHostileNames(t *testing.T) {
	line := "42 (a) b (c) R 7 42 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3"
	i, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := Info{Pid: 42, PPid: 7, Pgrp: 42, Session: 41, Start: 98765, State: 'R', Comm: "a) b (c"}
	if i != want {
		t.Fatalf("got %+v, want %+v", i, want)
	}
	for _, bad := range []string{"", "42", "42 (x", "x (y) R", "42 (x) R 1 2"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	pid := os.Getpid()
	start := StartTime(pid)
	if start == 0 || !Alive(pid, start) || Alive(pid, start+1) {
		t.Fatalf("start %d, alive %v, as another %v", start, Alive(pid, start), Alive(pid, start+1))
	}
	if n, err := FDs(pid); err != nil || n < 3 {
		t.Fatalf("fds %d %v", n, err)
	}
	if n, err := RSS(pid); err != nil || n < 1<<20 {
		t.Fatalf("rss %d %v", n, err)
	}
	if c, err := Cmdline(pid); err != nil || len(c) == 0 || c[0] != os.Args[0] {
		t.Fatalf("cmdline %q %v", c, err)
	}
}

func TestChildrenStatesAndSignals(t *testing.T) {
	c := sleeper(t)
	pid := c.Process.Pid
	start := StartTime(pid)
	kids, err := Children(os.Getpid())
	if err != nil || !slices.Contains(kids, pid) {
		t.Fatalf("children %v %v", kids, err)
	}
	if err := Signal(pid, start+1, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Fatalf("a reused pid was not refused: %v", err)
	}
	if err := Signal(pid, start, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("not stopped: %v %v", ws, err)
	}
	if s := State(pid); s != 'T' {
		t.Fatalf("state %c", s)
	}
	if !Alive(pid, start) {
		t.Fatal("a stopped process is alive")
	}
	done := make(chan error, 1)
	go func() { done <- AwaitExit(context.Background(), pid, start) }()
	if err := Signal(pid, start, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if Alive(pid, start) {
		t.Fatal("a zombie is dead")
	}
	if err := Signal(pid, start, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Fatalf("signal to a zombie: %v", err)
	}
}

func TestDescendantsReachGrandchildren(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, _ := out.Read(buf)
	below, err := Descendants(c.Process.Pid)
	if err != nil || len(below) != 1 || below[0].Comm != "sleep" {
		t.Errorf("descendants %+v %v (said %q)", below, err, strings.TrimSpace(string(buf[:n])))
	}
	for _, i := range below {
		Signal(i.Pid, i.Start, syscall.SIGKILL)
	}
	c.Process.Kill()
	c.Wait()
}

func TestAwaitExitHonoursContext(t *testing.T) {
	c := sleeper(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err := AwaitExit(ctx, c.Process.Pid, StartTime(c.Process.Pid))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := AwaitExit(context.Background(), c.Process.Pid, 1); err != nil {
		t.Fatalf("another process with that pid: %v", err)
	}
}
