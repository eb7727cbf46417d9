package wire

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/unwedge/unwedge/faults/toxics"
	"github.com/unwedge/unwedge/internal/ready"
)

// headerTimeout bounds a client of the API that connects and says nothing.
const headerTimeout = 10 * time.Second

// Main is `unwedge internal proxy --listen ADDR [--ready FILE]`: toxiproxy's API server with our toxics. Once it listens it
// writes its API address to FILE (see internal/ready), or without --ready as one line to stdout. It ends when stdin reaches
// end of file, so that it cannot outlive whoever holds the other end, and on SIGTERM or SIGINT. The result is the exit code.
func Main(args []string) int {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address of the API")
	readyFile := flags.String("ready", "", "file that tells the address once it is bound; default: stdout")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	eof := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(eof)
	}()
	failed, err := serve(*listen, *readyFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		return 1
	}
	select {
	case <-stop:
	case <-eof:
	case err := <-failed:
		fmt.Fprintln(os.Stderr, "proxy:", err)
		return 1
	}
	return 0 // flows are cut by the kernel; toxiproxy's own stop can hang
}

// serve starts the API and says where it is. The channel tells of a server that gave up.
func serve(listen, readyFile string) (<-chan error, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // the bandwidth toxic logs to zerolog's global logger
	toxics.Register()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	server := &http.Server{Handler: api.Routes(), ReadHeaderTimeout: headerTimeout}
	go func() { failed <- server.Serve(l) }()
	address := l.Addr().String()
	if readyFile == "" {
		fmt.Println(address)
		return failed, nil
	}
	if err := ready.Write(readyFile, ready.Info{Address: address}); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return failed, nil
}
