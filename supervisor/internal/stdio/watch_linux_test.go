package stdio

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

func TestSUP7_ManyChildrenFewThreads(t *testing.T) {
	threads := func() int {
		tasks, _ := os.ReadDir("/proc/self/task")
		return len(tasks)
	}
	dir := t.TempDir()
	before := threads()
	var all []*Process
	for range 60 {
		all = append(all, start(t, nil, "dir="+dir))
	}
	for len(testserver.Lines(dir, "lives")) < 60 {
		time.Sleep(time.Millisecond)
	}
	if n := threads() - before; n > 20 {
		t.Errorf("%d more threads for 60 children", n)
	}
	for _, p := range all {
		syscall.Kill(p.Pid(), syscall.SIGKILL)
	}
	for _, p := range all {
		await(t, "death", p.Dead())
		p.Stop(time.Second, nil)
	}
}
