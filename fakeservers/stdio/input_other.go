//go:build !unix

package stdio

import (
	"os"
	"sync/atomic"
)

// source reads standard input. Without a poll a reader that is waiting cannot be called off: it stops at the next bytes.
type source struct {
	stop  atomic.Bool
	chunk []byte
}

func newSource() *source { return &source{chunk: make([]byte, readChunk)} }

func (s *source) stopped() bool { return s.stop.Load() }

func (s *source) read() ([]byte, error) {
	if s.stop.Load() {
		return nil, errLetGo
	}
	n, err := os.Stdin.Read(s.chunk)
	if s.stop.Load() {
		return nil, errLetGo
	}
	return s.chunk[:n], err
}

func (s *source) letGo() { s.stop.Store(true) }

func (s *source) close() {
	s.letGo()
	_ = os.Stdin.Close()
}

// hangup cannot be seen here without reading: it is taken for granted, which only starts the last net earlier.
func hangup() {}
