package plain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
)

// Call is go-sdk's call and nothing else.
func Call(ctx context.Context, session *mcp.ClientSession, tool string, args json.RawMessage) (*driver.Result, error) {
	params := &mcp.CallToolParams{Name: tool}
	if len(args) > 0 {
		params.Arguments = args
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	return &driver.Result{Text: text(result.Content), IsError: result.IsError}, nil
}

func text(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "")
}

// NoSession is the error of a call that has nothing to be sent on; why may be nil.
func NoSession(server string, why error) *driver.Error {
	e := &driver.Error{
		Kind: driver.KindNoSession, Outcome: driver.OutcomeNotSent,
		Message: fmt.Sprintf("server %q: no session", server),
	}
	if why != nil {
		e.Message = "no session: " + why.Error()
	}
	return e
}

// Failure says what go-sdk says. Whether the call had an effect it does not say.
func Failure(err error) *driver.Error {
	e := &driver.Error{Kind: driver.KindOther, Message: err.Error(), Outcome: driver.OutcomeUnknown}
	_, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = driver.KindTimeout
	case errors.Is(err, context.Canceled):
		e.Kind = driver.KindCancelled
	case errors.Is(err, mcp.ErrSessionMissing):
		e.Kind = driver.KindSession
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = driver.KindTransport
	case answered:
		e.Kind = driver.KindTool
	}
	return e
}
