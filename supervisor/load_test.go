package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLoadServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	load := func(text string) ([]Server, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadServers(path)
	}
	got, err := load(`{
		"inputs": [], "mcpServers": {
			"wiki":  {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}},
			"files": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "t"}, "cwd": "/srv", "era": "legacy"}
		}}`)
	want := []Server{
		{Name: "files", Command: "npx", Args: []string{"-y", "server"}, Env: map[string]string{"TOKEN": "t"}, Dir: "/srv", Era: Legacy},
		{Name: "wiki", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}

	for text, says := range map[string]string{
		"{\n \"mcpServers\": {\n  \"a\": {\"command\": }}}": "line 3, column 20",
		`{"servers": {}}`: `no "mcpServers"`,
		`[]`:              "line 1",
		"{\"mcpServers\": {\n\"a\": {\"command\": 7}}}":                         `server "a": line 2, column`,
		`{"mcpServers": {"a": {"command": "x", "args": "y"}}}`:                  `"args" should be an array of strings, not string`,
		`{"mcpServers": {"a": {}}}`:                                             `server "a": neither command nor url`,
		`{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}`:            `server "a": command and url are both set`,
		`{"mcpServers": {"a": {"url": "ftp://user:secret@h"}}}`:                 `server "a": url must be http`,
		`{"mcpServers": {"a": {"command": "x", "era": "stone"}}}`:               `era "stone"`,
		`{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": ["secret"]}}}}`: `server "a"`,
	} {
		_, err := load(text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s:\n got %v\nwant %s", text, err, says)
		}
	}
	if _, err := LoadServers(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("a file that is not there")
	}
}

func TestSettingsAreChecked(t *testing.T) {
	if _, err := New(Options{Settings: Settings{Cooldown: -1}}); err == nil || !strings.Contains(err.Error(), "Cooldown") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{ConnectLimit: -1}); err == nil {
		t.Error("a negative limit")
	}
	set := Settings{ProbeLease: 1, CallTimeout: DefaultCallTimeout}.withDefaults()
	if set.ProbeLease < set.CallTimeout || set.WriteTimeout > set.CallTimeout || set.ProbeTimeout > set.ConnectTimeout/2 {
		t.Errorf("got %+v", set)
	}
}

func TestSUP13_SecretsInURLs(t *testing.T) {
	got := fmt.Sprint(Server{
		URL: "https://me:pass-word@example.com/mcp?key=key-in-query", Headers: map[string]string{"X-Key": "in-header"},
		Env: map[string]string{"TOKEN": "in-env"},
	}.secrets())
	for _, want := range []string{"pass-word", "key-in-query", "in-header", "in-env"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not among the secrets %s", want, got)
		}
	}
}
