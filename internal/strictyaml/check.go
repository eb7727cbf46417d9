package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// The library's own strict mode reports one mistake, in no fixed order, and forgets the place when a type's own unmarshaller
// complains. So the tree is compared with the Go type first.

const (
	maxErrors = 20  // a file in another format altogether has thousands of mistakes
	maxDepth  = 100 // deeper nesting is an attack, not a scenario
)

// check compares a tree with the type that it is for.
func check(src source, n ast.Node, into any) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("strictyaml: cannot decode into a %T", into)
	}
	c := &checker{src: src}
	c.node(n, t.Elem(), 0)
	if len(c.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(c.errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(c.errs) == 1 {
		return c.errs[0]
	}
	all := make([]error, len(c.errs))
	for i, e := range c.errs {
		all[i] = e
	}
	return errors.Join(all...)
}

type checker struct {
	src  source
	errs []*Error
}

func (c *checker) add(n ast.Node, format string, args ...any) *Error {
	e := c.src.atNode(n, fmt.Sprintf(format, args...))
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, e)
	}
	return e
}

var (
	textType  = reflect.TypeFor[encoding.TextUnmarshaler]()
	yamlTypes = []reflect.Type{
		reflect.TypeFor[yaml.InterfaceUnmarshaler](), reflect.TypeFor[yaml.InterfaceUnmarshalerContext](),
		reflect.TypeFor[yaml.BytesUnmarshaler](), reflect.TypeFor[yaml.BytesUnmarshalerContext](),
		reflect.TypeFor[yaml.NodeUnmarshaler](), reflect.TypeFor[yaml.NodeUnmarshalerContext](),
	}
)

func (c *checker) node(n ast.Node, t reflect.Type, depth int) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if depth > maxDepth {
		c.add(n, "nested too deep")
		return
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		c.add(n, "anchors and aliases are not read here: write it out")
		return
	case *ast.TagNode, *ast.DirectiveNode:
		c.add(n, "tags and directives are not read here")
		return
	}
	ptr := reflect.PointerTo(t)
	switch {
	case slices.ContainsFunc(yamlTypes, ptr.Implements):
		c.own(n, t, depth)
	case ptr.Implements(textType):
		c.text(n, t)
	default:
		c.kind(n, t, depth)
	}
}

// own is a type with an UnmarshalYAML. Its long form, a mapping, is checked like any other; its short forms only it knows.
func (c *checker) own(n ast.Node, t reflect.Type, depth int) {
	if t.Kind() == reflect.Struct && isMapping(n) {
		c.structure(n, t, depth)
		return
	}
	if err := yaml.NodeToValue(n, reflect.New(t).Interface(), yaml.Strict()); err != nil {
		c.refused(n, err)
	}
}

// text is a type with an UnmarshalText.
func (c *checker) text(n ast.Node, t reflect.Type) {
	s, ok := scalar(n)
	if !ok {
		c.add(n, "expected a single value, found %s", found(n))
		return
	}
	u, _ := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	if err := u.UnmarshalText([]byte(s)); err != nil {
		c.refused(n, err)
	}
}

func (c *checker) refused(n ast.Node, err error) {
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		c.add(n, "%s", ye.GetMessage())
		return
	}
	c.add(n, "%v", err)
}

func (c *checker) kind(n ast.Node, t reflect.Type, depth int) {
	_, null := n.(*ast.NullNode)
	switch t.Kind() {
	case reflect.Struct:
		if isMapping(n) {
			c.structure(n, t, depth)
			return
		}
	case reflect.Map:
		if isMapping(n) {
			c.mapping(n, t, depth)
			return
		}
	case reflect.Slice, reflect.Array:
		if seq, ok := n.(*ast.SequenceNode); ok {
			for _, v := range seq.Values {
				c.node(v, t.Elem(), depth+1)
			}
			return
		}
	case reflect.Interface:
		c.anything(n, t, depth)
		return
	default:
		if c.fits(n, t) {
			return
		}
		null = false // a scalar needs a value
	}
	if !null { // a section left empty is empty
		c.add(n, "expected %s, found %s", want(t), found(n))
	}
}

// fits checks scalars; what it complains about itself counts as fitting.
func (c *checker) fits(n ast.Node, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool:
		_, ok := n.(*ast.BoolNode)
		return ok
	case reflect.String:
		_, ok := scalar(n)
		return ok
	case reflect.Float32, reflect.Float64:
		switch n.(type) {
		case *ast.FloatNode, *ast.IntegerNode:
			return true
		}
		return false
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		i, ok := n.(*ast.IntegerNode)
		if ok && overflows(i.Value, t) {
			c.add(n, "%s does not fit here", i.GetToken().Value)
		}
		return ok
	}
	return false
}

func overflows(v any, t reflect.Type) bool {
	zero := reflect.Zero(t)
	signed := t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
	switch v := v.(type) {
	case int64:
		if signed {
			return zero.OverflowInt(v)
		}
		return v < 0 || zero.OverflowUint(uint64(v))
	case uint64:
		if signed {
			return v > math.MaxInt64 || zero.OverflowInt(int64(v))
		}
		return zero.OverflowUint(v)
	}
	return true
}

// structure checks a mapping against a struct's fields.
func (c *checker) structure(n ast.Node, t reflect.Type, depth int) {
	fields := fieldsOf(t)
	known := make([]string, 0, len(fields))
	for _, f := range fields {
		known = append(known, f.name)
	}
	c.entries(n, func(key string, p *ast.MappingValueNode) {
		i := slices.Index(known, key)
		if i < 0 {
			c.add(p.Key, "unknown field %q", key).Suggestion = Suggest(key, known)
			return
		}
		c.value(p, fields[i].typ, depth)
	})
}

// value checks what stands behind a key. Where nothing does, the key is all there is to point at.
func (c *checker) value(p *ast.MappingValueNode, t reflect.Type, depth int) {
	before := len(c.errs)
	c.node(p.Value, t, depth+1)
	if _, null := p.Value.(*ast.NullNode); null && len(c.errs) > before {
		at := c.src.atNode(p.Key, c.errs[before].Message)
		*c.errs[before] = *at
	}
}

func (c *checker) mapping(n ast.Node, t reflect.Type, depth int) {
	c.entries(n, func(_ string, p *ast.MappingValueNode) { c.value(p, t.Elem(), depth) })
}

// anything is checked only for what is never read.
func (c *checker) anything(n ast.Node, t reflect.Type, depth int) {
	if seq, ok := n.(*ast.SequenceNode); ok {
		for _, v := range seq.Values {
			c.node(v, t, depth+1)
		}
	}
	c.entries(n, func(_ string, p *ast.MappingValueNode) { c.node(p.Value, t, depth+1) })
}

// entries goes over a mapping, each key once.
func (c *checker) entries(n ast.Node, each func(key string, p *ast.MappingValueNode)) {
	seen := map[string]bool{}
	for _, p := range pairs(n) {
		if p.Key.IsMergeKey() {
			c.add(p.Key, "anchors and aliases are not read here: write it out")
			continue
		}
		key, ok := keyText(p.Key)
		if !ok {
			c.add(p.Key, "a key must be a plain word")
			continue
		}
		if seen[key] {
			c.add(p.Key, "key %q is written twice", key)
			continue
		}
		seen[key] = true
		each(key, p)
	}
}

type field struct {
	name string
	typ  reflect.Type
}

// fieldsOf lists what a struct can hold, as the library reads its tags.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if slices.Contains(strings.Split(opts, ","), "inline") {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			out = append(out, fieldsOf(inner)...)
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		out = append(out, field{name, f.Type})
	}
	return out
}

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// scalar is the text of a plain value; a missing one has none.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// want names a type for people.
func want(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "a mapping with the fields of a " + strings.ToLower(t.Name())
	case reflect.Map:
		return "a mapping"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

func found(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	}
	return "a text"
}
