package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/internal/ready"
)

// server is one fake of the scenario's, and the control's own.
type server struct {
	name      string
	transport string
	dir       *state.Dir // the target's fakes
	control   *state.Dir // the control's, frozen at healed; stdio only
	faulted   bool
	direct    string      // HTTP: where the fake listens, host:port
	wire      *wire.Proxy // HTTP: what stands in front of it, if anything
}

// address is where the target connects to.
func (s *server) address() string {
	if s.wire != nil {
		return s.wire.Address()
	}
	return s.direct
}

const (
	// upBound is how long a fake or the proxy may take to listen; it takes tens of milliseconds.
	upBound = 20 * time.Second
	// restartPause is between the death of an HTTP fake and its next life, like a service manager's.
	restartPause = 100 * time.Millisecond
	// canaryName is the environment variable and canaryHeader the header that carry the secret that must appear nowhere.
	canaryName   = "UNWEDGE_TOKEN"
	canaryHeader = "Authorization"
)

// scriptOf is what a server is to do: the rules of the faults that will be injected into it come first, then the scenario's own. A twin has
// neither, its servers are just healthy.
func (l *lab) scriptOf(name string) script.Script {
	s := l.plan.Scenario.Servers[name].Script
	if s.Era == script.Both {
		s.Era = l.plan.Era
	}
	own := s.Rules
	s.Rules = nil
	if l.plan.Twin {
		return s
	}
	seen := map[string]bool{} // a fault may be injected twice
	for _, in := range l.injections {
		if id := in.Fault.What().ID; in.Server == name && !seen[id] {
			seen[id] = true
			s.Rules = append(s.Rules, in.Fault.What().Rules...)
		}
	}
	s.Rules = append(s.Rules, own...)
	return s
}

// build makes state folders, proxies and HTTP fakes. Everything that runs is below the keeper.
func (l *lab) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upBound)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(l.plan.Scenario.Servers)) {
		spec := l.plan.Scenario.Servers[name]
		s := &server{name: name, transport: spec.Transport, faulted: slices.Contains(l.faulted, name)}
		sc := l.scriptOf(name)
		var err error
		if s.dir, err = state.Create(filepath.Join(l.folder, "servers", name), sc); err != nil {
			return err
		}
		healthy := script.Script{Era: sc.Era}
		if s.control, err = state.Create(filepath.Join(l.folder, "control", name), healthy); err != nil {
			return err
		}
		if spec.Transport == faults.HTTP {
			if err := l.startHTTP(ctx, s, spec.Proxy || l.needsProxy(name)); err != nil {
				return err
			}
		}
		l.servers = append(l.servers, s)
	}
	var err error
	l.metronomeDir, err = state.Create(filepath.Join(l.folder, "metronome"), script.Script{Era: l.plan.Era})
	return err
}

func (l *lab) needsProxy(name string) bool {
	return slices.ContainsFunc(l.plan.Scenario.Injections(), func(in scenario.Injection) bool {
		return in.Server == name && in.Fault.What().Proxied
	})
}

// ownAddress is an address of the loopback net that no other lab uses, so that a port that is free for a moment is not taken by a
// stranger. Only Linux has the whole net.
func ownAddress() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	// 127.0.0.x and 127.1.x.x are left to people.
	return fmt.Sprintf("127.%d.%d.%d", 2+rand.N(250), rand.N(256), 1+rand.N(254))
}

func (l *lab) startHTTP(ctx context.Context, s *server, proxied bool) error {
	p, err := l.httpLife(ctx, s, net.JoinHostPort(l.host, "0"))
	if err != nil {
		return err
	}
	l.background.Go(func() { l.keepHTTP(s, p) })
	if !proxied {
		return nil
	}
	if l.proxyAPI == "" {
		if err := l.startProxy(ctx); err != nil {
			return err
		}
	}
	s.wire, err = wire.New(ctx, wire.Config{
		API: l.proxyAPI, Name: s.name, Server: s.name, Listen: net.JoinHostPort(l.host, "0"), Upstream: s.direct,
		Journal: s.dir.JournalPath(),
	})
	return err
}

// httpLife starts one life of an HTTP fake and waits until it listens.
func (l *lab) httpLife(ctx context.Context, s *server, listen string) (*keeper.Proc, error) {
	p, err := l.spawnHeld(ctx, l.plan.Programs.Internal("http",
		"--server", s.name, "--state", s.dir.Path(), "--listen", listen))
	if err != nil {
		return nil, err
	}
	i, err := l.awaitReady(ctx, filepath.Join(s.dir.Path(), httpfake.ReadyFile), p)
	if err != nil {
		return nil, fmt.Errorf("HTTP fake %s: %w", s.name, err)
	}
	s.direct = i.Address
	return p, nil
}

// keepHTTP starts the next life of an HTTP fake on the same address whenever one has died, as a service manager would.
func (l *lab) keepHTTP(s *server, p *keeper.Proc) {
	for {
		select {
		case <-l.closing:
			return
		case <-p.Done():
		}
		if !wait(context.Background(), l.closing, restartPause) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), upBound)
		next, err := l.httpLife(ctx, s, s.direct)
		cancel()
		switch {
		case errors.Is(err, keeper.ErrGone):
			return
		case err == nil:
			p = next
		}
	}
}

func (l *lab) startProxy(ctx context.Context) error {
	file := filepath.Join(l.folder, "proxy.json")
	p, err := l.spawnHeld(ctx, l.plan.Programs.Internal("proxy",
		"--listen", net.JoinHostPort(l.host, "0"), "--ready", file))
	if err != nil {
		return err
	}
	i, err := l.awaitReady(ctx, file, p)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	l.proxyAPI = i.Address
	return nil
}

// awaitReady waits until p says where it listens, or has died.
func (l *lab) awaitReady(ctx context.Context, file string, p *keeper.Proc) (ready.Info, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Done():
			cancel(fmt.Errorf("it ended: %v; %s", p.Status(), l.stderrTail()))
		case <-ctx.Done():
		}
	}()
	return ready.Await(ctx, file, p.Pid)
}

// held are processes that end with their stdin, which the lab holds open.
type held struct {
	mu    sync.Mutex
	files []*os.File
}

// spawnHeld starts a process of the lab's own, whose stdin stays open until the lab closes.
func (l *lab) spawnHeld(ctx context.Context, argv []string) (*keeper.Proc, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := l.keeper.Spawn(ctx, keeper.Spec{Argv: argv, Stdin: r, Stderr: l.stderr})
	if err != nil {
		w.Close()
		return nil, err
	}
	l.held.mu.Lock()
	l.held.files = append(l.held.files, w)
	l.held.mu.Unlock()
	l.ours.Store(p.Pid, p.Start)
	return p, nil
}

func (h *held) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.files {
		f.Close()
	}
	h.files = nil
}

// stderrTail is the end of what the lab's own processes wrote to stderr.
func (l *lab) stderrTail() string {
	b, err := os.ReadFile(l.stderr.Name())
	if err != nil {
		return ""
	}
	const kept = 500 // the reason stands at the end
	if len(b) > kept {
		b = b[len(b)-kept:]
	}
	return string(b)
}

// config is what the target is told.
func (l *lab) config() (driver.Config, error) {
	settings, err := l.plan.Profile.Settings(l.plan.Scenario.Settings)
	if err != nil {
		return driver.Config{}, err
	}
	c := driver.Config{Era: string(l.plan.Era), Settings: settings}
	if l.plan.Scenario.AskEra {
		c.Era = ""
	}
	for _, s := range l.servers {
		d := driver.Server{Name: s.name}
		if s.transport == faults.HTTP {
			d.URL = "http://" + s.address() + httpfake.Path
			d.Headers = map[string]string{canaryHeader: "Bearer " + l.plan.Secret}
		} else {
			argv := l.plan.Programs.Small("stdio", "--server", s.name, "--state", s.dir.Path())
			if kind := l.plan.Scenario.Servers[s.name].Launcher; kind != "" {
				argv = append(l.plan.Programs.Small("launcher", "--kind", kind, "--"), argv...)
			}
			d.Command, d.Args = argv[0], argv[1:]
			d.Env = map[string]string{canaryName: l.plan.Secret}
		}
		c.Servers = append(c.Servers, d)
	}
	return c, nil
}
