package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Parse reads a scenario file. file is its name, for errors and for the scenario's ID. The scenario is valid when err is nil; else err is a
// *strictyaml.Error, or joins several in the order of the file: each with line, column and, where one is near, the word that
// was probably meant. It never panics.
func Parse(file string, data []byte) (Scenario, error) {
	var s Scenario
	if err := strictyaml.Decode(file, data, &s); err != nil {
		return Scenario{}, err
	}
	s.File = file
	if s.ID == "" {
		s.ID = idOf(file)
	}
	for i := range s.Steps {
		tidy(s.Steps[i].Args)
	}
	if err := located(file, data, Problems(Validate(s))); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// maxShown is how many mistakes are shown at once: nobody reads more, and each costs a look through the whole file.
const maxShown = 20

// located points problems into the file and joins them in its order.
func located(file string, data []byte, problems []*Problem) error {
	var found []*strictyaml.Error
	for _, p := range problems[:min(len(problems), maxShown)] {
		found = append(found, strictyaml.At(file, data, p.Path, p.Message, p.Suggestion))
	}
	slices.SortStableFunc(found, func(a, b *strictyaml.Error) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	if len(found) == 1 {
		return found[0]
	}
	var all []error
	for _, e := range found {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Marshal writes a scenario as the file that Parse reads back to the same value (File, and an ID that is the file's name, aside).
func Marshal(s Scenario) ([]byte, error) {
	b, err := yaml.MarshalWithOptions(s, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("writing scenario %s: %w", s.ID, err)
	}
	return b, nil
}

// idOf is a file's name without folder and ending.
func idOf(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// UnmarshalYAML reads the short form, "srv: stdio", and the long one.
func (s *Server) UnmarshalYAML(n ast.Node) error {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		type long Server
		return yaml.NodeToValue(n, (*long)(s), yaml.Strict())
	case *ast.StringNode, *ast.NullNode:
		*s = Server{}
		return yaml.NodeToValue(n, &s.Transport)
	}
	return errors.New("a server is stdio, http, or a mapping with transport, proxy, script")
}

// MarshalYAML writes the short form where it says everything.
func (s Server) MarshalYAML() (any, error) {
	type long Server
	if b, err := yaml.Marshal(long(s)); err == nil && string(b) == "transport: "+s.Transport+"\n" {
		return s.Transport, nil
	}
	return long(s), nil
}

// tidy gives numbers the type that a Go literal has, so that a value read from a file equals one that was written in Go.
func tidy(args map[string]any) {
	for k, v := range args {
		args[k] = tidied(v)
	}
}

func tidied(v any) any {
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt {
			return int(v)
		}
	case int64:
		return int(v)
	case map[string]any:
		tidy(v)
	case []any:
		for i := range v {
			v[i] = tidied(v[i])
		}
	}
	return v
}
