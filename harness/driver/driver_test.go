package driver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// fakeTarget answers "echo" at once and lets "wait" hang until it is released or its context ends.
type fakeTarget struct {
	release chan struct{}
	entered chan string
	emit    func(Event)

	mu     sync.Mutex
	closes int
}

func newFakeTarget() *fakeTarget {
	return &fakeTarget{release: make(chan struct{}), entered: make(chan string, 10)}
}

func (f *fakeTarget) EmitTo(emit func(Event)) { f.emit = emit }

func (f *fakeTarget) Configure(_ context.Context, c Config) (*Info, *Error) {
	for _, s := range c.Servers {
		f.emit(Event{Server: s.Name, Kind: "ready"})
	}
	return &Info{Name: "fake", Version: "1", Supports: []string{"events"}}, nil
}

func (f *fakeTarget) List(context.Context) ([]Tool, *Error) {
	return []Tool{{Server: "a", Name: "echo"}}, nil
}

func (f *fakeTarget) Call(ctx context.Context, server, tool string, args json.RawMessage) (*Result, *Error) {
	f.entered <- tool
	if tool == "wait" {
		select {
		case <-f.release:
		case <-ctx.Done():
			return nil, &Error{Kind: KindCancelled, Message: ctx.Err().Error(), Outcome: OutcomeUnknown}
		}
	}
	return &Result{Text: string(args)}, nil
}

func (f *fakeTarget) Close(context.Context) *Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes++
	return nil
}

func (f *fakeTarget) closed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closes
}

// pair is a target under Serve with a client at its other end.
type pair struct {
	*Client
	target *fakeTarget
	stdin  *io.PipeWriter
	events chan Event
	served chan error
}

func start(t *testing.T) *pair {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pair{target: newFakeTarget(), stdin: inW, events: make(chan Event, 10), served: make(chan error, 1)}
	go func() {
		err := Serve(context.Background(), inR, outW, p.target)
		inR.Close()
		outW.Close()
		p.served <- err
	}()
	p.Client = NewClient(inW, outR, WithEvents(func(e Event) { p.events <- e }))
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return p
}

func (p *pair) configure(t *testing.T) {
	t.Helper()
	r, err := p.Do(t.Context(), Request{Op: OpConfigure, Config: &Config{Servers: []Server{{Name: "a"}}}})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.OK).To(BeTrue())
	g.Expect(r.Info.Protocol).To(Equal(Version))
	g.Expect(<-p.events).To(Equal(Event{Server: "a", Kind: "ready"}))
}

func TestRoundTrip(t *testing.T) {
	g := NewWithT(t)
	p := start(t)
	p.configure(t)

	r, err := p.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Tools).To(HaveLen(1))

	r, err = p.Do(t.Context(), Request{Op: OpCall, Server: "a", Tool: "echo", Args: json.RawMessage(`{"n":"1"}`)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Result.Text).To(Equal(`{"n":"1"}`))

	r, err = p.Do(t.Context(), Request{Op: OpReconnect, Server: "a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.OK).To(BeFalse())
	g.Expect(r.Error.Kind).To(Equal(KindOther))

	r, err = p.Do(t.Context(), Request{Op: OpClose})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.OK).To(BeTrue())
	g.Expect(<-p.served).NotTo(HaveOccurred())
	g.Expect(p.target.closed()).To(Equal(1))

	_, err = p.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).To(MatchError(ErrTargetGone))
}

func TestCallsOverlapAndTimeoutReachesTheHandler(t *testing.T) {
	g := NewWithT(t)
	p := start(t)
	p.configure(t)

	slow := make(chan Response, 1)
	go func() {
		r, _ := p.Do(context.Background(), Request{Op: OpCall, Server: "a", Tool: "wait"})
		slow <- r
	}()
	g.Expect(<-p.target.entered).To(Equal("wait"))

	r, err := p.Do(t.Context(), Request{Op: OpCall, Server: "a", Tool: "echo"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.OK).To(BeTrue())

	r, err = p.Do(t.Context(), Request{Op: OpCall, Server: "a", Tool: "wait", TimeoutMS: 1})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Error.Kind).To(Equal(KindCancelled))

	close(p.target.release)
	g.Expect((<-slow).OK).To(BeTrue())
}

func TestManyConcurrentCallsGetTheirOwnAnswers(t *testing.T) {
	p := start(t)
	p.configure(t)
	go func() {
		for range p.target.entered {
		}
	}()
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			args := fmt.Sprintf(`{"n":%d}`, i)
			r, err := p.Do(context.Background(), Request{Op: OpCall, Server: "a", Tool: "echo", Args: json.RawMessage(args)})
			if err != nil || r.Result == nil || r.Result.Text != args {
				t.Errorf("call %d: %+v, %v", i, r, err)
			}
		}()
	}
	wg.Wait()
}

func TestGarbageIsAnsweredAndCounted(t *testing.T) {
	g := NewWithT(t)
	p := start(t)
	if _, err := io.WriteString(p.stdin, "hello\n\n{\"id\":\"x\"}\n"); err != nil {
		t.Fatal(err)
	}
	p.configure(t)
	count, last := p.Noise()
	g.Expect(count).To(Equal(2))
	g.Expect(last[0]).To(ContainSubstring("input line 1 is not a request"))
	g.Expect(last[0]).To(ContainSubstring("hello"))
	g.Expect(last[1]).To(ContainSubstring("input line 3"))
}

func TestOpsBeforeConfigureAreRefused(t *testing.T) {
	g := NewWithT(t)
	p := start(t)
	r, err := p.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Error.Kind).To(Equal(KindProtocol))
	p.configure(t)
	r, err = p.Do(t.Context(), Request{Op: OpConfigure, Config: &Config{}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Error.Message).To(ContainSubstring("already configured"))
}

func TestEndOfInputMidCallClosesAndAnswersTheCall(t *testing.T) {
	g := NewWithT(t)
	p := start(t)
	p.configure(t)
	got := make(chan Response, 1)
	go func() {
		r, _ := p.Do(context.Background(), Request{Op: OpCall, Server: "a", Tool: "wait"})
		got <- r
	}()
	<-p.target.entered
	g.Expect(p.CloseInput()).To(Succeed())
	g.Expect((<-got).Error.Kind).To(Equal(KindCancelled))
	g.Expect(<-p.served).NotTo(HaveOccurred())
	g.Expect(p.target.closed()).To(Equal(1))
}

// An event that comes too late does not follow the answer to "close".
func TestTheAnswerToCloseIsTheLastLine(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	target := newFakeTarget()
	g.Expect(Serve(t.Context(), strings.NewReader(`{"id":1,"op":"close"}`+"\n"), &out, target)).To(Succeed())
	target.emit(Event{Server: "a", Kind: "late"})
	g.Expect(out.String()).To(Equal(`{"id":1,"ok":true}` + "\n"))
}

func TestServeEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, w := io.Pipe()
	defer w.Close()
	target := newFakeTarget()
	g.Expect(Serve(ctx, in, io.Discard, target)).To(MatchError(context.Canceled))
	g.Expect(target.closed()).To(Equal(1))
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestServeEndsWhenNobodyCanBeWrittenTo(t *testing.T) {
	g := NewWithT(t)
	in, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "nonsense\n")
	target := newFakeTarget()
	g.Expect(Serve(t.Context(), in, brokenWriter{}, target)).To(MatchError(io.ErrClosedPipe))
	g.Expect(target.closed()).To(Equal(1))
}

func TestClientSurvivesNoiseAndSaysItWhenTheTargetGoes(t *testing.T) {
	g := NewWithT(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := NewClient(inW, outR)
	go func() {
		lines := bufio.NewScanner(inR)
		lines.Scan()
		io.WriteString(outW, "starting up...\n\x1b[31mred\x1b[0m\n{}\n[1,2]\n{\"id\":99,\"ok\":true}\n{\"id\":1,\"ok\":true}\n")
		lines.Scan()
		io.WriteString(outW, "panic: boom\n")
		outW.Close()
	}()
	r, err := c.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.OK).To(BeTrue())
	n, _ := c.Noise()
	g.Expect(n).To(Equal(4))

	_, err = c.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).To(MatchError(ErrTargetGone))
	g.Expect(err.Error()).To(ContainSubstring("panic: boom"))
	gone, ok := errors.AsType[*GoneError](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(gone.Cause).NotTo(HaveOccurred())
	inR.Close()
}

func TestClientNeverBlocksOnATargetThatDoesNotRead(t *testing.T) {
	g := NewWithT(t)
	inR, inW := io.Pipe() // nobody reads
	outR, outW := io.Pipe()
	c := NewClient(inW, outR)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	for range queueLength + 2 { // past the length of the queue
		_, err := c.Do(ctx, Request{Op: OpList})
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
	}
	result := make(chan error, 1)
	go func() {
		_, err := c.Do(context.Background(), Request{Op: OpList})
		result <- err
	}()
	outW.Close()
	g.Expect(<-result).To(MatchError(ErrTargetGone))
	inR.Close()
}

func TestClosedInputFailsNewRequestsButNotThoseUnderWay(t *testing.T) {
	g := NewWithT(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := NewClient(inW, outR)
	first := make(chan Response, 1)
	go func() {
		r, _ := c.Do(context.Background(), Request{Op: OpList})
		first <- r
	}()
	bufio.NewScanner(inR).Scan()
	inR.Close()
	_, err := c.Do(t.Context(), Request{Op: OpList})
	g.Expect(err).To(MatchError(ErrTargetGone))
	g.Expect(err.Error()).To(ContainSubstring("write request"))
	io.WriteString(outW, `{"id":1,"ok":true}`+"\n")
	g.Expect((<-first).OK).To(BeTrue())
	outW.Close()
}

func TestLineReaderSkipsALineOverTheLimit(t *testing.T) {
	g := NewWithT(t)
	l := newLineReader(strings.NewReader("ok\r\n" + strings.Repeat("x", 200<<10) + "\nlast"))
	l.max = 100 << 10
	line, err := l.next()
	g.Expect(string(line), err).To(Equal("ok"))
	_, err = l.next()
	g.Expect(err).To(MatchError(errLineTooLong))
	line, err = l.next()
	g.Expect(string(line), err).To(Equal("last"))
	_, err = l.next()
	g.Expect(err).To(MatchError(io.EOF))
}
