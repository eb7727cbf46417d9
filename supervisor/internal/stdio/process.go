package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/redact"
)

const (
	// settle is how long a broken pipe waits for the exit of its process, so that the error can say how it
	// ended. The kernel closes a dying process's pipes moments before it reports the exit.
	settle = 100 * time.Millisecond
	// readerGrace is how long the death of a process waits until go-sdk has read what was in the pipe.
	// It only passes if nobody reads.
	readerGrace = 100 * time.Millisecond
)

// Config says what to start. All limits must be positive.
type Config struct {
	Command string
	Args    []string
	Env     []string // the whole environment
	Dir     string

	MaxLine         int
	MaxQueue        int
	StderrTail      int
	WriteTimeout    time.Duration
	DiscoverTimeout time.Duration // of a server/discover that go-sdk sends
	Redact          *redact.Redactor
	OnNoise         func(line []byte) // told of stdout lines that are no frames; on the reading goroutine. May be nil
}

// Death says why a process is of no use any more.
type Death struct {
	What  string // "process 4711 was killed by SIGKILL"
	Exit  string // "was killed by SIGKILL", "exited with status 1"; empty while it lives
	Asked bool   // it was our own doing
}

// Process is one running server.
type Process struct {
	config Config
	cmd    *exec.Cmd
	pid    int

	stdin, stdout, stderr *os.File

	queue *queue
	tail  tail
	conn  *conn
	noise atomic.Uint64

	reaped  chan struct{} // closed when the process is reaped; exit is set
	exit    string
	settled chan struct{} // closed after reaped, when stderr is read to its end
	watched chan struct{} // closed when the watcher has nothing left to do

	doomed   atomic.Bool // something is broken; dead follows within moments
	stopping atomic.Bool // the group is being ended politely
	dying    sync.Once
	death    Death
	dead     chan struct{} // closed when death is set

	stop    sync.Once
	stopped chan struct{}
}

// Start starts the command in a process group of its own.
func Start(c Config) (*Process, error) {
	cmd := exec.Command(c.Command, c.Args...) //nolint:noctx // its end is Stop's ladder, which no context can express
	cmd.Env, cmd.Dir = c.Env, c.Dir
	ownGroup(cmd)

	var ours, theirs [3]*os.File
	closeAll := func(fs [3]*os.File) {
		for _, f := range fs {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, fmt.Errorf("no pipe for a child: %w", err)
		}
		if i == 0 {
			theirs[i], ours[i] = r, w
		} else {
			ours[i], theirs[i] = r, w
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err := cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	p := &Process{
		config: c, cmd: cmd, pid: cmd.Process.Pid,
		stdin: ours[0], stdout: ours[1], stderr: ours[2],
		tail:   tail{limit: c.StderrTail, redact: c.Redact},
		reaped: make(chan struct{}), settled: make(chan struct{}), watched: make(chan struct{}),
		dead: make(chan struct{}), stopped: make(chan struct{}),
	}
	p.conn = newConn(p)
	if p.queue, err = newQueue(p.stdin, c.MaxQueue, c.WriteTimeout, p.writeBroke); err != nil {
		killGroup(p.pid)
		_ = cmd.Wait()
		closeAll(ours)
		return nil, fmt.Errorf("the child's stdin cannot be written: %w", err)
	}
	go p.watch()
	return p, nil
}

// watch sees the process die, ends what it leaves behind, and reaps it. Death is taken from the process,
// not from its pipes, which others may hold (SUP-7).
func (p *Process) watch() {
	defer close(p.watched)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.tail.drain(p.stderr, p.reaped)
	}()

	seen := awaitExit(p.cmd.Process)
	p.doomed.Store(true) // nothing is written to it from here on
	if seen && !p.stopping.Load() {
		killGroup(p.pid) // not reaped yet, so the number is still ours
	}
	_ = p.cmd.Wait() // the exit status is in ProcessState; an error adds nothing
	if !seen && !p.stopping.Load() {
		killGroup(p.pid)
	}
	p.exit = exitText(p.cmd.ProcessState)
	close(p.reaped)

	wake(p.stderr)
	<-drained // bounded: what is in the pipe, or one mebibyte
	close(p.settled)

	p.conn.finish() // the reader takes what is in the pipe, then says that the process is dead
	select {
	case <-p.dead:
	case <-time.After(readerGrace):
		p.die(p.exited())
	}
}

func (p *Process) exited() Death {
	return Death{What: fmt.Sprintf("process %d %s", p.pid, p.exit), Exit: p.exit}
}

// readBroke is called by the reader at the end of stdout. When it returns, the death is known.
func (p *Process) readBroke(err error) {
	p.doomed.Store(true)
	select {
	case <-p.dead:
	case <-p.settled:
		p.die(p.exited())
	case <-time.After(settle):
		what := "closed its stdout but lives on"
		if err != nil {
			what = "cannot be read from: " + err.Error()
		}
		p.die(Death{What: fmt.Sprintf("process %d %s", p.pid, what)})
	}
}

// writeBroke is called once, when nothing can be written any more.
func (p *Process) writeBroke(err error) {
	p.doomed.Store(true)
	go p.explainBrokenWrite(err)
}

func (p *Process) explainBrokenWrite(err error) {
	what := "closed its stdin but lives on"
	if os.IsTimeout(err) {
		what = fmt.Sprintf("reads nothing any more (took no byte for %v)", p.config.WriteTimeout)
	}
	select {
	case <-p.dead:
	case <-p.settled: // the reader takes what it said last, and then reports
	case <-time.After(settle):
		p.die(Death{What: fmt.Sprintf("process %d %s", p.pid, what)})
	}
}

// die makes d the cause of death, if it is the first. Whoever waits for an answer is let go; nothing is
// written any more. The process itself is Stop's business.
func (p *Process) die(d Death) {
	p.dying.Do(func() {
		p.doomed.Store(true)
		p.queue.close()
		p.death = d
		close(p.dead)
		p.stdin.Close()
		p.conn.wakeReader()
	})
}

// Abort ends the session at once, for the reason that what gives ("is silent: 3 probes unanswered"). It does not
// wait; Stop must follow.
func (p *Process) Abort(what string) {
	p.die(Death{What: fmt.Sprintf("process %d %s", p.pid, what), Asked: true})
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.pid }

// Dead is closed when the process, or the way to it, is of no use any more.
func (p *Process) Dead() <-chan struct{} { return p.dead }

// Death says why; only after Dead.
func (p *Process) Death() Death { return p.death }

// Doomed reports that something is broken, and Dead will be closed within moments.
func (p *Process) Doomed() bool { return p.doomed.Load() }

// Rx is the number of bytes read from stdout so far.
func (p *Process) Rx() uint64 { return p.conn.lines.rx.Load() }

// Noise is the number of stdout lines that were no frames.
func (p *Process) Noise() uint64 { return p.noise.Load() }

// Stderr returns the last lines of stderr, without secrets.
func (p *Process) Stderr() []string { return p.tail.lines() }

// Frozen reports whether the process is known to be stopped, by SIGSTOP or a debugger.
func (p *Process) Frozen() bool { return frozen(p.pid) }
