package supervisor

import (
	"syscall"
	"testing"
)

func TestSlice(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		w.serve("srv", era)
		w.good("srv")
		for range 5 {
			syscall.Kill(w.status("srv").Pid, syscall.SIGKILL)
			w.good("srv")
		}
		e := w.bad("srv", "effect", m{"how": "before", "nonce": "x"})
		t.Log(e)
		w.good("srv")
		t.Logf("%+v", w.status("srv"))
	})
}
