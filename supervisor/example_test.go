package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor"
)

// A server crashes in the middle of a call, and is back for the next one.
func ExampleSupervisor() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	s, err := supervisor.New(supervisor.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)

	// The test binary plays the server; yours would be "npx", "uvx", "docker" ...
	err = s.Add(supervisor.Server{Name: "demo", Command: os.Args[0], Args: []string{"testserver"}})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = s.Call(ctx, "demo", "misbehave", map[string]any{"how": "exit1"})
	var failed *supervisor.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Kind, "-", failed.Exit, "- outcome", failed.Sent)
		fmt.Println("its last words:", failed.Stderr[0])
	}

	result, err := s.Call(ctx, "demo", "echo", map[string]any{"nonce": "hello again"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)

	for _, tool := range s.Tools()[:2] {
		fmt.Println(tool.Server, tool.Tool.Name)
	}
	// Output:
	// transport - exited with status 1 - outcome unknown
	// its last words: fatal: out of cheese
	// hello again
	// demo big
	// demo deaf
}
