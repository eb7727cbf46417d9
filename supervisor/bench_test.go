//go:build unix

package supervisor

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two figures that the supervisor is held to, measured as ratios in one run, since absolute times mean little on a
// shared machine: pairs of the supervised and the bare way alternate, and medians are compared.
//
//	go test ./supervisor -run '^$' -bench . -benchtime 1x

var pairs = flag.Int("pairs", 60, "recovery pairs to measure")

// A call takes so little that only the median of thousands is steady, and where the scheduler has put a process decides
// more than what is measured; so there are several rounds, each with fresh processes on both sides.
const (
	callRounds = 10
	callPairs  = 500 // a round
)

// BenchmarkCall compares a supervised call over a real pipe with one on go-sdk's own CommandTransport.
func BenchmarkCall(b *testing.B) {
	for _, era := range []Era{Legacy, Modern} {
		b.Run(string(era), func(b *testing.B) {
			w := newWorld(b, scaled())
			w.serve("srv", era)
			w.good("srv")
			ctx, args := context.Background(), m{"nonce": "n"}
			var bare *mcp.ClientSession
			supervised := func() error { _, err := w.Call(ctx, "srv", "echo", args); return err }
			plain := func() error {
				_, err := bare.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: args})
				return err
			}
			for b.Loop() {
				var ours, theirs []time.Duration
				for range callRounds {
					if err := w.Reconnect(ctx, "srv"); err != nil {
						b.Fatal(err)
					}
					bare = bareConnect(b, era)
					for i := range callPairs {
						if i%2 == 0 {
							ours = append(ours, timed(b, supervised))
							theirs = append(theirs, timed(b, plain))
						} else {
							theirs = append(theirs, timed(b, plain))
							ours = append(ours, timed(b, supervised))
						}
					}
				}
				report(b, ours, theirs)
			}
			b.ReportMetric(testing.AllocsPerRun(500, func() { timed(b, supervised) }), "allocs-supervised")
			b.ReportMetric(testing.AllocsPerRun(500, func() { timed(b, plain) }), "allocs-bare")
		})
	}
}

func timed(b *testing.B, call func() error) time.Duration {
	began := time.Now()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkRecovery compares SIGKILL of an idle server to the first good call with the floor: what it takes to
// start, connect, list and call without any supervisor.
func BenchmarkRecovery(b *testing.B) {
	for _, era := range []Era{Legacy, Modern} {
		b.Run(string(era), func(b *testing.B) {
			set := scaled()
			set.BackoffMin = time.Millisecond
			w := newWorld(b, set)
			w.serve("srv", AnyEra, "era="+string(era))
			w.good("srv")
			for b.Loop() {
				var ours, theirs []time.Duration
				for range *pairs {
					theirs = append(theirs, floor(b, era))
					ours = append(ours, recovery(w))
				}
				report(b, ours, theirs)
			}
		})
	}
}

func recovery(w *world) time.Duration {
	w.good("srv")
	pid := w.status("srv").Pid
	began := time.Now()
	syscall.Kill(pid, syscall.SIGKILL)
	for {
		if _, err := w.tool("srv", "echo", m{"nonce": "n"}); err == nil && w.status("srv").Pid != pid {
			return time.Since(began)
		}
	}
}

func floor(b *testing.B, era Era) time.Duration {
	began := time.Now()
	s := bareConnect(b, era)
	if _, err := s.ListTools(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
	if _, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: m{"nonce": "n"}}); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	s.Close()
	return took
}

func bareConnect(b *testing.B, era Era) *mcp.ClientSession {
	version := map[Era]string{Legacy: legacyVersion, Modern: modernVersion}[era]
	c := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	t := &mcp.CommandTransport{Command: exec.Command(os.Args[0], "testserver", "era="+string(era))}
	s, err := c.Connect(context.Background(), t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func report(b *testing.B, ours, theirs []time.Duration) {
	o, t := median(ours), median(theirs)
	ratio := float64(o) / float64(t)
	b.ReportMetric(float64(o.Nanoseconds())/1e3, "us-supervised")
	b.ReportMetric(float64(t.Nanoseconds())/1e3, "us-bare")
	b.ReportMetric(ratio, "ratio")
	fmt.Printf("%s: supervised %v, bare %v, ratio %.3f (medians of %d interleaved pairs)\n", b.Name(), o, t, ratio, len(ours))
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.SortFunc(d, cmp.Compare[time.Duration])
	return d[len(d)/2]
}
