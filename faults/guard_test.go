package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/faults"
)

// stubFault does what its functions say.
type stubFault struct {
	inject, lift, lifted func() error
	observed             func() (string, error)
}

func (f stubFault) What() faults.Info { return faults.Info{ID: "stub"} }
func (f stubFault) Inject(context.Context, faults.Site) error {
	return call(f.inject)
}
func (f stubFault) Observed(context.Context, faults.Site) (string, error) {
	if f.observed == nil {
		return "seen", nil
	}
	return f.observed()
}
func (f stubFault) Lift(context.Context, faults.Site) error   { return call(f.lift) }
func (f stubFault) Lifted(context.Context, faults.Site) error { return call(f.lifted) }

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

// do runs one step by name.
func do(g *faults.Guard, step string) error {
	ctx := context.Background()
	switch step {
	case "inject":
		return g.Inject(ctx)
	case "observed":
		_, err := g.Observed(ctx)
		return err
	case "lift":
		return g.Lift(ctx)
	default:
		return g.Lifted(ctx)
	}
}

var steps = []string{"inject", "observed", "lift", "lifted"}

func TestGuardAllowsTheOneOrder(t *testing.T) {
	g := NewWithT(t)
	guard := faults.NewGuard(stubFault{}, newFakeSite())
	g.Expect(guard.State()).To(Equal(faults.Fresh))
	g.Expect(guard.On()).To(BeFalse())
	for i, want := range []faults.State{faults.Injected, faults.Observed, faults.Lifting, faults.Lifted} {
		g.Expect(do(guard, steps[i])).To(Succeed())
		g.Expect(guard.State()).To(Equal(want))
		g.Expect(guard.On()).To(Equal(i < 2))
	}
}

// Every step from every place of the good order but its own is refused, changes nothing and says what was wrong.
func TestGuardRefusesEveryOtherOrder(t *testing.T) {
	for at := 0; at <= len(steps); at++ {
		for next, step := range steps {
			if next == at {
				continue
			}
			g := NewWithT(t)
			guard := faults.NewGuard(stubFault{}, newFakeSite())
			for _, s := range steps[:at] {
				g.Expect(do(guard, s)).To(Succeed())
			}
			before := guard.State()
			err := do(guard, step)
			order, ok := errors.AsType[*faults.OrderError](err)
			g.Expect(ok).To(BeTrue(), "%s in state %s: %v", step, before, err)
			g.Expect(*order).To(Equal(faults.OrderError{Fault: "stub", Server: "srv", Step: step, State: before}))
			g.Expect(order.Error()).To(ContainSubstring(step))
			g.Expect(guard.State()).To(Equal(before))
		}
	}
}

func TestGuardAfterFailures(t *testing.T) {
	broken := errors.New("broken")
	fail := func() error { return broken }
	for _, c := range []struct {
		name  string
		fault stubFault
		steps []string // the last one fails
		state faults.State
		on    bool
		next  map[string]bool // which steps are allowed then
	}{
		{"injection failed: may have happened by half, can be lifted", stubFault{inject: fail},
			[]string{"inject"}, faults.Unsure, true, map[string]bool{"lift": true}},
		{"never seen: can be lifted", stubFault{observed: func() (string, error) { return "", broken }},
			[]string{"inject", "observed"}, faults.Unseen, true, map[string]bool{"lift": true}},
		{"not lifted: stuck", stubFault{lift: fail},
			[]string{"inject", "observed", "lift"}, faults.Stuck, false, nil},
		{"not known to be lifted: stuck", stubFault{lifted: fail},
			steps, faults.Stuck, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			for _, next := range steps {
				guard := faults.NewGuard(c.fault, newFakeSite())
				var err error
				for _, s := range c.steps {
					err = do(guard, s)
				}
				step, ok := errors.AsType[*faults.StepError](err)
				g.Expect(ok).To(BeTrue())
				g.Expect(step.Step).To(Equal(c.steps[len(c.steps)-1]))
				g.Expect(errors.Is(err, broken)).To(BeTrue())
				g.Expect(guard.State()).To(Equal(c.state))
				g.Expect(guard.On()).To(Equal(c.on))
				_, refused := errors.AsType[*faults.OrderError](do(guard, next))
				g.Expect(refused).To(Equal(!c.next[next]), "%s after %s", next, c.state)
			}
		})
	}
}

func TestGuardRefusesASecondStepMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		release := make(chan struct{})
		guard := faults.NewGuard(stubFault{inject: func() error { <-release; return nil }}, newFakeSite())
		done := make(chan error, 1)
		go func() { done <- do(guard, "inject") }()
		synctest.Wait()

		for _, s := range steps {
			order, ok := errors.AsType[*faults.OrderError](do(guard, s))
			g.Expect(ok).To(BeTrue())
			g.Expect(order.Busy).To(Equal("inject"))
			g.Expect(order.Error()).To(ContainSubstring("still runs"))
		}
		close(release)
		g.Expect(<-done).To(Succeed())
		g.Expect(guard.State()).To(Equal(faults.Injected))
	})
}

// A fault that panics has proved nothing; the guard must not be left busy for ever.
func TestGuardSurvivesAPanic(t *testing.T) {
	g := NewWithT(t)
	guard := faults.NewGuard(stubFault{inject: func() error { panic("broken") }}, newFakeSite())
	g.Expect(func() { _ = do(guard, "inject") }).To(Panic())
	g.Expect(guard.State()).To(Equal(faults.Unsure))
	g.Expect(do(guard, "lift")).To(Succeed())
}
