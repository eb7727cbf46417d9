// Package strictyaml reads the YAML files that people write by hand: scenarios, fake scripts, target profiles, mutant tables.
// A mistake is never ignored and never half explained: it has a file, a line, a column, the line itself, and where one is
// near, the word that was probably meant.
//
// Decode is the way in. Locate and At turn what is found out later, by looking at the decoded value, into the same kind of error. The
// package knows no file format of its own; it sits on goccy/go-yaml for parsing and decoding.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxBytes is the size of the largest file that is read. Files written by hand are a thousand times smaller.
const MaxBytes = 1 << 20

// Error is one mistake in a file.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
	Suggestion   string // what was probably meant; may be empty
	Snippet      string // the line, and a mark under the column
}

// Error says it in one line, "mine.yaml:3:5: unknown field "cal"; did you mean "call"?".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	if e.Suggestion != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Suggestion)
	}
	return s
}

// Decode reads data into the value that into points to. Fields are found by their yaml tags. Everything that has no place is
// an error, as are wrong types, duplicate keys, a second document, anchors, aliases and tags. The error is an *Error, or
// joins several in the order of the file. An empty file leaves the value as it is. Types may bring their own UnmarshalText or
// UnmarshalYAML; what they refuse is located at the value they were given. It never panics.
func Decode(file string, data []byte, into any) (err error) {
	src := newSource(file, data)
	defer func() {
		if p := recover(); p != nil { // by the parser, on input that no person writes
			err = src.at(1, 1, fmt.Sprintf("it cannot be read as YAML (%v)", p))
		}
	}()
	body, err := src.parse()
	if err != nil || body == nil {
		return err
	}
	if err := check(src, body, into); err != nil {
		return err
	}
	if err := yaml.NodeToValue(body, into, yaml.Strict()); err != nil {
		return src.wrap(err)
	}
	return nil
}

// Errors takes an error of Decode, or several joined ones, apart.
func Errors(err error) []*Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*Error
		for _, e := range joined.Unwrap() {
			out = append(out, Errors(e)...)
		}
		return out
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return []*Error{e}
	}
	return nil
}

// Suggest returns the known word that is nearest to a misspelt one, "" when none is near.
func Suggest(word string, known []string) string {
	best, near := "", len([]rune(word))/3+1
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(k), nil); d <= near {
			best, near = k, d-1
		}
	}
	return best
}

// source is the text that errors point into.
type source struct {
	file string
	data []byte
}

// newSource leaves out the mark that some editors put in front of UTF-8.
func newSource(file string, data []byte) source {
	return source{file, bytes.TrimPrefix(data, []byte("\ufeff"))}
}

// parse returns the one document's body, nil when there is nothing in it.
func (s source) parse() (ast.Node, error) {
	if len(s.data) > MaxBytes {
		return nil, s.at(1, 1, fmt.Sprintf("%d bytes are too much; at most %d are read", len(s.data), MaxBytes))
	}
	if i := slices.Index(s.data, 0); i >= 0 {
		return nil, s.at(1, 1, fmt.Sprintf("byte %d is zero: this is no text", i))
	}
	f, err := parser.ParseBytes(s.data, 0)
	if err != nil {
		return nil, s.wrap(err)
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d == nil || d.Body == nil || isNil(d.Body) {
			continue
		}
		if body != nil {
			return nil, s.atNode(d.Body, "a second document: one file holds one")
		}
		body = d.Body
	}
	return body, nil
}

func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CommentGroupNode:
		return true
	case *ast.NullNode:
		return n == nil || n.Token == nil || strings.TrimSpace(n.Token.Value) == ""
	}
	return false
}

// wrap gives an error of the YAML library our form.
func (s source) wrap(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	message := err.Error()
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		message = ye.GetMessage()
		if tk := ye.GetToken(); tk != nil && tk.Position != nil {
			return s.at(tk.Position.Line, tk.Position.Column, message)
		}
	}
	return s.at(1, 1, message)
}

func (s source) atNode(n ast.Node, message string) *Error {
	line, col := start(n)
	return s.at(line, col, message)
}

func (s source) at(line, col int, message string) *Error {
	line, col = max(line, 1), max(col, 1)
	return &Error{File: s.file, Line: line, Column: col, Message: message, Snippet: s.snippet(line, col)}
}

// snippet is the line with a mark under the column, "" when there is no such line.
func (s source) snippet(line, col int) string {
	lines := strings.Split(string(s.data), "\n")
	if line > len(lines) {
		return ""
	}
	text := strings.TrimRight(lines[line-1], "\r")
	runes := []rune(text)
	var pad strings.Builder
	for i := range col - 1 {
		if i < len(runes) && runes[i] == '\t' {
			pad.WriteByte('\t')
			continue
		}
		pad.WriteByte(' ')
	}
	gutter := fmt.Sprintf("%4d | ", line)
	return gutter + text + "\n" + strings.Repeat(" ", len(gutter)-2) + "| " + pad.String() + "^"
}
