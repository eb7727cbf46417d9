// Package wire drives toxiproxy: the proxied connection in front of one HTTP server (Proxy, which is a faults.Wire) and the
// child process that serves toxiproxy's own API with our toxics registered (Main). The same code drives an external
// toxiproxy, which then lacks our toxics.
//
// It imports toxiproxy and faults/toxics. A newcomer most often changes nothing here: a new wire fault is a toxic of
// toxiproxy or of faults/toxics that a fault adds with AddToxic.
//
// Three traps of toxiproxy v2.12.0 shaped it. Removing a toxic can hang for half a minute and blocks the proxy meanwhile
// (Shopify/toxiproxy#412), so toxics are never removed: Heal makes a new proxy on the same address. Any command can hang behind
// another one, so each has a deadline. A proxy that is made enabled takes connections before its toxics are on it, so
// it is made disabled.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	server "github.com/Shopify/toxiproxy/v2"
	client "github.com/Shopify/toxiproxy/v2/client"

	"github.com/unwedge/unwedge/faults/toxics"
	"github.com/unwedge/unwedge/internal/mono"
)

// commandTimeout bounds one command of toxiproxy's API. Commands take 1 to 20 ms; the shortest hang that toxiproxy knows
// is 5 s.
const commandTimeout = 4 * time.Second

// ErrUnsupported says that this toxiproxy does not have our toxics.
var ErrUnsupported = errors.New("this toxiproxy lacks unwedge's own toxics")

// HungError says that toxiproxy did not answer a command in time. The command may still take effect later. Only Heal can help
// then, or the end of the toxiproxy process.
type HungError struct {
	Command string
	After   time.Duration
}

func (e *HungError) Error() string {
	return fmt.Sprintf("toxiproxy: %s: no answer after %s", e.Command, e.After.Round(time.Millisecond))
}

// Config says what a Proxy stands in front of. All strings but Journal and Server are required.
type Config struct {
	API      string // toxiproxy's API, "127.0.0.1:8474" or a URL
	Name     string // of the proxy; unique at that toxiproxy
	Server   string // name in journal entries; empty takes Name
	Listen   string // host:port for clients; port 0 takes a free one and keeps it
	Upstream string // host:port of the server
	Journal  string // the server's journal, for toxics that report what they swallow; empty for none
}

// Proxy is one proxied server. Methods are safe for concurrent use and run one at a time.
type Proxy struct {
	cfg     Config
	api     *client.Client
	address string // fixed once New has returned

	mu         sync.Mutex // one command at a time
	vanishable bool       // our toxics are on it
	added      int        // toxics added since the last heal; makes their names unique
}

// New makes the proxy and returns when it accepts connections.
func New(ctx context.Context, cfg Config) (*Proxy, error) {
	if cfg.Server == "" {
		cfg.Server = cfg.Name
	}
	p := &Proxy{cfg: cfg, api: client.NewClient(cfg.API), address: cfg.Listen}
	p.api.UserAgent = "unwedge"
	p.mu.Lock()
	defer p.mu.Unlock()
	bound, err := p.create(ctx)
	if err != nil {
		return nil, err
	}
	p.address = bound
	return p, nil
}

// Address is where clients connect, host:port. It stays the same through Down, Up and Heal.
func (p *Proxy) Address() string { return p.address }

// Vanish makes every flow that exists now disappear: bytes are swallowed in both directions, nobody gets a FIN or RST, not even
// when the other end closes. New flows are not touched, so there is nothing to lift; Heal and Down *cut* vanished flows, which
// tells the client what it should have found out by itself. Against a toxiproxy without our toxics it is ErrUnsupported.
func (p *Proxy) Vanish(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.vanishable {
		return fmt.Errorf("vanish %s: %w", p.cfg.Name, ErrUnsupported)
	}
	before := mono.Now()
	for _, stream := range streams {
		_, err := command(ctx, "vanish "+stream, func() (*client.Toxic, error) {
			px, err := p.api.Proxy(p.cfg.Name)
			if err != nil {
				return nil, err
			}
			const asItIs = -1
			return px.UpdateToxic(vanishName(stream), asItIs, client.Attributes{"vanish_before": before})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AddToxic adds a toxic of toxiproxy or of ours to all flows, present and future. stream is "upstream" or "downstream".
func (p *Proxy) AddToxic(ctx context.Context, typ, stream string, attrs map[string]any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added++
	return p.addToxic(ctx, fmt.Sprintf("%s_%s_%d", typ, stream, p.added), typ, stream, attrs)
}

// Down refuses connections and cuts the present ones.
func (p *Proxy) Down(ctx context.Context) error { return p.enable(ctx, false) }

// Up serves again on the same address.
func (p *Proxy) Up(ctx context.Context) error { return p.enable(ctx, true) }

// Heal replaces the proxy by a fresh one on the same address, without any toxic but our passive ones. Present flows are cut.
func (p *Proxy) Heal(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.delete(ctx); err != nil {
		return err
	}
	_, err := p.create(ctx)
	return err
}

// Close takes the proxy away; flows are cut. It is for a toxiproxy that lives on; the proxy child just ends.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delete(ctx)
}

// streams in the order in which flows are made to vanish: first what the client says, then what it hears.
var streams = [...]string{"upstream", "downstream"}

func vanishName(stream string) string { return toxics.Vanish + "_" + stream }

// create makes the proxy disabled, puts our toxics on it, so that every flow passes them from its first byte, and enables it.
func (p *Proxy) create(ctx context.Context) (bound string, err error) {
	px, err := command(ctx, "create "+p.cfg.Name, func() (*client.Proxy, error) {
		px := p.api.NewProxy()
		px.Name, px.Listen, px.Upstream = p.cfg.Name, p.address, p.cfg.Upstream
		return px, px.Save()
	})
	if err != nil {
		return "", err
	}
	p.added = 0
	p.vanishable = true
	for _, stream := range streams {
		err := p.addToxic(ctx, vanishName(stream), toxics.Vanish, stream, client.Attributes{
			"server": p.cfg.Server, "journal": p.cfg.Journal, "stream": stream,
		})
		if unknownToxic(err) {
			p.vanishable = false
			break
		}
		if err != nil {
			return "", err
		}
	}
	_, err = command(ctx, "start "+p.cfg.Name, func() (*client.Proxy, error) { return px, px.Enable() })
	if err != nil {
		return "", err
	}
	return px.Listen, nil
}

func (p *Proxy) enable(ctx context.Context, on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := "stop "
	if on {
		what = "start "
	}
	_, err := command(ctx, what+p.cfg.Name, func() (*client.Proxy, error) {
		px, err := p.api.Proxy(p.cfg.Name)
		if err != nil {
			return nil, err
		}
		px.Enabled = on
		return px, px.Save()
	})
	return err
}

// delete is content when there is no such proxy: that is what was asked for.
func (p *Proxy) delete(ctx context.Context) error {
	_, err := command(ctx, "delete "+p.cfg.Name, func() (*client.Proxy, error) {
		px, err := p.api.Proxy(p.cfg.Name)
		if err != nil {
			return nil, err
		}
		return px, px.Delete()
	})
	var api *client.ApiError
	if errors.As(err, &api) && api.Status == http.StatusNotFound {
		return nil
	}
	return err
}

func (p *Proxy) addToxic(ctx context.Context, name, typ, stream string, attrs client.Attributes) error {
	_, err := command(ctx, fmt.Sprintf("add toxic %s %s", typ, stream), func() (*client.Toxic, error) {
		px, err := p.api.Proxy(p.cfg.Name) // the client's own AddToxic drops the type of the error
		if err != nil {
			return nil, err
		}
		return px.AddToxic(name, typ, stream, 1, attrs)
	})
	return err
}

// unknownToxic compares with the message that toxiproxy exports, since its API has no other word for "no such type".
func unknownToxic(err error) bool {
	var api *client.ApiError
	return errors.As(err, &api) && api.Message == server.ErrInvalidToxicType.Message
}

// command runs one command of the API within commandTimeout. The client library takes no context, so a command that is given
// up goes on in the background until the library's own 30 s; it must touch nothing but its own result.
func command[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	start := mono.Now()
	limit := time.NewTimer(commandTimeout)
	defer limit.Stop()
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	var none T
	select {
	case r := <-done:
		if r.err != nil {
			return none, fmt.Errorf("toxiproxy: %s: %w", what, r.err)
		}
		return r.v, nil
	case <-limit.C:
		return none, &HungError{Command: what, After: mono.Now().Sub(start)}
	case <-ctx.Done():
		return none, fmt.Errorf("toxiproxy: %s: given up after %s: %w",
			what, mono.Now().Sub(start).Round(time.Millisecond), context.Cause(ctx))
	}
}
