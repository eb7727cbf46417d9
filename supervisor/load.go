package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

// LoadServers reads a file in the form that MCP clients share:
//
//	{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "..."}},
//	                "wiki":  {"url": "https://example.com/mcp", "headers": {"Authorization": "..."}}}}
//
// Also understood: "cwd", and "era" ("legacy" or "modern"). Fields of other clients are ignored. The servers are
// ordered by name. Errors name the file, and line and column or the server; they never show a value.
func LoadServers(path string) ([]Server, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err // it names the path
	}
	servers, err := parseServers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return servers, nil
}

type serverEntry struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Era     Era               `json:"era"`
}

func parseServers(text []byte) ([]Server, error) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, positioned(text, 0, err)
	}
	if file.Servers == nil {
		return nil, errors.New(`there is no "mcpServers" object`)
	}
	var servers []Server
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		raw := file.Servers[name]
		var e serverEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			at := max(0, bytes.Index(text, raw)) // RawMessage is a copy of what stands in the text
			return nil, fmt.Errorf("server %q: %w", name, positioned(text, at, err))
		}
		s := Server{
			Name: name, Command: e.Command, Args: e.Args, Env: e.Env, Dir: e.Cwd,
			URL: e.URL, Headers: e.Headers, Era: e.Era,
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// positioned says where in text an error of encoding/json lies; from is where the decoded part began.
func positioned(text []byte, from int, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: %w", place(text, from+int(syntax.Offset)), err)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %q should be %s, not %s", place(text, from+int(kind.Offset)), kind.Field, jsonName(kind), kind.Value)
	}
	return err
}

func jsonName(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "slice":
		return "an array of strings"
	case "map", "struct":
		return "an object"
	}
	return "a string"
}

func place(text []byte, offset int) string {
	before := text[:min(max(offset-1, 0), len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}
