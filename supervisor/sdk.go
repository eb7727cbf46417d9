package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What both transports need of go-sdk, with the bounds that it does not keep by itself.

// Protocol revisions that the eras are pinned to.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// abortExit bounds the wait for go-sdk after the transport beneath it was aborted. It passes only if go-sdk
// wedges even so, and then one goroutine is the price.
const abortExit = 5 * time.Second

// newClient makes the client of one session. Its one handler does not block: go-sdk waits for handlers when it
// closes, and never cancels those of notifications.
func newClient(who *mcp.Implementation, changed func()) *mcp.Client {
	return mcp.NewClient(who, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{}, // we have no roots to list and nobody to ask
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed() },
	})
}

// connectBounded runs go-sdk's Connect, which may ignore ctx, and aborts the transport beneath it when ctx ends.
func connectBounded(
	ctx context.Context, abort func(), connect func() (*mcp.ClientSession, error),
) (*mcp.ClientSession, error) {
	type connected struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		s, err := connect()
		done <- connected{s, err}
	}()
	select {
	case c := <-done:
		return c.session, c.err
	case <-ctx.Done():
	}
	abort()
	select {
	case c := <-done:
		if c.err == nil { // both at once; the transport is aborted, so this ends at once
			closeSession(c.session)
		}
	case <-time.After(abortExit):
	}
	return nil, ctx.Err()
}

// closeSession frees what go-sdk keeps for a session whose transport is dead. It returns at once then; if it does
// not, it is left behind rather than waited for.
func closeSession(s *mcp.ClientSession) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Close() // what is wrong with it is known already
	}()
	select {
	case <-done:
	case <-time.After(abortExit):
	}
}

const (
	// maxToolPages and maxTools bound a list that never ends.
	maxToolPages = 1000
	maxTools     = 100_000
)

var errEndlessList = errors.New("the list of tools does not end")

// listAll reads all pages of tools/list. A server without tools has none.
func listAll(ctx context.Context, s *mcp.ClientSession) ([]*mcp.Tool, error) {
	var all []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for range maxToolPages {
		page, err := s.ListTools(ctx, params)
		if rpc := as[*jsonrpc.Error](err); rpc != nil && rpc.Code == jsonrpc.CodeMethodNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Tools...)
		if page.NextCursor == "" {
			return all, nil
		}
		if page.NextCursor == params.Cursor || len(all) > maxTools {
			break
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, errEndlessList
}
