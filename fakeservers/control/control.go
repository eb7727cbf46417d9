// Package control is the loopback command channel of a live fake: the lab changes its phase or lets it act now, and knows
// when the fake has understood. Each life listens on its own port of 127.0.0.1 and writes address and token into the
// state folder (mode 0600), so only who can read the folder can command.
//
// One connection carries one command, a JSON line, and one answer. Only the standard library is imported.
package control

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
)

// ErrGone says that nobody listens: that life is dead, or never opened its channel.
var ErrGone = errors.New("no live fake listens")

// RefusedError says that the fake understood the command and could not do it.
type RefusedError struct {
	Life   int
	Reason string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("life %d refused: %s", e.Life, e.Reason) }

// Command is one order. Set Phase, or Do, or both (the phase changes first).
type Command struct {
	Phase script.Phase   `json:"phase,omitempty"`
	Do    *script.Action `json:"do,omitempty"`
}

// String is the command as the journal's Ack entries name it.
func (c Command) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

const (
	maxLine  = 1 << 20          // a command is a script action; larger ones are no commands
	exchange = 10 * time.Second // a fake answers in microseconds; longer means it is stopped
)

type request struct {
	Token string `json:"token"`
	Command
}

type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Stranger: the token belongs to another fake, which got the port after the addressed one died.
	Stranger bool `json:"stranger,omitempty"`
}

type address struct {
	Addr  string `json:"addr"`
	Token string `json:"token"`
}

// Send gives a command to a life and returns after its acknowledgement, which the fake also journals: from then on it acts by
// the command for everything it reads. ErrGone when nobody listens or the fake died before it answered; a stopped fake answers
// when it is continued, so bound ctx.
func Send(ctx context.Context, d *state.Dir, life int, c Command) error {
	b, err := os.ReadFile(d.File(fileFor(life)))
	if err != nil {
		return fmt.Errorf("control of life %d: %w", life, ErrGone)
	}
	var a address
	if err := json.Unmarshal(b, &a); err != nil {
		return fmt.Errorf("control of life %d: %w", life, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.Addr)
	if err != nil {
		return gone(ctx, life, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	line, err := json.Marshal(request{Token: a.Token, Command: c})
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return gone(ctx, life, err)
	}
	var ans answer
	if err := json.NewDecoder(io.LimitReader(conn, maxLine)).Decode(&ans); err != nil {
		return gone(ctx, life, err)
	}
	if ans.Stranger {
		return fmt.Errorf("control of life %d: %w", life, ErrGone)
	}
	if !ans.OK {
		return &RefusedError{Life: life, Reason: ans.Error}
	}
	return nil
}

// gone tells a dead fake from a caller who gave up.
func gone(ctx context.Context, life int, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("control of life %d: %w", life, ctx.Err())
	}
	return fmt.Errorf("control of life %d: %w (%w)", life, ErrGone, err)
}

// Handler does a command. It calls ack when the command is about to take effect and cannot fail any more: after ack the
// sender is told so. A handler that returns nil without calling ack acknowledges by returning. An action that
// ends the process acknowledges first, so that the sender is not left with a broken connection.
type Handler func(c Command, ack func()) error

// Serve opens the command channel of a life and handles commands until the returned closer or ctx ends it. Handler runs
// in one goroutine at a time.
func Serve(ctx context.Context, d *state.Dir, life int, h Handler) (io.Closer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	s := &server{l: l, token: rand.Text(), handle: h}
	b, err := json.Marshal(address{Addr: l.Addr().String(), Token: s.token})
	if err == nil {
		err = d.WriteFile(fileFor(life), b)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("control: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	s.stop = stop
	go s.accept()
	return s, nil
}

type server struct {
	l      net.Listener
	token  string
	handle Handler
	stop   func() bool
	mu     sync.Mutex // one command at a time
}

// Close stops listening.
func (s *server) Close() error {
	s.stop()
	return s.l.Close()
}

func (s *server) accept() {
	for {
		c, err := s.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // out of descriptors: do not spin
			continue
		}
		go s.serve(c)
	}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	if c.SetReadDeadline(time.Now().Add(exchange)) != nil {
		return
	}
	var r request
	line, err := bufio.NewReader(io.LimitReader(c, maxLine)).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.Token), []byte(s.token)) != 1 {
		reply(c, answer{Stranger: true})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var once sync.Once
	ack := func() { once.Do(func() { reply(c, answer{OK: true}) }) }
	if err := s.handle(r.Command, ack); err != nil {
		once.Do(func() { reply(c, answer{Error: err.Error()}) })
		return
	}
	ack()
}

// reply answers; a sender that is gone does not matter to the fake.
func reply(c net.Conn, a answer) {
	b, err := json.Marshal(a)
	if err != nil {
		return
	}
	if c.SetWriteDeadline(time.Now().Add(exchange)) == nil {
		_, _ = c.Write(append(b, '\n'))
	}
}

func fileFor(life int) string { return "control-" + strconv.Itoa(life) + ".json" }
