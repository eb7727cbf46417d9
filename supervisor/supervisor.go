package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/redact"
)

// Options are what New needs. The zero value is fine.
type Options struct {
	Settings
	// ConnectLimit is how many servers may be connecting at once. 0 = 2 x GOMAXPROCS.
	ConnectLimit int
	// Logger gets one line per change of state. nil = none.
	Logger *slog.Logger
	// Client is how we introduce ourselves to servers. nil = "unwedge-supervisor".
	Client *mcp.Implementation
	// Seed makes the jitter of retries repeatable. 0 = a fresh one.
	Seed uint64
}

// Supervisor keeps sessions with many servers. Make one with New. All methods may be called by any number of
// goroutines.
type Supervisor struct {
	options Options
	shared  shared

	owners atomic.Pointer[map[string]*owner] // replaced, never changed: a call reads it without a lock
	mu     sync.Mutex                        // held while owners is replaced
	closed bool
	leave  sync.WaitGroup // owners that have not ended
}

// New returns a supervisor without servers. It fails on settings that make no sense.
func New(o Options) (*Supervisor, error) {
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	if o.ConnectLimit < 0 {
		return nil, fmt.Errorf("supervisor: Options.ConnectLimit is negative (%d)", o.ConnectLimit)
	}
	o.Settings = o.Settings.withDefaults()
	o.ConnectLimit = cmp.Or(o.ConnectLimit, defaultConnectLimit())
	o.Seed = cmp.Or(o.Seed, rand.Uint64())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = &mcp.Implementation{Name: "unwedge-supervisor", Version: "1"}
	}
	s := &Supervisor{options: o}
	s.shared.connects = newLimiter(o.ConnectLimit)
	s.owners.Store(&map[string]*owner{})
	return s, nil
}

// Add begins to supervise a server: it is connected to in the background, and calls to it may be made at once.
// The name must be new.
func (s *Supervisor) Add(server Server) error {
	if err := server.Validate(); err != nil {
		return err
	}
	server = server.clone()
	r := redact.New(server.secrets()...)
	return s.add(server, r, s.dialer(server, r))
}

// dialer chooses the transport.
func (s *Supervisor) dialer(server Server, r *redact.Redactor) dialer {
	if server.URL != "" {
		return &httpDialer{server: server, set: s.options.Settings, client: s.options.Client, redact: r, era: server.Era}
	}
	return &stdioDialer{
		server: server, set: s.options.Settings, client: s.options.Client, redact: r, era: server.Era,
		noise: func(line string) {
			s.shared.events.publish(Event{Server: server.Name, Kind: EventNoise, Detail: line})
		},
	}
}

func (s *Supervisor) add(server Server, r *redact.Redactor, d dialer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &Error{Server: server.Name, Kind: KindClosed, Sent: NotSent, What: "the supervisor is closed"}
	}
	owners := maps.Clone(*s.owners.Load())
	if owners[server.Name] != nil {
		return fmt.Errorf("there is a server named %q already", server.Name)
	}
	o := newOwner(server, s.options.Settings, d, &s.shared, s.options.Logger, r, s.options.Seed)
	owners[server.Name] = o
	s.owners.Store(&owners)
	s.leave.Go(o.run)
	return nil
}

// Remove stops a server, politely first, and forgets it. It returns when all that ran for it is gone.
func (s *Supervisor) Remove(name string) error {
	s.mu.Lock()
	owners := maps.Clone(*s.owners.Load())
	o := owners[name]
	if o == nil {
		s.mu.Unlock()
		return s.unknown(name, "")
	}
	delete(owners, name)
	s.owners.Store(&owners)
	s.mu.Unlock()
	o.stop()
	<-o.done
	return nil
}

// Call calls a tool. args is what goes into "arguments": anything that marshals to a JSON object, or nil.
//
// The call ends with ctx and with Settings.CallTimeout, whichever is earlier. If the server has no session, the call
// waits in that time for the next attempt to connect. A result whose IsError is set is a result. Every error is an
// *Error.
func (s *Supervisor) Call(ctx context.Context, server, tool string, args any) (*mcp.CallToolResult, error) {
	o := (*s.owners.Load())[server]
	if o == nil {
		return nil, s.unknown(server, tool)
	}
	return o.call(ctx, tool, args)
}

func (s *Supervisor) unknown(server, tool string) *Error {
	return &Error{Server: server, Tool: tool, Kind: KindNoSession, Sent: NotSent, What: "there is no server of that name"}
}

// Tools returns all tools that are advertised now, ordered by server and name. The slice is the caller's.
func (s *Supervisor) Tools() []Tool { return s.shared.registry.snapshot() }

// Status returns a snapshot of every server, ordered by name.
func (s *Supervisor) Status() []Status {
	var all []Status
	for _, o := range *s.owners.Load() {
		all = append(all, o.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Events begins to listen. A listener that falls behind loses the oldest events, and Event.Lost says how many. The
// function ends listening; Close ends it too. The channel is closed then.
func (s *Supervisor) Events() (<-chan Event, func()) { return s.shared.events.listen() }

// Reconnect replaces the session of a server by a fresh one, now, whatever waits are in force, and returns when it is
// up, or when ctx ends. Attempts go on after that. Several requests at once share one attempt. Calls in flight on
// the old session fail.
func (s *Supervisor) Reconnect(ctx context.Context, server string) error {
	o := (*s.owners.Load())[server]
	if o == nil {
		return s.unknown(server, "")
	}
	if e := o.reconnect(ctx); e != nil {
		return o.toCaller(e, "")
	}
	return nil
}

// Close ends everything: calls fail, processes are stopped as Settings.StopGrace allows. It returns nil when all of
// them are gone and reaped. When ctx ends first it returns at once with its error; what is left is being killed
// then, and further calls of Close may wait for that.
func (s *Supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	owners := *s.owners.Load()
	s.mu.Unlock()
	for _, o := range owners {
		o.stop()
	}
	gone := make(chan struct{})
	go func() {
		s.leave.Wait()
		s.shared.events.close()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-gone: // both at once: it is done
		return nil
	default:
	}
	for _, o := range owners {
		o.kill()
	}
	return fmt.Errorf("not all servers were stopped in time, the rest is being killed: %w", ctx.Err())
}
