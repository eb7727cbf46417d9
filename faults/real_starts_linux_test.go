package faults_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/faults"
)

func TestChildExitsBeforeInit(t *testing.T) {
	for _, f := range faults.OfClass("child-exits-before-init") {
		id := f.What().ID
		t.Run(id, func(t *testing.T) {
			p := play(t, id)
			p.inject()
			p.observe()
			p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))
			next := p.start()
			if strings.HasSuffix(id, "question-read") || strings.HasSuffix(id, "exit0") {
				next.request("initialize", `{}`)
			}
			want := map[string]string{"after-50ms": "exit 3", "exit0": "exit 0"}[strings.TrimPrefix(id, "child-exits-before-init/")]
			if want == "" {
				want = "exit 1"
			}
			p.g.Expect(next.exitStatus()).To(Equal(want))
			p.g.Expect(next.stderr.SetReadDeadline(time.Now().Add(bound))).To(Succeed())
			words, err := io.ReadAll(next.stderr)
			p.g.Expect(err).NotTo(HaveOccurred())
			p.g.Expect(string(words)).To(Equal("fatal: cannot open the data base (E4711)\n"))
			p.lift()
		})
	}
}

// The lock goes from a life to the next only by the death of the first.
func TestRespawnWithoutReap(t *testing.T) {
	p := play(t, "respawn-without-reap/stdout-closed")
	p.inject()
	p.observe()
	p.g.Expect(p.start().exitStatus()).To(Equal("exit 1"), "the first life still has the lock")
	p.g.Expect(p.first.running()).To(BeTrue())
	p.g.Expect(p.Signal(p.first.proc, os.Kill)).To(Succeed())
	p.first.exitStatus()
	p.lift()
}

func TestStdoutHugeLine(t *testing.T) {
	for variant, bytes := range map[string]int{"64k": 64<<10 + 1, "1m": 1 << 20, "8m-in-pieces": 8 << 20, "over-cap": 16<<20 + 1} {
		t.Run(variant, func(t *testing.T) {
			p := play(t, "stdout-huge-line/"+variant)
			p.inject()
			p.first.call("echo", "huge")
			text := p.first.answer()
			p.observe()
			p.g.Expect(len(text)).To(Equal(bytes))
			p.g.Expect(strings.HasPrefix(text, "huge") && strings.HasSuffix(text, "huge")).To(BeTrue())
			p.lift()
		})
	}
}

func TestStdoutPartialLine(t *testing.T) {
	for variant, want := range map[string]string{
		"half-frame-then-exit":   `"content":[{"type":"te`,
		"unterminated-then-exit": `"text":"last"}]}}`,
	} {
		t.Run(variant, func(t *testing.T) {
			p := play(t, "stdout-endless-or-partial-line/"+variant)
			p.inject()
			p.first.call("echo", "last")
			p.observe()
			p.g.Expect(p.first.stdout.SetReadDeadline(time.Now().Add(bound))).To(Succeed())
			rest, err := io.ReadAll(p.first.out)
			p.g.Expect(err).NotTo(HaveOccurred())
			p.g.Expect(string(rest)).To(HaveSuffix(want), "no newline, no more")
			p.lift()
		})
	}
}

func TestEraFallbackUpgraded(t *testing.T) {
	p := play(t, "era-fallback/upgraded")
	p.inject()
	p.observe()
	p.g.Expect(p.first.exitStatus()).To(Equal("signal killed"))
	next := p.start()
	next.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}`)
	p.g.Expect(next.line()).To(ContainSubstring(`-32022`), "the legacy handshake is refused from now on")
}
