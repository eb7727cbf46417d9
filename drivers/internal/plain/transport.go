package plain

import (
	"context"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
)

func (c *Client) transport(s driver.Server) mcp.Transport {
	if s.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint:   s.URL,
			HTTPClient: &http.Client{Transport: headers{s.Headers, http.DefaultTransport.(*http.Transport).Clone()}},
		}
	}
	// No context: the process lives as long as its session. stderr goes to the null device, so it is drained.
	cmd := exec.CommandContext(context.Background(), s.Command, s.Args...)
	cmd.Env = os.Environ()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: millis(c.settings().StopGraceMS, defaultGrace)}
}

// headers adds the configured headers to every request.
type headers struct {
	values map[string]string
	next   http.RoundTripper
}

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.values) > 0 {
		req = req.Clone(req.Context())
		for name, value := range h.values {
			req.Header.Set(name, value)
		}
	}
	return h.next.RoundTrip(req)
}
