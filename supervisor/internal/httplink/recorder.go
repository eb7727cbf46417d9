package httplink

import (
	"context"
	"sync"
)

type recorderKey struct{}

// Recorder holds what HTTP had to say about one call. go-sdk passes the context of CallTool and Connect down
// to the HTTP request, values included; that is how the failure finds its caller.
type Recorder struct {
	mu sync.Mutex
	f  *Failure
}

// WithRecorder gives the context for one call, or one Connect, and the recorder that will hold its failure.
func WithRecorder(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{}
	return context.WithValue(ctx, recorderKey{}, r), r
}

func recorderOf(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

func (r *Recorder) set(f *Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.f = f
}

// Failure is the last one recorded, or nil. It is complete when the call has returned. A call that succeeded
// after all may have one too (a Connect whose server/discover was refused), so ask only when there is an
// error. It may be nil beside an error that did not come from HTTP, such as a JSON-RPC error in a 200, or the
// caller's own deadline while a stream was being read.
func (r *Recorder) Failure() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f
}
