// Package ready is how a child process that listens says where: it writes one small JSON file, atomically, once it accepts
// connections, and whoever started it waits for that file. It imports the standard library and internal/proc only.
package ready

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/unwedge/unwedge/internal/proc"
)

// pollEvery is how often Await looks. A file appears without any event that all platforms could deliver, and the children
// it is used for take 10 to 50 ms to start.
const pollEvery = time.Millisecond

// Info is what the file says.
type Info struct {
	// Address is host:port as bound; a port of 0 has become a real one.
	Address string `json:"address"`
	Pid     int    `json:"pid"`
	Start   uint64 `json:"start,omitempty"` // start time of the process, 0 where unknown
	Life    int    `json:"life,omitempty"`  // of a fake server
}

// Write fills in pid and start and makes the file appear whole, in place of an older one.
func Write(path string, i Info) error {
	i.Pid = os.Getpid()
	i.Start = proc.StartTime(i.Pid)
	b, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("saying that we listen: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), i.Pid))
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("saying that we listen: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("saying that we listen: %w", err), os.Remove(tmp))
	}
	return nil
}

// Read returns what the file says now.
func Read(path string) (Info, error) {
	var i Info
	b, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(b, &i); err != nil {
		return i, fmt.Errorf("%s: %w", path, err)
	}
	return i, nil
}

// Await waits until the process pid (0: whichever) has written the file. It does not notice that the process died before: give
// it a context that ends then.
func Await(ctx context.Context, path string, pid int) (Info, error) {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		i, err := Read(path)
		if err == nil && (pid == 0 || i.Pid == pid) {
			return i, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return i, err
		}
		select {
		case <-ctx.Done():
			return i, fmt.Errorf("waiting for a child to listen: %w", context.Cause(ctx))
		case <-t.C:
		}
	}
}
