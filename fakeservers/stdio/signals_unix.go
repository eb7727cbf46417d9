//go:build unix

package stdio

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

var signalByName = map[string]syscall.Signal{
	"KILL": unix.SIGKILL, "SEGV": unix.SIGSEGV, "STOP": unix.SIGSTOP, "TERM": unix.SIGTERM,
}

// watchSignals journals the signals that ask a server to end, and ends by them unless the script says no.
func (f *fake) watchSignals() {
	c := make(chan os.Signal, 4)
	signal.Notify(c, unix.SIGTERM, unix.SIGINT)
	go func() {
		for s := range c {
			sig := s.(syscall.Signal)
			f.note(journal.Entry{Kind: journal.Signal, Detail: unix.SignalName(sig)})
			f.happened(engine.Event{On: script.OnSignal})
			if !f.ignoreTERM.Load() {
				f.dieBy(sig)
			}
		}
	}()
}

// raise sends ourselves a signal, so that whoever waits for us sees exactly that one. STOP returns when we are continued.
func (f *fake) raise(name string) {
	sig, ok := signalByName[name]
	if !ok {
		return
	}
	if sig == unix.SIGSTOP {
		_ = unix.Kill(os.Getpid(), sig)
		return
	}
	f.dieBy(sig)
}

// dieBy ends the process by a signal and leaves no core file.
func (f *fake) dieBy(sig syscall.Signal) {
	f.out.seal()
	if f.cleanup != nil {
		f.cleanup()
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	dieBySignal(sig)
}
