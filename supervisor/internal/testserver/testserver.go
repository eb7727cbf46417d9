// Package testserver is the misbehaving MCP server of the supervisor's own tests: the test binary runs itself again
// as this. It is small on purpose; the scripted fakes of the project live in fakeservers. Only tests import it.
//
// Arguments are key=value:
//
//	era=legacy|modern     answer only that handshake; default both
//	discover=silent|exit  what server/discover does instead of being answered
//	slow=300              milliseconds that it takes for its first answer
//	then=legacy           lives after the first answer only that handshake, and exit when they read server/discover
//	dir=DIR               where lives, effects and lists are recorded, one line each
//	fail=2-4              these lives exit with status 3 before they read anything
//	list=fail             tools/list answers an error
//	mute=initialize       this method is never answered
//	noping=1              ping is an unknown method
//	eof=ignore term=ignore
//	one=1                 one request at a time, like a single-threaded server
//
// Misbehaviour is a tool: see the switch in call.
package testserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type server struct {
	opt    map[string]string
	life   int
	out    sync.Mutex
	hung   atomic.Bool
	listed atomic.Int64
	extra  atomic.Bool // one more tool is served
	unsafe atomic.Bool // echo is no longer declared read-only
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments args   `json:"arguments"`
	} `json:"params"`
}

type args struct {
	Nonce string `json:"nonce"`
	How   string `json:"how"`
	Text  string `json:"text"`
	N     int    `json:"n"`
	MS    int    `json:"ms"`
}

// Main runs the server until its stdin ends.
func Main(argv []string) {
	s := &server{opt: map[string]string{}}
	for _, a := range argv {
		k, v, _ := strings.Cut(a, "=")
		s.opt[k] = v
	}
	s.life = s.record("lives", strconv.Itoa(os.Getpid()))
	if lo, hi, ok := strings.Cut(s.opt["fail"], "-"); ok {
		from, _ := strconv.Atoi(lo)
		to, _ := strconv.Atoi(hi)
		if s.life >= from && s.life <= to {
			fmt.Fprintf(os.Stderr, "life %d refuses to start\n", s.life)
			os.Exit(3)
		}
	}
	if s.opt["then"] != "" && s.life > 1 {
		s.opt["era"], s.opt["discover"] = s.opt["then"], "exit"
	}
	if s.opt["term"] == "ignore" {
		signal.Ignore(syscall.SIGTERM)
	}
	s.serve()
	for s.opt["eof"] == "ignore" {
		time.Sleep(time.Hour)
	}
}

func (s *server) serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil || s.hung.Load() {
			continue
		}
		if r.Method == "tools/call" && r.Params.Name == "deaf" {
			s.record("deaf", fmt.Sprint(s.life))
			select {} // never reads again
		}
		if s.opt["one"] != "" {
			s.handle(r)
		} else {
			go s.handle(r)
		}
	}
}

func (s *server) handle(r request) {
	if r.Method == "" || s.opt["mute"] == r.Method {
		return
	}
	if ms, _ := strconv.Atoi(s.opt["slow"]); r.Method == "server/discover" || r.Method == "initialize" {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	switch r.Method {
	case "server/discover":
		switch {
		case s.opt["discover"] == "exit":
			os.Exit(4)
		case s.opt["discover"] == "silent":
		case s.opt["era"] == "legacy":
			s.fail(r, -32601, "method not found")
		default:
			s.reply(r, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}}`)
		}
	case "initialize":
		if s.opt["era"] == "modern" {
			s.fail(r, -32022, "unsupported protocol version")
			return
		}
		s.reply(r, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}`)
	case "ping":
		if s.opt["noping"] != "" {
			s.fail(r, -32601, "method not found")
			return
		}
		s.reply(r, `{}`)
	case "tools/list":
		s.list(r)
	case "tools/call":
		s.call(r)
	case "subscriptions/listen":
		s.raw(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}` + "\n")
	default:
		if len(r.ID) > 0 {
			s.fail(r, -32601, "method not found")
		}
	}
}

func (s *server) list(r request) {
	s.record("lists", fmt.Sprint(s.life))
	if s.opt["list"] == "fail" || s.opt["list"] == "fail-later" && s.listed.Add(1) > 1 {
		s.fail(r, -32603, "the list is broken")
		return
	}
	tools := []string{fmt.Sprintf(`{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%v}}`, !s.unsafe.Load())}
	for _, name := range []string{"effect", "misbehave", "sleep", "deaf", "big", "lost"} {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	if s.extra.Load() {
		tools = append(tools, `{"name":"extra","inputSchema":{"type":"object"}}`)
	}
	s.reply(r, `{"tools":[`+strings.Join(tools, ",")+`]}`)
}

func (s *server) call(r request) {
	a := r.Params.Arguments
	switch r.Params.Name {
	case "echo":
		if once := s.once(a); once != "" {
			s.die(once)
		}
		s.text(r, a.Nonce)
	case "effect": // how: die before or after the effect
		if a.How == "before" {
			s.die("kill")
		}
		s.record("effects", a.Nonce)
		if a.How == "after" {
			s.die("kill")
		}
		s.text(r, a.Nonce)
	case "sleep":
		time.Sleep(time.Duration(a.MS) * time.Millisecond)
		s.text(r, a.Nonce)
	case "big":
		s.text(r, a.Nonce+strings.Repeat("x", a.N))
	case "lost": // never answered
		s.record("lost", fmt.Sprint(s.life))
	case "misbehave":
		s.misbehave(r, a)
	default:
		s.fail(r, -32602, "no such tool")
	}
}

// once says how to die in the first call that carries a.Text, over all lives.
func (s *server) once(a args) string {
	if a.How == "" || os.Mkdir(filepath.Join(s.opt["dir"], "once-"+a.Text), 0o700) != nil {
		return ""
	}
	return a.How
}

func (s *server) misbehave(r request, a args) {
	switch a.How {
	case "stderr":
		fmt.Fprint(os.Stderr, a.Text)
	case "write": // as it is; {{id}} is the request's
		s.raw(strings.ReplaceAll(a.Text, "{{id}}", string(r.ID)))
		if strings.Contains(a.Text, "{{id}}") {
			return
		}
	case "last-words": // an answer, and the end
		s.text(r, a.Nonce)
		s.die("kill")
	case "hang":
		s.hung.Store(true)
		return
	case "close-stdout":
		os.Stdout.Close()
		return
	case "close-stdin":
		os.Stdin.Close()
	case "grandchild": // that holds our pipes
		c := exec.Command("sleep", "60") //nolint:noctx // it is to outlive us
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		s.text(r, strconv.Itoa(c.Process.Pid))
		return
	case "session-grandchild": // in its own session: nobody's group
		c := exec.Command("sleep", "60") //nolint:noctx // it is to outlive us
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = ownSession()
		if err := c.Start(); err != nil {
			panic(err)
		}
		s.text(r, strconv.Itoa(c.Process.Pid))
		return
	case "changed":
		s.extra.Store(true)
		s.unsafe.Store(a.Text == "unsafe")
		for range a.N {
			s.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		}
	case "error":
		s.fail(r, a.N, a.Text)
		return
	case "is-error":
		s.reply(r, `{"isError":true,"content":[{"type":"text","text":"no"}]}`)
		return
	case "env":
		a.Nonce = os.Getenv(a.Text)
	default:
		s.die(a.How)
	}
	s.text(r, a.Nonce)
}

func (s *server) die(how string) {
	switch how {
	case "exit0":
		os.Exit(0)
	case "exit1":
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		os.Exit(1)
	case "segv": // Go's runtime would make an exit status of it
		err := syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil)
		panic(err)
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Minute)
	}
}

func (s *server) text(r request, text string) {
	b, _ := json.Marshal(text)
	s.reply(r, `{"content":[{"type":"text","text":`+string(b)+`}]}`)
}

func (s *server) reply(r request, result string) {
	s.raw(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + result + "}\n")
}

func (s *server) fail(r request, code int, text string) {
	b, _ := json.Marshal(text)
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", r.ID, code, b))
}

func (s *server) raw(text string) {
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = os.Stdout.WriteString(text) // it may be closed: that is a misbehaviour too
}

// record appends a line to a file and returns the number of its lines.
func (s *server) record(name, line string) int {
	if s.opt["dir"] == "" {
		return 1
	}
	path := filepath.Join(s.opt["dir"], name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, line)
	f.Close()
	return len(Lines(s.opt["dir"], name))
}

// Lines reads what the lives so far have recorded under a name.
func Lines(dir, name string) []string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
