package httpfake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/internal/proc"
	"github.com/unwedge/unwedge/internal/ready"
)

const (
	// stopGrace is how long an orderly stop waits for answers in the making; streams never end by themselves.
	stopGrace = 250 * time.Millisecond
	// headerTimeout bounds a client that connects and sends half a request.
	headerTimeout = 30 * time.Second
	// unusable is the exit code for a state folder or journal that cannot be used.
	unusable = 2
)

// config is what a life is told from outside.
type config struct {
	dir    *state.Dir
	server string
	role   string
	listen string
	eof    <-chan struct{}      // closed when stdin ends; nil: nobody looks
	ready  func(address string) // may be nil
	// cleanup runs before a death by the script's own doing; may be nil.
	cleanup func()
}

// life is one process of the fake, from its entry "spawn" to its entry "exit".
type life struct {
	config
	number     int
	script     script.Script
	log        *journal.Writer
	engine     *engine.Engine
	forControl *engine.Engine // decides for requests with ControlHeader
	sdk        *sdk
	streams    streams
	sessions   sessions
	http       *http.Server
	failed     chan error // the server gave up
	over       chan struct{}
}

// begin counts the life, opens journal, control channel and port, and says that it is ready. The phase is read after the
// control channel is open: who changes it writes it first and tells the live ones second, so no change is missed.
func begin(c config, s script.Script) (*life, error) {
	pid := os.Getpid()
	number, err := c.dir.NewLife(pid)
	if err != nil {
		return nil, err
	}
	base := journal.Entry{Server: c.server, Role: c.role, Pid: pid, Start: proc.StartTime(pid), Life: number}
	log, err := journal.OpenWriter(c.dir.JournalPath(), base)
	if err != nil {
		return nil, err
	}
	l := &life{
		config: c, number: number, script: s, log: log,
		engine:     engine.New(s, c.dir, number, script.Healed),
		forControl: engine.New(s, newOwnWorld(), number, script.Healed),
		failed:     make(chan error, 1), over: make(chan struct{}),
	}
	l.sdk = newSDK(l, l.firstTools())
	if _, err := control.Serve(context.Background(), c.dir, number, l.command); err != nil { // open while the process lives
		return nil, err
	}
	if c.role != RoleControl {
		l.engine.SetPhase(c.dir.Phase())
	}
	l.write(journal.Entry{Kind: journal.Spawn, Phase: string(l.engine.Phase())})
	l.happened(engine.Event{On: script.OnSpawn})
	return l, l.open()
}

// open binds the port and says where.
func (l *life) open() error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", l.listen)
	if err != nil {
		return err
	}
	l.http = &http.Server{Handler: l, ReadHeaderTimeout: headerTimeout}
	go func() { l.failed <- l.http.Serve(listener) }()
	address := listener.Addr().String()
	if err := ready.Write(l.dir.File(ReadyFile), ready.Info{Address: address, Life: l.number}); err != nil {
		return errors.Join(err, l.http.Close())
	}
	if l.ready != nil {
		l.ready(address)
	}
	return nil
}

// await serves until somebody wants it to end, and ends it in good order.
func (l *life) await(stop <-chan os.Signal) int {
	select {
	case s := <-stop:
		l.write(journal.Entry{Kind: journal.Signal, Detail: s.String()})
	case <-l.eof:
		l.write(journal.Entry{Kind: journal.EOF})
	case err := <-l.failed:
		return complain(1, err)
	}
	close(l.over) // requests that hang on purpose end now
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if l.http.Shutdown(ctx) != nil {
		_ = l.http.Close() // streams, and answers that take too long
	}
	l.write(journal.Entry{Kind: journal.Exit})
	return 0
}

// firstTools is the set that this life begins with: an earlier one may have changed it.
func (l *life) firstTools() []string {
	if names, ok := l.dir.Tools(); ok {
		return names
	}
	return tools.Start(l.script.Tools)
}

// write journals. A journal that cannot be written makes the run worthless, which must be seen: the fake says so and dies.
func (l *life) write(e journal.Entry) { l.note(l.log.Write(e)) }

// note ends the process when its state cannot be kept.
func (l *life) note(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "http fake:", err)
		os.Exit(unusable)
	}
}

func (l *life) cleanUp() {
	if l.cleanup != nil {
		l.cleanup()
	}
}

// session journals what became of a session; Code is its number in this life, since its id is a secret.
func (l *life) session(what string, number int) {
	l.write(journal.Entry{Kind: journal.Session, Detail: what, Code: number})
}

// ownWorld is what the control's engine knows: its own one-shot tokens, so that it uses up none of the target's, and no
// serving life.
type ownWorld struct{ taken map[string]bool }

func newOwnWorld() *ownWorld { return &ownWorld{map[string]bool{}} }

// Take is called under the engine's lock.
func (w *ownWorld) Take(token string) bool {
	if w.taken[token] {
		return false
	}
	w.taken[token] = true
	return true
}

func (*ownWorld) Serving() (int, bool) { return 0, false }
