package strictyaml

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// At is the error for a mistake that was found in the decoded value: path says where, as "steps[2].call" or
// servers["my.srv"].script. suggestion may be empty.
func At(file string, data []byte, path, message, suggestion string) *Error {
	line, col := Locate(data, path)
	e := newSource(file, data).at(line, col, message)
	e.Suggestion = suggestion
	return e
}

// Locate finds the value at a path and returns its line and column, from 1. When the path leads nowhere (a field that was left out,
// a short form) it is the deepest value on the way; 1, 1 when the file cannot be read at all.
func Locate(data []byte, path string) (line, col int) {
	line, col = 1, 1
	defer func() { _ = recover() }() // see Decode
	body, err := newSource("", data).parse()
	if err != nil || body == nil {
		return line, col
	}
	node := body
	for _, step := range steps(path) {
		next := child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return start(node)
}

// step is one key or one index of a path.
type step struct {
	key   string
	index int // -1 for a key
}

// steps takes a path apart. What cannot be understood ends it: the place found so far is still a place.
func steps(path string) []step {
	var out []step
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case strings.HasPrefix(path, `["`):
			key, rest, ok := strings.Cut(path[2:], `"]`)
			if !ok {
				return out
			}
			out, path = append(out, step{key, -1}), rest
		case path[0] == '[':
			num, rest, ok := strings.Cut(path[1:], "]")
			n, err := strconv.Atoi(num)
			if !ok || err != nil || n < 0 {
				return out
			}
			out, path = append(out, step{"", n}), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out, path = append(out, step{path[:end], -1}), path[end:]
		}
	}
	return out
}

// child is the value one step down, nil when there is none.
func child(n ast.Node, s step) ast.Node {
	if s.index >= 0 {
		if seq, ok := n.(*ast.SequenceNode); ok && s.index < len(seq.Values) {
			return seq.Values[s.index]
		}
		return nil
	}
	for _, p := range pairs(n) {
		if k, ok := keyText(p.Key); ok && k == s.key {
			if null, isNull := p.Value.(*ast.NullNode); isNull && null != nil {
				return p.Key // nothing was written: the key is all there is to point at
			}
			return p.Value
		}
	}
	return nil
}

// pairs returns the entries of a mapping, none for other nodes.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// keyText is a key's name; keys that are no plain scalars have none.
func keyText(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return k.GetToken().Value, true
	}
	return "", false
}

// start is where a node begins in the text: for a block mapping its first key, not the colon that the parser names.
func start(n ast.Node) (line, col int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return start(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(m.Key)
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line, tk.Position.Column
	}
	return 1, 1
}
