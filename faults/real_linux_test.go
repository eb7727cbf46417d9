package faults_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/internal/mono"
	"github.com/unwedge/unwedge/internal/proc"
)

// Each fault against the real fake, a real process on real pipes: the injection does what its title says, as the other side
// sees it, and after the lift the next life is healthy. The tests play the client.

// played is a fault on a world with a life that has served.
type played struct {
	*world
	g     *WithT
	guard *faults.Guard
	first *life
}

func play(t *testing.T, id string) played {
	t.Helper()
	f, ok := faults.ByID(id)
	if !ok || f.What().ID != id {
		t.Fatalf("no fault %s", id)
	}
	w := newWorld(t, f.What().Rules)
	p := played{world: w, g: NewWithT(t), guard: faults.NewGuard(f, w), first: w.baseline()}
	p.since = mono.Now()
	return p
}

func (p played) inject() {
	p.t.Helper()
	p.g.Expect(p.guard.Inject(p.ctx)).To(Succeed())
}

func (p played) observe() {
	p.t.Helper()
	evidence, err := p.guard.Observed(p.ctx)
	p.g.Expect(err).NotTo(HaveOccurred())
	p.t.Log(evidence)
}

// lift ends the fault and shows that a new life is healthy.
func (p played) lift() {
	p.t.Helper()
	p.g.Expect(p.guard.Lift(p.ctx)).To(Succeed())
	p.g.Expect(p.guard.Lifted(p.ctx)).To(Succeed())
	next := p.start().handshake()
	for _, nonce := range []string{"after-1", "after-2"} {
		next.serves(nonce)
	}
	p.g.Expect(next.running()).To(BeTrue())
}

func TestChildDiesIdle(t *testing.T) {
	for id, status := range map[string]string{
		"child-dies-idle/sigkill": "signal killed",
		"child-dies-idle/exit0":   "exit 0",
		"child-dies-idle/exit1":   "exit 1",
	} {
		t.Run(id, func(t *testing.T) {
			p := play(t, id)
			p.inject()
			p.observe()
			p.g.Expect(p.first.exitStatus()).To(Equal(status))
			p.lift()
		})
	}
}

func TestChildKilledMidCall(t *testing.T) {
	for _, f := range faults.OfClass("child-killed-mid-call") {
		id := f.What().ID
		t.Run(id, func(t *testing.T) {
			status := map[string]string{
				"exit0": "exit 0", "exit1": "exit 1", "sigkill": "signal killed", "segv": "signal segmentation fault",
			}
			p := play(t, id)
			p.inject()
			p.first.call("effect", "once")
			p.observe()
			how, when, _ := strings.Cut(strings.TrimPrefix(id, "child-killed-mid-call/"), "-")
			p.g.Expect(p.first.exitStatus()).To(Equal(status[how]))
			p.g.Expect(p.first.stdout.SetReadDeadline(time.Now().Add(bound))).To(Succeed())
			rest, err := p.first.out.ReadString('\n')
			p.g.Expect(rest).To(BeEmpty(), "the call was answered")
			p.g.Expect(err).To(HaveOccurred())
			var ran []string
			for _, e := range p.journalled(journal.Executed) {
				ran = append(ran, e.Nonce)
			}
			p.g.Expect(ran).To(ContainElement("base-1"))
			if when == "after-effect" {
				p.g.Expect(ran).To(ContainElement("once"))
			} else {
				p.g.Expect(ran).NotTo(ContainElement("once"))
			}
			// While the fault is on, a life that did not serve the baseline is healthy: a resent call could succeed.
			p.start().handshake().serves("meanwhile")
			p.lift()
		})
	}
}

func TestCrashLoopAtStart(t *testing.T) {
	p := play(t, "crash-loop/at-start")
	p.inject()
	p.observe()
	p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))
	for range 3 {
		p.g.Expect(p.start().exitStatus()).To(Equal("exit 1"))
	}
	p.lift()
}

func TestCrashLoopAfterInitialize(t *testing.T) {
	p := play(t, "crash-loop/after-initialize")
	p.inject()
	p.observe()
	p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))

	legacy := p.start().handshake() // the handshake is answered, the notification after it is fatal
	p.g.Expect(legacy.exitStatus()).To(Equal("exit 1"))

	const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	modern := p.start()
	modern.request("server/discover", meta)
	modern.answer()
	p.g.Expect(modern.running()).To(BeTrue())
	modern.request("tools/list", meta)
	p.g.Expect(modern.exitStatus()).To(Equal("exit 1"))
	p.lift()
}

func TestGrandchildHoldsPipe(t *testing.T) {
	p := play(t, "grandchild-holds-pipe")
	p.inject()
	p.first.call("effect", "x")
	p.observe()
	p.g.Expect(p.first.exitStatus()).To(Equal("exit 0"))

	children := p.journalled(journal.Child)
	p.g.Expect(children).To(HaveLen(1))
	p.g.Expect(proc.Alive(children[0].Child, children[0].ChildStart)).To(BeTrue())
	// Both pipes are still open on the other side: reading them runs into a deadline and not into end of file.
	for _, f := range []*os.File{p.first.stdout, p.first.stderr} {
		p.g.Expect(f.SetReadDeadline(time.Now().Add(50 * time.Millisecond))).To(Succeed())
		_, err := f.Read(make([]byte, 1))
		p.g.Expect(err).To(MatchError(os.ErrDeadlineExceeded))
	}
	p.lift()
}

func TestChildStopsReadingStdin(t *testing.T) {
	p := play(t, "child-stops-reading-stdin")
	p.inject()
	p.observe()
	// More than any pipe holds by default cannot be written any more.
	p.g.Expect(p.first.stdin.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))).To(Succeed())
	n, err := p.first.stdin.Write(bytes.Repeat([]byte{' '}, 1<<20))
	p.g.Expect(err).To(MatchError(os.ErrDeadlineExceeded))
	p.g.Expect(n).To(BeNumerically("<=", 64<<10), "only the pipe took it, not the process")
	p.g.Expect(p.first.running()).To(BeTrue())
	p.lift()
}

func TestChildStoppedUntilContinued(t *testing.T) {
	p := play(t, "child-stopped/until-continued")
	p.inject()
	p.observe()
	p.g.Expect(proc.State(p.first.proc.Pid)).To(Equal(byte('T')))
	p.first.call("echo", "frozen")
	p.g.Expect(p.guard.Lift(p.ctx)).To(Succeed())
	p.g.Expect(p.guard.Lifted(p.ctx)).To(Succeed())
	p.g.Expect(p.first.answer()).To(Equal("frozen"))
}

func TestChildStoppedForGood(t *testing.T) {
	p := play(t, "child-stopped/for-good")
	p.inject()
	p.observe()
	p.lift()
	p.g.Expect(proc.State(p.first.proc.Pid)).To(Equal(byte('T')), "the lift leaves this life as it is")
}

// noises is what each variant writes in front of an answer, as the client reads it.
var noises = map[string]string{
	"log-line":         "2026-01-02T03:04:05Z INFO handling request\nWARN: cache is cold\n",
	"blank-lines-crlf": "\n\r\n   \n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"ends in CRLF\"}}\r\n",
	"json-no-rpc":      "{\"level\":\"info\",\"msg\":\"handling request\"}\n42\n\"ready\"\nnull\n[]\n{}\n",
	"bom":              "\ufeff",
	"glued":            "Loading model ... ",
}

func TestStdoutNoise(t *testing.T) {
	for variant, want := range noises {
		t.Run(variant, func(t *testing.T) {
			p := play(t, "stdout-noise/"+variant)
			p.inject()
			p.first.call("echo", "noisy")
			p.observe()
			got := make([]byte, len(want))
			for i := range got { // through the reader that may hold bytes already
				b, err := p.first.out.ReadByte()
				p.g.Expect(err).NotTo(HaveOccurred())
				got[i] = b
			}
			p.g.Expect(string(got)).To(Equal(want))
			p.g.Expect(p.first.answer()).To(Equal("noisy"), "the frame stands right behind it")
			p.lift()
			p.first.serves("quiet again")
		})
	}
}

func TestStdoutNoiseBanner(t *testing.T) {
	p := play(t, "stdout-noise/banner")
	p.inject()
	p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))
	second := p.start()
	p.observe()
	for _, want := range []string{"Example MCP server", "Downloading model", "Listening on stdio"} {
		p.g.Expect(second.line()).To(ContainSubstring(want))
	}
	second.handshake().serves("behind the banner")
	p.lift()
}

func TestStderrPipeFull(t *testing.T) {
	for variant, bytesOf := range map[string]int{"64k": 64<<10 + 1, "256k": 256 << 10, "10m": 10 << 20, "no-newline": 256 << 10} {
		t.Run(variant, func(t *testing.T) {
			p := play(t, "stderr-pipe-full/"+variant)
			p.inject()
			p.first.call("echo", "flooded")
			p.observe()
			for _, e := range p.journalled(journal.Replied) {
				p.g.Expect(e.Nonce).NotTo(Equal("flooded"), "it was answered although nobody reads stderr")
			}
			flood := readN(t, p.first.stderr, bytesOf)
			p.g.Expect(bytes.ContainsRune(flood, '\n')).To(Equal(variant != "no-newline"))
			p.g.Expect(p.first.answer()).To(Equal("flooded"))
			p.g.Expect(p.first.stderr.SetReadDeadline(time.Now().Add(20 * time.Millisecond))).To(Succeed())
			_, err := p.first.stderr.Read(make([]byte, 1))
			p.g.Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeTrue(), "not one byte more: %v", err)
			p.lift()
		})
	}
}

func TestStderrPipeFullBeforeInit(t *testing.T) {
	p := play(t, "stderr-pipe-full/before-init")
	p.inject()
	p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))
	second := p.start()
	p.observe()
	second.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}`)
	p.g.Expect(p.journalled(journal.Replied)).To(HaveEach(HaveField("Life", 1)), "the flood comes before the handshake")
	readN(t, second.stderr, 256<<10)
	second.answer()
	p.lift()
}

// Rules sleep in the baseline: nothing of the fault shows before it is injected.
func TestNothingHappensBeforeTheInjection(t *testing.T) {
	for _, f := range faults.Catalogue() {
		i := f.What()
		if i.Transport != faults.Stdio || len(i.Rules) == 0 {
			continue
		}
		t.Run(i.ID, func(t *testing.T) {
			w := newWorld(t, i.Rules)
			l := w.baseline()
			l.serves("still fine")
			w.start().handshake().serves("a second life too")
			g := NewWithT(t)
			g.Expect(w.journalled(journal.Rule)).To(BeEmpty())
			g.Expect(w.dir.Phase()).To(Equal(script.Baseline))
		})
	}
}
