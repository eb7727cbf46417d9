package stdio

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`

// oddities are what servers are known to write between, around and instead of frames. Each ends a session of go-sdk's
// own stdio transport, or makes it miss the next answer, except those marked harmless.
var oddities = map[string]struct {
	text  string
	noise int // lines or parts of lines that are counted
}{
	"banner":                          {"Welcome to the server!\n", 1},
	"ANSI":                            {"\x1b[32mready\x1b[0m\n", 1},
	"byte order mark":                 {"\xef\xbb\xbf" + note + "\n", 0},
	"NUL":                             {"\x00\n", 1},
	"number":                          {"42\n", 1},
	"string":                          {"\"x\"\n", 1},
	"null":                            {"null\n", 1},
	"empty object":                    {"{}\n", 1},
	"empty array":                     {"[]\n", 1},
	"array of junk":                   {"[1,2]\n", 1},
	"jsonrpc 1.0":                     {`{"jsonrpc":"1.0","method":"notifications/message"}` + "\n", 1},
	"error with null id":              {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n", 1},
	"error without id":                {`{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}` + "\n", 1},
	"bool id":                         {`{"jsonrpc":"2.0","id":true,"result":{}}` + "\n", 1},
	"trailing space":                  {note + " \t\n", 0},
	"CRLF (harmless)":                 {note + "\r\n", 0},
	"blank lines (harmless)":          {"\n\n \n", 0},
	"two on one line":                 {note + note + "\n", 0},
	"two with a space":                {note + " " + note + "\n", 0},
	"text glued behind":               {note + "INFO done\n", 1},
	"text glued in front":             {"INFO " + note + "\n", 1},
	"batch of two notifications":      {"[" + note + "," + note + "]\n", 0},
	"batch of one and junk":           {"[" + note + ",7]\n", 0},
	"half a frame":                    {`{"jsonrpc":` + "\n", 1},
	"half a frame and noise":          {`{"jsonrpc":"2.0","met` + "\nlog line\n}\n", 1},
	"log line with a brace":           {"{ not json\n", 1},
	"invalid UTF-8 line":              {"\xff\xfe\n", 1},
	"invalid UTF-8 inside (harmless)": {strings.Replace(note, `"x"`, "\"\xff\"", 1) + "\n", 0},
	"unknown response (harmless)":     {`{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n", 0},
	"string id (harmless)":            {`{"jsonrpc":"2.0","id":"3","result":{}}` + "\n", 0},
	"unknown request (harmless)":      {`{"jsonrpc":"2.0","id":"srv-1","method":"no/such"}` + "\n", 0},
	"pretty-printed (harmless)":       {"{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/message\",\n  \"params\": {\"level\": \"info\", \"data\": \"}\"}\n}\n", 0},
	"deep nesting":                    {strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", 1},
}

func TestSUP10_OddLinesHarmNothing(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			p := start(t, nil)
			s := connect(t, p, version)
			for name, odd := range oddities {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				before := p.Noise()
				_, err := call(ctx, s, "misbehave", map[string]any{"how": "write", "text": odd.text, "nonce": "n"})
				if err != nil {
					t.Fatalf("%s: the call after it: %v %+v", name, err, p.death)
				}
				if got, err := call(ctx, s, "echo", map[string]any{"nonce": name}); err != nil || got != name {
					t.Fatalf("%s: the next call: %q, %v", name, got, err)
				}
				if got := int(p.Noise() - before); got != odd.noise {
					t.Errorf("%s: counted %d times, want %d", name, got, odd.noise)
				}
				cancel()
			}
			if closed(p.Dead()) {
				t.Errorf("the session ended: %+v", p.Death())
			}
		})
	}
}

func TestSUP10_UnreadableAnswersFailTheirCall(t *testing.T) {
	p := start(t, nil)
	s := connect(t, p, eras["legacy"])
	for name, text := range map[string]string{
		"error is a string":    `{"jsonrpc":"2.0","id":{{id}},"error":"boom"}` + "\n",
		"error code is a word": `{"jsonrpc":"2.0","id":{{id}},"error":{"code":"x"}}` + "\n",
		"jsonrpc 1.0":          `{"jsonrpc":"1.0","id":{{id}},"result":{}}` + "\n",
		"no jsonrpc":           `{"id":{{id}},"result":{}}` + "\n",
		"too long":             `{"jsonrpc":"2.0","id":{{id}},"result":{"x":"` + strings.Repeat("y", 1<<20) + "\"}}\n",
		"too long, id second":  `{"id":{{id}},"jsonrpc":"2.0","result":{"x":"` + strings.Repeat("y", 1<<20) + "\"}}\n",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := call(ctx, s, "misbehave", map[string]any{"how": "write", "text": text})
		if as[*FrameError](err) == nil {
			t.Errorf("%s: got %v", name, err)
		}
		if got, err := call(ctx, s, "echo", map[string]any{"nonce": "n"}); got != "n" {
			t.Errorf("%s: the next call: %v", name, err)
		}
		cancel()
	}
	if got, err := call(t.Context(), s, "misbehave", map[string]any{
		"how": "write", "text": "{\n\"jsonrpc\":\"2.0\",\n\"id\":{{id}},\n\"result\":{\"content\":[\n{\"type\":\"text\",\"text\":\"spread\"}]\n}\n}\n",
	}); got != "spread" {
		t.Errorf("an answer over several lines: %q, %v", got, err)
	}
}

func TestSUP10_LinesUpToTheCapArriveWhole(t *testing.T) {
	p := start(t, nil) // the cap is 1 MiB
	s := connect(t, p, eras["modern"])
	for _, n := range []int{64<<10 - 1, 64<<10 + 1, 512 << 10, 1<<20 - 200} {
		got, err := call(t.Context(), s, "big", map[string]any{"nonce": "n", "n": n})
		if err != nil || len(got) != n+1 {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
}

func TestSUP10_ALineWithoutEndEndsTheSession(t *testing.T) {
	p := start(t, func(c *Config) { c.MaxLine = 64 << 10 })
	s := connect(t, p, eras["legacy"])
	hand := make(chan error, 1)
	go func() {
		_, err := call(context.Background(), s, "misbehave", map[string]any{"how": "write", "text": strings.Repeat("z", 1<<20)})
		hand <- err
	}()
	await(t, "death", p.Dead())
	if err := <-hand; err == nil || !strings.Contains(p.Death().What, "does not end") {
		t.Errorf("got %v, %+v", err, p.Death())
	}
	if c := cap(p.conn.lines.buf); c > 256<<10 {
		t.Errorf("buffered %d bytes", c)
	}
}

// FuzzFrames: whatever stands between, a frame on a line of its own is always found, and nothing panics.
func FuzzFrames(f *testing.F) {
	for _, odd := range oddities {
		f.Add([]byte(odd.text))
	}
	f.Fuzz(func(t *testing.T, junk []byte) {
		frames := &frames{noise: func([]byte) {}}
		lines := newLineReader(strings.NewReader(string(junk)+"\n"+`{"jsonrpc":"2.0","id":7,"result":{}}`+"\n"), 1<<16)
		found := false
		for {
			line, tooLong, err := lines.next()
			if err != nil {
				break
			}
			if !tooLong {
				frames.take(line)
			}
		}
		for _, m := range frames.ready {
			if r, ok := m.(*jsonrpc.Response); ok && fmt.Sprint(r.ID.Raw()) == "7" {
				found = true
			}
		}
		if !found {
			t.Errorf("the frame after %q was lost", junk)
		}
	})
}

func TestLineReaderCutsWhereItShould(t *testing.T) {
	text := "short\n" + strings.Repeat("a", 100) + "\n" + "last, no newline"
	for chunk := 1; chunk < 60; chunk++ {
		l := newLineReader(&chunks{text, chunk}, 50)
		l.buf = make([]byte, 0, 8)
		var got []string
		for {
			line, tooLong, err := l.next()
			if err != nil {
				break
			}
			if tooLong {
				line = []byte(fmt.Sprintf("too long: %.3s", line))
			}
			got = append(got, string(line))
		}
		if want := []string{"short", "too long: aaa", "last, no newline"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("chunks of %d: got %q", chunk, got)
		}
	}
}

// chunks reads a text in pieces.
type chunks struct {
	text string
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	n := copy(p, c.text[:min(c.n, len(c.text))])
	c.text = c.text[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
