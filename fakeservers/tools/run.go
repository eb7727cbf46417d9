package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a caller may ask for; beyond them the answer is a tool error. They keep a typo from filling the machine.
const (
	MaxSleep    = 10 * time.Minute // as long as a fake nobody needs may live
	MaxBytes    = 64 << 20         // four times go-sdk's default line limit
	MaxProgress = 100_000
)

// PublicEnv begins the names of environment variables whose value the env tool may tell. Of all others it only says
// whether they are set: a target hands its secrets to a server that way.
const PublicEnv = "UNWEDGE_PUBLIC_"

// Hooks is what a tool needs from the server that runs it. All are optional.
type Hooks struct {
	// Executed is called at the moment the tool has had its effect, before it answers.
	Executed func(nonce string)
	// Progress reports step done of total.
	Progress func(done, total int)
	// Getenv looks up a variable; nil asks the process.
	Getenv func(name string) (string, bool)
}

// Result is what a tool answers.
type Result struct {
	Text    string
	IsError bool
}

// ErrUnknown says that there is no such tool.
type ErrUnknown struct{ Name string }

func (e *ErrUnknown) Error() string { return fmt.Sprintf("unknown tool %q", e.Name) }

type arguments struct {
	Nonce   string  `json:"nonce"`
	Text    string  `json:"text"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	MS      int64   `json:"ms"`
	Bytes   int64   `json:"bytes"`
	N       int64   `json:"n"`
	EveryMS int64   `json:"every_ms"`
	Name    string  `json:"name"`
}

// Nonce returns arguments.nonce of a tools/call when it is a string, else "".
func Nonce(args json.RawMessage) string {
	var a struct {
		Nonce any `json:"nonce"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	s, _ := a.Nonce.(string)
	return s
}

// Run executes a tool. Bad arguments are a Result with IsError, as the protocol wants it; *ErrUnknown is for a name that is no
// tool, and ctx's error for a call that was given up before the tool had its effect.
func Run(ctx context.Context, name string, args json.RawMessage, h Hooks) (Result, error) {
	if !Known(name) {
		return Result{}, &ErrUnknown{name}
	}
	var a arguments
	if len(bytes.TrimSpace(args)) > 0 {
		if err := json.Unmarshal(args, &a); err != nil {
			return bad("arguments of %s: %v", name, err), nil
		}
	}
	if h.Executed == nil {
		h.Executed = func(string) {}
	}
	switch name {
	case "sleep":
		return a.sleep(ctx, h)
	case "progress":
		return a.progress(ctx, h)
	case "big":
		return a.big(h), nil
	case "env":
		return a.env(h), nil
	case "effect":
		if a.Nonce == "" {
			return bad("effect needs a nonce"), nil
		}
	}
	h.Executed(a.Nonce)
	switch name {
	case "add":
		return a.answer(strconv.FormatFloat(a.A+a.B, 'g', -1, 64)), nil
	case "fail":
		r := a.answer("failed as asked")
		r.IsError = true
		return r, nil
	case "effect":
		return Result{Text: a.Nonce}, nil
	}
	return a.answer(a.Text), nil // echo and the spare ones
}

func bad(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// answer begins with the nonce where there is one, so that every answer can be checked for being the caller's own.
func (a arguments) answer(text string) Result {
	switch {
	case a.Nonce == "":
		return Result{Text: text}
	case text == "":
		return Result{Text: a.Nonce}
	}
	return Result{Text: a.Nonce + " " + text}
}

func (a arguments) sleep(ctx context.Context, h Hooks) (Result, error) {
	d := time.Duration(a.MS) * time.Millisecond
	if a.MS < 0 || a.MS > MaxSleep.Milliseconds() {
		return bad("ms must lie between 0 and %d", MaxSleep.Milliseconds()), nil
	}
	if err := wait(ctx, d); err != nil {
		return Result{}, err
	}
	h.Executed(a.Nonce)
	return a.answer(""), nil
}

func (a arguments) progress(ctx context.Context, h Hooks) (Result, error) {
	if a.N < 0 || a.N > MaxProgress {
		return bad("n must lie between 0 and %d", MaxProgress), nil
	}
	if a.EveryMS < 0 || a.EveryMS > MaxSleep.Milliseconds() {
		return bad("every_ms must lie between 0 and %d", MaxSleep.Milliseconds()), nil
	}
	for i := range int(a.N) {
		if err := wait(ctx, time.Duration(a.EveryMS)*time.Millisecond); err != nil {
			return Result{}, err
		}
		if h.Progress != nil {
			h.Progress(i+1, int(a.N))
		}
	}
	h.Executed(a.Nonce)
	return a.answer(""), nil
}

func (a arguments) big(h Hooks) Result {
	if a.Bytes < 0 || a.Bytes > MaxBytes {
		return bad("bytes must lie between 0 and %d", MaxBytes)
	}
	h.Executed(a.Nonce)
	text := a.Nonce
	if fill := int(a.Bytes) - len(text); fill > 0 {
		text += strings.Repeat("x", fill)
	}
	return Result{Text: text}
}

func (a arguments) env(h Hooks) Result {
	get := h.Getenv
	if get == nil {
		get = os.LookupEnv
	}
	h.Executed(a.Nonce)
	v, set := get(a.Name)
	switch {
	case !set:
		return a.answer("unset")
	case strings.HasPrefix(a.Name, PublicEnv):
		return a.answer("set: " + v)
	}
	return a.answer("set")
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
