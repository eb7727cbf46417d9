package supervisor

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Era is a generation of the MCP protocol.
type Era string

const (
	// AnyEra negotiates: modern if the server speaks it, else legacy. What was found is
	// remembered for the server until evidence contradicts it.
	AnyEra Era = ""
	// Legacy is the initialize handshake and everything up to revision 2025-11-25.
	Legacy Era = "legacy"
	// Modern is the stateless revision 2026-07-28.
	Modern Era = "modern"
)

// Server says how to reach one MCP server: a command to run, or a URL. Exactly one of
// Command and URL is set.
type Server struct {
	Name string

	// Command is started with Args in a process group of its own. Its environment is that
	// of this process plus Env; the values of Env are secrets and are never shown.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // working directory; empty = ours

	// URL is a streamable HTTP endpoint. The values of Headers are sent with every
	// request; they are secrets and are never shown.
	URL     string
	Headers map[string]string

	// Era pins the protocol generation. Empty negotiates. A server that does not speak
	// the pinned one cannot be connected to.
	Era Era
}

// Validate says what is wrong with s, if anything.
func (s Server) Validate() error {
	switch {
	case s.Name == "":
		return fmt.Errorf("a server needs a name")
	case s.Command == "" && s.URL == "":
		return fmt.Errorf("server %q: neither command nor url is set", s.Name)
	case s.Command != "" && s.URL != "":
		return fmt.Errorf("server %q: command and url are both set", s.Name)
	case s.Era != AnyEra && s.Era != Legacy && s.Era != Modern:
		return fmt.Errorf("server %q: era %q is neither %q nor %q", s.Name, s.Era, Legacy, Modern)
	case strings.ContainsRune(s.Command, 0):
		return fmt.Errorf("server %q: command holds a NUL byte", s.Name)
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return fmt.Errorf("server %q: url cannot be parsed", s.Name) // the text of err holds the url, which may hold a secret
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("server %q: url must be http:// or https:// with a host", s.Name)
	}
	return nil
}

// clone keeps a caller's later changes to its slices and maps away from the owner.
func (s Server) clone() Server {
	s.Args = slices.Clone(s.Args)
	s.Env = maps.Clone(s.Env)
	s.Headers = maps.Clone(s.Headers)
	return s
}

// secrets are the values that must never be shown.
func (s Server) secrets() []string {
	var all []string
	all = slices.AppendSeq(all, maps.Values(s.Env))
	all = slices.AppendSeq(all, maps.Values(s.Headers))
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
		for _, values := range u.Query() {
			all = append(all, values...)
		}
	}
	return all
}
