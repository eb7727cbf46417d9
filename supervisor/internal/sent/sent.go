// Package sent follows one outgoing request from the caller down to the transport, so that a
// failed call can say for certain whether anything of it left this process (SUP-4).
//
// The mark travels in the context: it is the one thing that go-sdk hands through unchanged
// from CallTool to the transport. The package imports the standard library only.
package sent

import (
	"context"
	"sync/atomic"
)

// Key is the context key of a *Mark. A context type that carries a Mark answers it from Value.
var Key any = key{}

type key struct{}

// Mark says whether a byte of a request was handed over to the other side.
type Mark struct{ begun atomic.Bool }

// Begin is called by a transport before, or under the same lock as, the first byte goes out. It
// is safe on nil.
func (m *Mark) Begin() {
	if m != nil {
		m.begun.Store(true)
	}
}

// Begun reports whether the request may have reached the other side.
func (m *Mark) Begun() bool { return m != nil && m.begun.Load() }

// From returns the mark that ctx carries, or nil.
func From(ctx context.Context) *Mark {
	m, _ := ctx.Value(Key).(*Mark)
	return m
}

// With returns a context that carries m.
func With(ctx context.Context, m *Mark) context.Context { return context.WithValue(ctx, Key, m) }
