package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wait is a type that reads itself from text, as script.Duration does.
type wait time.Duration

func (w *wait) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is no duration", b)
	}
	*w = wait(d)
	return nil
}

// server has a short form, as scenario.Server does.
type server struct {
	Transport string `yaml:"transport"`
	Proxy     bool   `yaml:"proxy,omitempty"`
}

func (s *server) UnmarshalYAML(unmarshal func(any) error) error {
	var short string
	if unmarshal(&short) == nil {
		if short != "stdio" && short != "http" {
			return fmt.Errorf("unknown transport %q", short)
		}
		s.Transport = short
		return nil
	}
	type plain server
	return unmarshal((*plain)(s))
}

type stepT struct {
	Call  string         `yaml:"call,omitempty"`
	Times int8           `yaml:"times,omitempty"`
	Delay wait           `yaml:"delay,omitempty"`
	Args  map[string]any `yaml:"args,omitempty"`
	Exit  *int           `yaml:"exit,omitempty"`
}

type common struct {
	Title string `yaml:"title"`
}

type file struct {
	Common  common            `yaml:",inline"`
	Servers map[string]server `yaml:"servers"`
	Steps   []stepT           `yaml:"steps"`
	Fast    bool              `yaml:"fast"`
	Share   float64           `yaml:"share"`
	Skip    string            `yaml:"-"`
}

func TestDecode(t *testing.T) {
	const text = `title: "a text"
servers:
  srv: stdio
  web: {transport: http, proxy: true}
steps:
  - call: srv.echo
    args: {nonce: x, deep: [1, {a: b}]}
  - {times: 3, delay: 50ms, exit: 0}
share: 1
`
	var f file
	if err := Decode("a.yaml", []byte(text), &f); err != nil {
		t.Fatal(err)
	}
	if f.Common.Title != "a text" || f.Servers["srv"].Transport != "stdio" || !f.Servers["web"].Proxy ||
		len(f.Steps) != 2 || f.Steps[1].Delay != wait(50*time.Millisecond) || *f.Steps[1].Exit != 0 || f.Share != 1 {
		t.Fatalf("%+v", f)
	}
}

func TestMistakesAreLocated(t *testing.T) {
	cases := []struct {
		name, text string
		line, col  int
		says       string
		meant      string
	}{
		{"unknown field", "steps:\n  - cal: srv.echo\n", 2, 5, `unknown field "cal"`, "call"},
		{"unknown at the top", "tittle: x\n", 1, 1, "unknown field", "title"},
		{"nothing near", "colour: red\n", 1, 1, `unknown field "colour"`, ""},
		{"in a flow mapping", "steps: [{call: a, tims: 3}]\n", 1, 19, `"tims"`, "times"},
		{"in the long form", "servers:\n  a: {transprt: http}\n", 2, 7, `"transprt"`, "transport"},
		{"short form", "servers:\n  srv: sdtio\n", 2, 8, `unknown transport "sdtio"`, ""},
		{"text for a number", "steps:\n  - times: many\n", 2, 12, "expected a whole number, found a text", ""},
		{"number too big", "steps:\n  - times: 300\n", 2, 12, "300 does not fit", ""},
		{"text for a bool", "fast: yes\n", 1, 7, "expected true or false, found a text", ""},
		{"list for a mapping", "servers: [a]\n", 1, 10, "expected a mapping, found a list", ""},
		{"mapping for a list", "steps:\n  call: x\n", 2, 3, "expected a list, found a mapping", ""},
		{"text for a struct", "steps:\n  - call\n", 2, 5, "found a text", ""},
		{"no value", "fast:\n", 1, 1, "found nothing", ""},
		{"bad duration", "steps:\n  - delay: 5\n", 2, 12, `"5" is no duration`, ""},
		{"list for a duration", "steps:\n  - delay: [5ms]\n", 2, 12, "expected a single value", ""},
		{"duplicate", "title: a\ntitle: b\n", 2, 1, "already defined", ""},
		{"duplicate in a flow mapping", "steps: [{times: 1, times: 2}]\n", 1, 20, "times", ""},
		{"duplicate in args", "steps:\n  - args: {a: 1, a: 2}\n", 2, 18, "a", ""},
		{"alias", "steps:\n  - &a {call: x}\n  - *a\n", 2, 5, "anchors", ""},
		{"merge", "servers:\n  a: {<<: {proxy: true}}\n", 2, 7, "anchors", ""},
		{"tag", "title: !!str x\n", 1, 8, "tags", ""},
		{"second document", "title: a\n---\ntitle: b\n", 3, 1, "second document", ""},
		{"syntax", "title: \"a\n", 1, 8, "", ""},
		{"tab", "steps:\n\t- call: x\n", 2, 1, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f file
			err := Decode("a.yaml", []byte(c.text), &f)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.File != "a.yaml" || e.Line != c.line || e.Column != c.col ||
				!strings.Contains(e.Message, c.says) || e.Suggestion != c.meant {
				t.Fatalf("got %d:%d %q, meant %q; want %d:%d %q, meant %q\n%s",
					e.Line, e.Column, e.Message, e.Suggestion, c.line, c.col, c.says, c.meant, e.Snippet)
			}
			if !strings.HasPrefix(e.Error(), fmt.Sprintf("a.yaml:%d:%d: ", c.line, c.col)) {
				t.Errorf("error text %q", e.Error())
			}
		})
	}
}

func TestAllMistakesInTheOrderOfTheFile(t *testing.T) {
	var f file
	err := Decode("a.yaml", []byte("fst: true\nsteps:\n  - {tims: 1, cal: x}\nshare: x\n"), &f)
	var at []string
	for _, e := range Errors(err) {
		at = append(at, fmt.Sprintf("%d:%d", e.Line, e.Column))
	}
	if got := strings.Join(at, " "); got != "1:1 3:6 3:15 4:8" {
		t.Fatalf("got %s", got)
	}
}

func TestSnippetPointsAtTheColumn(t *testing.T) {
	e := At("a.yaml", []byte("steps:\n  - call: srv.ehco\n"), "steps[0].call", "unknown tool", "echo")
	want := "   2 |   - call: srv.ehco\n     |           ^"
	if e.Snippet != want {
		t.Fatalf("got\n%s\nwant\n%s", e.Snippet, want)
	}
	if e.Error() != `a.yaml:2:11: unknown tool; did you mean "echo"?` {
		t.Fatal(e)
	}
}

func TestLocate(t *testing.T) {
	const text = `servers:
  my.srv:
    transport: stdio
  b: http
steps:
  - call: x
    args:
      deep: [1, {k: v}]
  - {times: 2}
empty:
`
	cases := []struct {
		path      string
		line, col int
	}{
		{"", 1, 1}, {"servers", 2, 3}, {`servers["my.srv"].transport`, 3, 16}, {"servers.b", 4, 6},
		{"servers.b.script.rules[2]", 4, 6}, {"steps[0]", 6, 5}, {"steps[0].call", 6, 11},
		{"steps[0].args.deep[1].k", 8, 21}, {"steps[1].times", 9, 13}, {"steps[1]", 9, 5}, {"steps[7].call", 6, 3},
		{"empty", 10, 1}, {"nowhere", 1, 1}, {"steps[x]", 6, 3}, {`servers["`, 2, 3},
	}
	for _, c := range cases {
		if line, col := Locate([]byte(text), c.path); line != c.line || col != c.col {
			t.Errorf("%q is at %d:%d, want %d:%d", c.path, line, col, c.line, c.col)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"call", "times", "notify", "notify_times", "signal"}
	for word, want := range map[string]string{
		"cal": "call", "Call": "call", "time": "times", "notify_time": "notify_times", "singal": "signal", "zzz": "", "": "",
	} {
		if got := Suggest(word, known); got != want {
			t.Errorf("%q suggests %q, want %q", word, got, want)
		}
	}
}

func TestEmptyAndHostileFiles(t *testing.T) {
	for _, ok := range []string{"", "\n", "# only a remark\n", "---\n", "\ufefftitle: x\n", "title: x\r\nfast: true\r\n"} {
		var f file
		if err := Decode("a.yaml", []byte(ok), &f); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"\x00", strings.Repeat("[", 5000), strings.Repeat("a: {", 200) + strings.Repeat("}", 200),
		strings.Repeat("x", MaxBytes+1), "? [a]\n: b\n", "42",
	} {
		var f file
		if _, ok := errors.AsType[*Error](Decode("a.yaml", []byte(bad), &f)); !ok {
			t.Errorf("%.20q was accepted", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("title: a\nservers: {s: stdio}\nsteps:\n  - {call: x, delay: 5ms, args: {a: [1, 2.5, null]}}\n"))
	f.Add([]byte("steps:\n- call: |\n    a\n    b\n  times: 0x7f\n- &a {exit: 1}\n- *a\n"))
	f.Add([]byte("? [a, b]\n: !!str c\n<<: *x\n%TAG ! tag:\n---\n..."))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v file
		err := Decode("f.yaml", data, &v)
		for _, e := range Errors(err) {
			if e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Fatalf("unlocated: %+v", e)
			}
		}
		if err != nil && len(Errors(err)) == 0 {
			t.Fatalf("untyped: %v", err)
		}
		Locate(data, "steps[0].args.a[1]")
	})
}
