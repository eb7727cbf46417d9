package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Run is the whole main of a target written in Go: it serves h until the harness is done with it, and returns
// the exit code. SIGINT, SIGTERM and SIGHUP mean an orderly close. A harness that is gone is no reason to die before
// the servers are stopped, so a broken stdout is an error to Serve instead of a SIGPIPE.
func Run(h Handler, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	err := Serve(ctx, stdin, stdout, h)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
