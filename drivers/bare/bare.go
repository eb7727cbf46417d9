// Package bare is the deliberately naive target: a plain go-sdk client behind the driver protocol, with no
// supervisor at all. It connects to each server once, when it is configured, and never again. It shows what
// every fault does to a client that takes no care, and that the harness sees it; so it must be naive, and not
// broken: stderr is drained, every call has a deadline.
//
// May import: drivers/internal/plain and harness/driver. A newcomer changes most often: nothing; what is
// missing here is missing on purpose.
package bare

import (
	"context"
	"encoding/json"
	"io"

	"github.com/unwedge/unwedge/drivers/internal/plain"
	"github.com/unwedge/unwedge/harness/driver"
)

// Main runs the target on the given streams and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := plain.New("bare", stderr)
	return plain.Main(c, client{c}, args, stdin, stdout, stderr)
}

type client struct{ *plain.Client }

// Call is go-sdk's call and nothing else.
func (c client) Call(ctx context.Context, server, tool string, args json.RawMessage) (*driver.Result, *driver.Error) {
	session := c.Session(server)
	if session == nil {
		return nil, plain.NoSession(server, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout())
	defer cancel()
	result, err := plain.Call(ctx, session, tool, args)
	if err != nil {
		return nil, plain.Failure(err)
	}
	return result, nil
}
