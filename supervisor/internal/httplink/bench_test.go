package httplink_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
)

// BenchmarkCall compares a call over the link with one of a bare go-sdk client, in interleaved pairs, so that
// a noisy machine slows both. "ratio" is that of the medians.
func BenchmarkCall(b *testing.B) {
	for _, e := range eras {
		for _, size := range []int{10, 100 << 10} {
			b.Run(fmt.Sprintf("%s/%d", e.name, size), func(b *testing.B) {
				server := mcp.NewServer(&mcp.Implementation{Name: "fake"}, nil)
				text := string(slices.Repeat([]byte("x"), size))
				mcp.AddTool(server, &mcp.Tool{Name: "echo"},
					func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
					})
				url := serve(b, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
					&mcp.StreamableHTTPOptions{Stateless: e.modern(), JSONResponse: e.json}))
				link, err := httplink.New(httplink.Options{Endpoint: url})
				if err != nil {
					b.Fatal(err)
				}
				var sessions [2]*mcp.ClientSession
				for i, c := range []*http.Client{http.DefaultClient, link.Client()} {
					sessions[i], err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(context.Background(),
						&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c, DisableStandaloneSSE: true},
						&mcp.ClientSessionOptions{ProtocolVersion: e.version})
					if err != nil {
						b.Fatal(err)
					}
					defer sessions[i].Close()
				}
				var took [2][]time.Duration
				for b.Loop() {
					for i, s := range sessions {
						began := time.Now()
						ctx, cancel := context.WithTimeout(context.Background(), patience)
						ctx, _ = httplink.WithRecorder(ctx)
						_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: struct{}{}})
						cancel()
						if err != nil {
							b.Fatal(err)
						}
						took[i] = append(took[i], time.Since(began))
					}
				}
				slices.Sort(took[0])
				slices.Sort(took[1])
				bare, linked := took[0][len(took[0])/2], took[1][len(took[1])/2]
				b.ReportMetric(float64(linked)/float64(bare), "ratio")
				b.ReportMetric(float64(bare.Nanoseconds()), "bare-ns")
			})
		}
	}
}
