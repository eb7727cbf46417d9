package httplink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Probe asks the server for a sign of life, beneath go-sdk and with an id that go-sdk never uses: a ping in
// the legacy era, in the modern one the server/discover that opened the session once more. Any MCP answer is
// a sign of life, "method not found" included. Otherwise the error is a *Failure or, if ctx ended first,
// ctx's own, with Silent recorded through OnFailure.
//
// It goes over a connection of the pool, as a call would, so a vanished flow shows; the Link purges the pool
// then, and the next probe uses a new connection. It must not be called before Connect has returned.
func (l *Link) Probe(ctx context.Context) error {
	req, m, err := l.probeRequest(ctx)
	if err != nil {
		return err
	}
	ctx, rec := WithRecorder(ctx)
	resp, err := l.call(req.WithContext(ctx), m)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	if f := rec.Failure(); f != nil && f.RPCCode == 0 {
		return f
	}
	return nil
}

func (l *Link) probeRequest(ctx context.Context) (*http.Request, *message, error) {
	l.mu.Lock()
	l.probes++
	id := json.RawMessage(strconv.Quote(fmt.Sprintf("unwedge-probe-%d", l.probes)))
	fields := map[string]json.RawMessage{"jsonrpc": []byte(`"2.0"`), "method": []byte(strconv.Quote(methodPing))}
	method, session, version := methodPing, l.session, l.version
	if version >= firstModern {
		method, fields = methodDiscover, nil
		if err := json.Unmarshal(l.discover, &fields); err != nil {
			l.mu.Unlock()
			return nil, nil, fmt.Errorf("no session to probe: %w", err)
		}
	}
	l.mu.Unlock()

	fields["id"] = id
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Accept", typeJSON+", "+typeStream)
	req.Header.Set(headerVersion, version)
	if session != "" {
		req.Header.Set(headerSession, session)
	}
	if version >= firstModern {
		req.Header.Set("Mcp-Method", method)
	}
	m := parseMessage(body)
	m.private = true
	return req, m, nil
}
