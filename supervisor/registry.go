package supervisor

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// registry holds the tools that are advertised now (SUP-5). Reading it costs one atomic load.
type registry struct {
	mu    sync.Mutex
	tools map[string][]*mcp.Tool
	all   atomic.Pointer[[]Tool]
}

// put replaces what a server advertises.
func (r *registry) put(server string, tools []*mcp.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools == nil {
		r.tools = map[string][]*mcp.Tool{}
	}
	r.tools[server] = tools
	r.rebuild()
}

// withdraw removes a server's tools and returns how many there were. Doing it twice is harmless.
func (r *registry) withdraw(server string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.tools[server])
	if _, ok := r.tools[server]; ok {
		delete(r.tools, server)
		r.rebuild()
	}
	return n
}

func (r *registry) rebuild() {
	all := []Tool{}
	for server, tools := range r.tools {
		for _, t := range tools {
			all = append(all, Tool{Server: server, Tool: t})
		}
	}
	slices.SortStableFunc(all, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool.Name, b.Tool.Name))
	})
	r.all.Store(&all)
}

func (r *registry) snapshot() []Tool {
	if all := r.all.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}
