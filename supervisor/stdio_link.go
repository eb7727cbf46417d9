package supervisor

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/redact"
	"github.com/unwedge/unwedge/supervisor/internal/sent"
	"github.com/unwedge/unwedge/supervisor/internal/stdio"
)

// stdioDialer starts processes and remembers which handshake the server is known for.
type stdioDialer struct {
	server Server
	set    Settings
	client *mcp.Implementation
	redact *redact.Redactor
	noise  func(line string) // told of the first line of a process that is no frame

	era   Era  // the handshake to begin with; AnyEra = ask
	sure  bool // era comes from a session that worked
	retry bool // the last failure calls for the other handshake
}

func (d *stdioDialer) next() string { return "a new process is being started" }

func (d *stdioDialer) again() bool { return d.retry }

// dial starts the process and shakes hands. Of two handshakes the modern one comes first, unless the server is
// known for the other; go-sdk falls back by itself when server/discover is refused, and the transport answers
// for a server that stays silent. What is left to remember is the server that dies of it (SUP-6).
func (d *stdioDialer) dial(ctx context.Context, changed func()) (link, error) {
	d.retry = false
	p, err := stdio.Start(stdio.Config{
		Command: d.server.Command, Args: d.server.Args, Env: environment(d.server.Env), Dir: d.server.Dir,
		MaxLine: d.set.MaxLine, MaxQueue: d.set.MaxQueue, StderrTail: d.set.StderrTail,
		WriteTimeout: d.set.WriteTimeout, DiscoverTimeout: d.discoverTimeout(),
		Redact: d.redact, OnNoise: d.firstNoise(),
	})
	if err != nil {
		return nil, err
	}
	l := &stdioLink{process: p}
	version := modernVersion
	if d.pinned(Legacy) {
		version = legacyVersion
	}
	session, err := d.handshake(ctx, p, version, changed)
	if err != nil {
		d.learnFromFailure(p, err)
		return l, err
	}
	l.session = session
	l.modern.Store(session.InitializeResult().ProtocolVersion >= modernVersion)
	if d.server.Era != AnyEra && l.facts().era != d.server.Era {
		return l, errWrongEra
	}
	d.learn(p, l.facts().era)
	return l, nil
}

// discoverTimeout bounds go-sdk's server/discover. Where the modern handshake is the only one to try, it may take the whole time: a
// server that is slow to start would never be reached by asking it something else half-way.
func (d *stdioDialer) discoverTimeout() time.Duration {
	if d.pinned(Modern) {
		return d.set.ConnectTimeout
	}
	return d.set.ProbeTimeout
}

// maxNoiseShown is how much of a line that is no frame is worth showing.
const maxNoiseShown = 200

func (d *stdioDialer) firstNoise() func([]byte) {
	var once sync.Once
	return func(line []byte) {
		once.Do(func() {
			text := d.redact.String(strings.ToValidUTF8(string(line[:min(len(line), 4*maxNoiseShown)]), "?"))
			d.noise(text[:min(len(text), maxNoiseShown)])
		})
	}
}

// pinned reports whether the next handshake is of one era only.
func (d *stdioDialer) pinned(e Era) bool {
	return d.server.Era == e || d.server.Era == AnyEra && d.era == e
}

// handshake runs go-sdk's Connect, which may ignore ctx, and aborts the transport beneath it when ctx ends.
func (d *stdioDialer) handshake(
	ctx context.Context, p *stdio.Process, version string, changed func(),
) (*mcp.ClientSession, error) {
	client := newClient(d.client, changed)
	return connectBounded(ctx, func() { p.Abort("was not ready in time") }, func() (*mcp.ClientSession, error) {
		return client.Connect(ctx, p, &mcp.ClientSessionOptions{ProtocolVersion: version})
	})
}

// learn remembers the era of a session that works. A refusal that says nothing about the era (an internal error,
// say) serves for this session only: the next attempt asks again, so that no server is downgraded for good.
func (d *stdioDialer) learn(p *stdio.Process, spoken Era) {
	if d.server.Era != AnyEra {
		return
	}
	d.era, d.sure = spoken, true
	if asked := p.Discovered(); spoken == Legacy && (asked == stdio.Refused || asked == stdio.Late) {
		d.era = AnyEra
	}
}

// learnFromFailure decides which handshake comes next.
func (d *stdioDialer) learnFromFailure(p *stdio.Process, err error) {
	if d.server.Era != AnyEra {
		return
	}
	rpc := as[*jsonrpc.Error](err)
	switch asked := p.Discovered(); {
	case asked == stdio.Late || rpc != nil && rpc.Code == mcp.CodeUnsupportedProtocolVersion:
		// It speaks the modern era, and was too slow for a question with a bound.
		d.era, d.sure, d.retry = Modern, false, d.era != Modern
	case asked == stdio.Pending || asked == stdio.Silent: // it died of the question, or never got over it
		switch d.era {
		case AnyEra:
			d.era, d.sure, d.retry = Legacy, false, true
		case Modern: // it used to get over it; ask with a bound again
			d.era, d.sure = AnyEra, false
		}
	case d.era == Legacy && (!d.sure || rpc != nil): // the guess was wrong, or the server has changed
		d.era, d.sure = AnyEra, false
	}
}

func environment(extra map[string]string) []string {
	env := os.Environ()
	for k, v := range extra {
		env = append(env, k+"="+v)
	}
	return env
}

// stdioLink is a session with a child process.
type stdioLink struct {
	process *stdio.Process
	session *mcp.ClientSession // nil after a failed handshake
	modern  atomic.Bool
}

func (l *stdioLink) call(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return l.session.CallTool(ctx, p)
}

func (l *stdioLink) list(ctx context.Context) ([]*mcp.Tool, error) { return listAll(ctx, l.session) }

func (l *stdioLink) withdraw(m *sent.Mark) bool { return l.process.Withdraw(m) }
func (l *stdioLink) probe()                     { l.process.Probe(l.modern.Load()) }
func (l *stdioLink) rx() uint64                 { return l.process.Rx() }
func (l *stdioLink) dead() <-chan struct{}      { return l.process.Dead() }
func (l *stdioLink) doomed() bool               { return l.process.Doomed() }
func (l *stdioLink) frozen() bool               { return l.process.Frozen() }
func (l *stdioLink) abort(what string)          { l.process.Abort(what) }
func (l *stdioLink) retire(what string)         { l.process.Abort(what) }

func (l *stdioLink) death() death {
	d := l.process.Death()
	return death{what: d.What, exit: d.Exit, kind: KindTransport}
}

// stop ends the process, then go-sdk's session, which has nothing left to wait for then.
func (l *stdioLink) stop(grace time.Duration, hurry <-chan struct{}) {
	l.process.Stop(grace, hurry)
	if l.session != nil {
		closeSession(l.session)
	}
}

func (l *stdioLink) facts() facts {
	f := facts{pid: l.process.Pid(), era: Legacy, noise: l.process.Noise(), stderr: l.process.Stderr()}
	if l.modern.Load() {
		f.era = Modern
	}
	return f
}
