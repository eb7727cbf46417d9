package stdio

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
)

// Verbs of the two processes that a fake leaves behind on purpose. Each is in a session of its own, so that neither the
// death of the fake nor a signal to its group reaches it, and each ends by itself.
const (
	SleeperVerb = "sleeper"
	HolderVerb  = "holder"
)

// holderLimit ends a stdin holder whose client never closes its end.
const holderLimit = 2 * time.Minute

// child is a process that was started, or why not.
type child struct {
	pid   int
	start uint64
	err   error
}

// Sleeper is the verb "sleeper --for DURATION": it keeps the stdout and stderr it inherited open that long.
func Sleeper(args []string) int {
	fs := flag.NewFlagSet(SleeperVerb, flag.ContinueOnError)
	d := fs.Duration("for", 0, "how long")
	if fs.Parse(args) != nil || fs.NArg() > 0 || *d <= 0 {
		return usage
	}
	time.Sleep(*d)
	return 0
}

// Holder is the verb "holder --journal FILE --life ENTRY": it inherits the read end of a fake's stdin as descriptor 3 and the
// read end of a pipe that only the fake holds open as descriptor 4. While the fake lives it does nothing; once it is dead it reads
// what comes and journals it as late bytes of that life, until the writer closes its end or holderLimit is over.
func Holder(args []string) int {
	fs := flag.NewFlagSet(HolderVerb, flag.ContinueOnError)
	path := fs.String("journal", "", "journal file")
	life := fs.String("life", "", "the life, as a journal entry")
	var ident journal.Entry
	if fs.Parse(args) != nil || fs.NArg() > 0 || *path == "" || json.Unmarshal([]byte(*life), &ident) != nil {
		return usage
	}
	log, err := journal.OpenWriter(*path, ident)
	if err == nil {
		err = hold(log)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdin holder:", err)
		return 1
	}
	return 0
}

// keep holds a file open for the rest of the process.
func (f *fake) keep(file *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, file)
}

// awaitHangup starts the last net under a deaf fake once its client is gone.
func (f *fake) awaitHangup() {
	go func() {
		hangup()
		f.bound()
	}()
}
