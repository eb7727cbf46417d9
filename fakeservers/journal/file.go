package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/unwedge/unwedge/internal/mono"
)

// Writer appends entries. Each entry is one write(2) on a descriptor opened with O_APPEND, so lines of several processes
// never mix and a line that Write returned for outlives the death of the process. Safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	f    *os.File
	base Entry
}

// OpenWriter opens the journal for appending. base carries what all entries of this process share: Server, Role, Pid, Start, Life.
func OpenWriter(path string, base Entry) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	return &Writer{f: f, base: base}, nil
}

// Write fills in the base and the time, unless the entry brings its own, and appends it.
func (w *Writer) Write(e Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Server == "" {
		e.Server = w.base.Server
	}
	if e.Role == "" {
		e.Role = w.base.Role
	}
	if e.Pid == 0 {
		e.Pid, e.Start = w.base.Pid, w.base.Start
	}
	if e.Life == 0 {
		e.Life = w.base.Life
	}
	if e.T == 0 {
		e.T = mono.Now() // under the lock: this process's entries are in the order of their times
	}
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	if _, err := w.f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	return nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// Read returns all entries so far. A torn last line is left out, a journal that does not exist yet is empty. Entries stand as
// they were written; those of different processes may be out of the order of their times by a moment.
func Read(path string) ([]Entry, error) { return Follow(path).Poll() }

// Follower reads a journal while it grows. Not safe for concurrent use.
type Follower struct {
	path string
	off  int64
}

// Follow returns a follower that starts at the beginning.
func Follow(path string) *Follower { return &Follower{path: path} }

// Poll returns the entries that were added since the last Poll. A line that is still being written waits for the next one.
func (f *Follower) Poll() ([]Entry, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading journal: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(f.off, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading journal: %w", err)
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading journal: %w", err)
	}
	var out []Entry
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return out, nil
		}
		f.off += int64(len(line)) + 1
		b = rest
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return out, fmt.Errorf("journal %s: unreadable line at byte %d: %w", f.path, f.off-int64(len(line))-1, err)
		}
		out = append(out, e)
	}
}
