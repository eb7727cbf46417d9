package stdio

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/internal/proc"
)

const (
	// RoleControl is the --role of the control's fakes: their phase is frozen at healed.
	RoleControl = "control"

	// orphanLimit ends a fake that nobody needs any more and that was told not to end with its stdin. It is the last net, far
	// beyond what any scenario waits for.
	orphanLimit = 10 * time.Minute

	// drain is how long answers in the making may take after end of file, before the process exits.
	drain = 100 * time.Millisecond

	usage = 2 // exit code for bad arguments or a state folder that cannot be used
)

// Program says how the program that this package is part of is told to run one of its helper verbs ("sleeper", "holder"): the
// arguments in front of the verb. unwedge-helper has none, unwedge has "internal".
type Program struct {
	Prefix []string

	launcher int // pid of the process that started it as a launcher does
}

// Main is the verb "stdio" of unwedge-helper:
//
//	stdio --server NAME --state DIR [--role control]
//
// It serves on the standard streams until the script, a signal or end of file ends it.
func Main(args []string) int { return Program{}.Main(args) }

// Main is the verb "stdio" of the program p; see the function Main.
func (p Program) Main(args []string) int {
	fs := flag.NewFlagSet("stdio", flag.ContinueOnError)
	server := fs.String("server", "", "name of the server, as the journal calls it")
	dir := fs.String("state", "", "state folder")
	role := fs.String("role", "", `"control" for the control's own fake`)
	launcher := fs.Int("launcher", 0, "pid of the launcher that started it, if any")
	if err := fs.Parse(args); err != nil {
		return usage
	}
	if *server == "" || *dir == "" || fs.NArg() > 0 || *role != "" && *role != RoleControl {
		fmt.Fprintln(os.Stderr, "usage: stdio --server NAME --state DIR [--role control]")
		return usage
	}
	d, err := state.Open(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdio fake:", err)
		return usage
	}
	p.launcher = *launcher
	return p.Serve(d, *server, *role, nil)
}

// Serve serves the server kept in d on the standard streams. It returns only when it cannot start; else the
// process ends as the script, a signal or end of file will have it. cleanup, when there is one, runs just before a death that
// the fake knows about.
func (p Program) Serve(d *state.Dir, server, role string, cleanup func()) int {
	f, err := p.start(d, server, role, cleanup)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdio fake:", err)
		if cleanup != nil {
			cleanup()
		}
		return usage
	}
	f.run()
	select {} // every way out goes through f.exit or a signal
}

// fake is one life.
type fake struct {
	prog    Program
	dir     *state.Dir
	script  script.Script
	eng     *engine.Engine
	log     *journal.Writer
	ident   journal.Entry // Server, Role, Pid, Start, Life
	in      *input
	out     *output
	cleanup func()

	ctx    context.Context // ends at end of file: nothing is waited for any more
	cancel context.CancelFunc
	work   sync.WaitGroup // requests being answered

	hung       atomic.Bool // answers nothing any more
	ignoreEOF  atomic.Bool
	ignoreTERM atomic.Bool
	bounded    sync.Once
	exiting    sync.Once

	mu      sync.Mutex
	calls   map[string]*request      // requests in the making, by id
	listens map[string]subscriptions // open subscriptions/listen, by id
	legacy  bool                     // initialize was answered
	kept    []*os.File               // held open until death
}

// start counts the life, opens journal and control channel, and only then reads the phase: who changes the phase writes it
// first and tells the live ones second, so that a life that is just starting hears of it either way.
func (p Program) start(d *state.Dir, server, role string, cleanup func()) (*fake, error) {
	f := &fake{
		prog: p, dir: d, cleanup: cleanup,
		in: newInput(), out: newOutput(),
		calls: map[string]*request{}, listens: map[string]subscriptions{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	var err error
	if f.script, err = d.Script(); err != nil {
		return nil, err
	}
	pid := os.Getpid()
	life, err := d.NewLife(pid)
	if err != nil {
		return nil, err
	}
	f.ident = journal.Entry{Server: server, Role: role, Pid: pid, Start: proc.StartTime(pid), Life: life}
	if f.log, err = journal.OpenWriter(d.JournalPath(), f.ident); err != nil {
		return nil, err
	}
	f.eng = engine.New(f.script, d, life, script.Healed)
	listener, err := control.Serve(context.Background(), d, life, f.command)
	if err != nil {
		return nil, err
	}
	_ = listener // open as long as the process lives
	if role != RoleControl {
		f.eng.SetPhase(d.Phase())
	}
	return f, nil
}

func (f *fake) isControl() bool { return f.ident.Role == RoleControl }

// run does what the script wants at birth, then reads.
func (f *fake) run() {
	f.watchSignals()
	f.note(journal.Entry{Kind: journal.Spawn, Phase: string(f.eng.Phase())})
	f.happened(engine.Event{On: script.OnSpawn})
	go f.read()
}

// note journals. A journal that cannot be written makes the run worthless, which must be seen: the fake says so and dies.
func (f *fake) note(e journal.Entry) {
	if err := f.log.Write(e); err != nil {
		fmt.Fprintln(os.Stderr, "stdio fake:", err)
		os.Exit(usage)
	}
}

// exit ends the process by own will. It does not return.
func (f *fake) exit(code int, why string) {
	f.exiting.Do(func() {
		f.out.seal()
		f.note(journal.Entry{Kind: journal.Exit, Code: code, Detail: why})
		if f.cleanup != nil {
			f.cleanup()
		}
		os.Exit(code)
	})
}

// bound starts the last net under a fake whose stdin will not end it.
func (f *fake) bound() {
	f.bounded.Do(func() {
		time.AfterFunc(orphanLimit, func() { f.exit(0, "nobody needs it any more") })
	})
}

// read handles line by line until stdin ends or a script lets go of it.
func (f *fake) read() {
	for {
		line, err := f.in.next()
		switch {
		case err == nil:
			f.handle(line)
		case errors.Is(err, errLetGo):
			return
		case errors.Is(err, io.EOF):
			f.eof()
			return
		default:
			f.exit(1, "stdin: "+err.Error())
		}
	}
}

// eof is what a server does when its stdin ends: answer what can be answered at once, give up what waits, exit.
func (f *fake) eof() {
	f.note(journal.Entry{Kind: journal.EOF})
	f.happened(engine.Event{On: script.OnEOF})
	if f.ignoreEOF.Load() {
		f.bound()
		return
	}
	f.cancel()
	done := make(chan struct{})
	go func() { f.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drain):
	}
	f.exit(0, "")
}
