package faults_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
)

// What each class asks of its site, in order, from Inject to Lifted. The effects themselves are proved on real
// processes and wires elsewhere; here it is the order that counts (a phase set after the kill would let a healthy life through).
var asks = map[string]string{
	"child-dies-idle/again-in-recovery":         atTheStart,
	"child-dies-idle/down-for-three-starts":     atTheStart,
	"child-exits-before-init":                   atTheStart,
	"exits-after-initialize":                    atTheStart,
	"child-never-speaks":                        atTheStart,
	"slow-initialize":                           atTheStart,
	"grandchild-survives-kill/wrapper-killed":   "do ignore_eof; do ignore_term; do kill_launcher",
	"grandchild-survives-kill/hung":             "do ignore_eof; do ignore_term; do hang",
	"grandchild-survives-kill/failed-start":     atTheStart,
	"wrapper-needs-eof-first/hung":              "do hang",
	"wrapper-needs-eof-first/failed-start":      atTheStart,
	"healthy-child-killed":                      inACall,
	"respawn-without-reap/stdout-closed":        "phase fault; do lock; do ignore_eof; do ignore_term; do close_stdout",
	"respawn-without-reap/stdin-closed":         "phase fault; do lock; do ignore_eof; do ignore_term; do close_stdin",
	"respawn-without-reap/hung":                 "phase fault; do lock; do ignore_eof; do ignore_term; do hang",
	"orphan-after-client-death/heeds-eof":       "phase fault; do ignore_term; phase healed",
	"orphan-after-client-death/ignores-eof":     "phase fault; do ignore_eof; phase healed",
	"orphan-after-client-death/ends-by-force":   "phase fault; do ignore_eof; do ignore_term; phase healed",
	"orphan-after-client-death/floods-stdout":   "phase fault; do ignore_term; phase healed",
	"probe-spawn-leaks":                         "phase fault; do ignore_eof; do ignore_term; phase healed",
	"cancel-corrupts-teardown/in-connect":       atTheStart,
	"cancel-corrupts-teardown/dies-of-cancel":   inACall,
	"cancel-corrupts-teardown/dies-in-teardown": "phase fault; do hang; phase healed",
	"stdout-invalid-utf8":                       inACall,
	"stdout-huge-line":                          inACall,
	"stdout-endless-or-partial-line":            inACall,
	"stdin-epipe/idle":                          "do close_stdin",
	"stdin-epipe/in-notification":               inACall,
	"era-fallback":                              atTheStart,
	"era-fallback/upgraded":                     "phase fault; signal killed to life 1",
	"era-fallback/downgraded-exits":             "phase fault; signal killed to life 1",
	"era-fallback/downgraded":                   "phase fault; signal killed to life 1",
	"child-dies-idle/sigkill":                   "signal killed to life 1",
	"child-dies-idle/exit0":                     "do exit 0",
	"child-dies-idle/exit1":                     "do exit 1",
	"child-killed-mid-call":                     "phase fault; phase healed",
	"crash-loop":                                "phase fault; signal killed to life 1; phase healed",
	"grandchild-holds-pipe":                     "phase fault; phase healed",
	"child-stops-reading-stdin":                 "do deaf",
	"child-stopped/until-continued":             "signal stopped (signal) to life 1; signal continued to life 1",
	"child-stopped/for-good":                    "signal stopped (signal) to life 1",
	"stdout-noise/banner":                       "phase fault; signal killed to life 1; phase healed",
	"stdout-noise":                              "phase fault; phase healed",
	"stderr-pipe-full/before-init":              "phase fault; signal killed to life 1; phase healed",
	"stderr-pipe-full":                          "phase fault; phase healed",
	"breaker-stuck-open":                        inACall,
	"breaker-probe-dead-transport":              inACall,
	"breaker-probe-abandoned":                   inACall,
	"breaker-counts-tool-errors":                inACall,
	"retry-budget-then-dead/outage":             atTheStart,
	"retry-budget-then-dead/blips":              inACall,
	"server-down-at-startup":                    inACall, // of no life: the first start meets it
	"one-timeout-kills-server":                  inACall,
	"reconnect-storm":                           atTheStart,
	"reconnect-storm/dies-in-every-call":        inACall,
	"all-links-drop-together":                   "signal killed to life 1",
	"leak-on-failed-connect":                    atTheStart,
	"leak-per-session":                          inACall,
	"child-ignores-stop":                        inACall,
	"child-ignores-stop/hangs-as-well":          "phase fault",
	"close-with-pending":                        inACall,
	"close-with-pending/connects":               atTheStart,
	"host-cannot-exit/dead":                     atTheStart,
	"host-cannot-exit/silent":                   inACall,
	"host-cannot-exit/frozen":                   "signal stopped (signal) to life 1",
	"tools-missing-after-revival":               atTheStart,
	"phantom-tools":                             atTheStart,
	"stale-tools-after-restart":                 atTheStart,
	"list-changed-storm":                        inACall,
	"server-hangs-mid-call/after-some":          "phase fault",
	"server-hangs-mid-call":                     inACall,
	"progress-and-deadline":                     inACall,
	"cancel-race":                               inACall,
	"wrong-or-duplicate-id":                     inACall,
	"ping-trouble":                              inACall,
	"replay-non-idempotent":                     inACall,
	"concurrent-callers-wedge":                  inACall,
	"http-idle-silent-drop":                     "vanish",
	"http-401-window":                           "phase fault; phase healed",
}

const (
	atTheStart = "phase fault; signal killed to life 1; phase healed"
	inACall    = "phase fault; phase healed"
)

// deadly are faults whose rule is the end of the life that it meets.
func deadly(i faults.Info) bool {
	return strings.HasPrefix(i.Class, "child-killed") || i.Class == "grandchild-holds-pipe" ||
		strings.HasSuffix(i.ID, "-then-exit") || i.ID == "cancel-corrupts-teardown/dies-of-cancel" ||
		i.Class == "breaker-probe-dead-transport" || strings.HasSuffix(i.ID, "/dies-in-every-call") ||
		i.ID == "retry-budget-then-dead/blips" || i.Class == "leak-per-session" ||
		i.Class == "replay-non-idempotent" || strings.HasPrefix(i.ID, "concurrent-callers-wedge/death")
}

func TestWhatEachFaultAsksOfItsSite(t *testing.T) {
	for _, f := range faults.Catalogue() {
		i := f.What()
		t.Run(i.ID, func(t *testing.T) {
			g := NewWithT(t)
			site := newFakeSite()
			site.wire = fakeWire{site}
			guard := faults.NewGuard(f, site)
			ctx := context.Background()

			g.Expect(guard.Inject(ctx)).To(Succeed())
			// The world then does what the fault waits for.
			site.entries = append(site.entries,
				journal.Entry{Kind: journal.Rule, Rule: i.ID, Pid: life1.Pid, Start: life1.Start, Life: 1, Method: "tools/call", Tool: "effect"},
				journal.Entry{Kind: journal.PhaseSet, Phase: string(script.Faulty), Pid: life1.Pid, Start: life1.Start, Life: 1},
				journal.Entry{Kind: journal.Wire, Bytes: 120})
			if deadly(i) {
				site.gone[1] = true
			}
			evidence, err := guard.Observed(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(evidence).NotTo(BeEmpty())
			g.Expect(evidence).NotTo(ContainSubstring("\n"))
			g.Expect(guard.Lift(ctx)).To(Succeed())
			g.Expect(guard.Lifted(ctx)).To(Succeed())

			want, ok := asks[i.ID]
			if !ok {
				want = asks[i.Class]
			}
			g.Expect(strings.Join(site.did, "; ")).To(Equal(want))
		})
	}
}

// A fault that has not taken effect must not say that it has: else a target would be accused over nothing.
func TestNothingIsObservedWhereNothingHappened(t *testing.T) {
	for _, f := range faults.Catalogue() {
		i := f.What()
		t.Run(i.ID, func(t *testing.T) {
			g := NewWithT(t)
			site := newFakeSite()
			site.wire = fakeWire{site}
			ctx := context.Background()
			g.Expect(f.Inject(ctx, site)).To(Succeed())
			site.gone, site.stopped, site.entries = map[int]bool{}, map[int]bool{}, nil
			_, err := f.Observed(ctx, site)
			g.Expect(err).To(MatchError(errNever))
		})
	}
}

func TestFailuresOfTheSiteAreNotSwallowed(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range faults.Catalogue() {
		t.Run(f.What().ID, func(t *testing.T) {
			site := newFakeSite()
			site.wire = fakeWire{site}
			site.fail = broken
			NewWithT(t).Expect(f.Inject(context.Background(), site)).To(MatchError(broken))
		})
	}
}

// The target may have ended the process before the fault gets to it.
func TestADeadProcessIsAsGood(t *testing.T) {
	f, _ := faults.ByID("child-stopped/until-continued")
	site := newFakeSite()
	ctx := context.Background()
	g := NewWithT(t)
	g.Expect(f.Inject(ctx, site)).To(Succeed())
	site.gone[1], site.fail = true, faultsDone{}
	g.Expect(f.Lift(ctx, site)).To(Succeed())
	g.Expect(f.Lifted(ctx, site)).To(Succeed())
}

// faultsDone is an error that wraps os.ErrProcessDone, as a site's may.
type faultsDone struct{}

func (faultsDone) Error() string { return "signalling life 1: it is gone" }
func (faultsDone) Unwrap() error { return os.ErrProcessDone }

func TestAWireFaultNeedsAWire(t *testing.T) {
	f, _ := faults.ByID("http-idle-silent-drop")
	NewWithT(t).Expect(f.Inject(context.Background(), newFakeSite())).To(MatchError(ContainSubstring("proxy")))
}
