package toxics

import (
	"os"
	"sync"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/proc"
)

// writers holds one open journal a path, since toxiproxy never tells a toxic that it is no longer needed: a healed proxy would
// leave a descriptor behind each time. It grows with the number of servers behind this process, which live as long as it does.
var writers = struct {
	sync.Mutex
	byPath map[string]*journal.Writer
}{byPath: map[string]*journal.Writer{}}

// openJournal returns the process's writer for a journal; nil for none.
func openJournal(path string) (*journal.Writer, error) {
	if path == "" {
		return nil, nil
	}
	writers.Lock()
	defer writers.Unlock()
	if w := writers.byPath[path]; w != nil {
		return w, nil
	}
	pid := os.Getpid()
	w, err := journal.OpenWriter(path, journal.Entry{Pid: pid, Start: proc.StartTime(pid)})
	if err != nil {
		return nil, err
	}
	writers.byPath[path] = w
	return w, nil
}
