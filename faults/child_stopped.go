package faults

import (
	"context"
	"fmt"
)

// childStopped is a server process that is stopped (SIGSTOP): it is alive, its pipes are open, and nothing is ever answered.
// The class has no row in the public reports; those of "status-lies" come nearest (the process and its status
// stay green while every command fails).
func childStopped() []Fault {
	return []Fault{
		freeze{"until-continued", "is stopped, and continued later", false},
		freeze{"for-good", "is stopped and never continued", true},
	}
}

type freeze struct {
	variant, how string
	forGood      bool
}

func (f freeze) What() Info {
	recovery := "answer late rather than never: a process that comes back within the deadline needs no restart"
	if f.forGood {
		recovery = "notice the silence, kill the process (SIGKILL ends a stopped one too), start it again"
	}
	return Info{
		ID:        "child-stopped/" + f.variant,
		Class:     "child-stopped",
		Group:     "A",
		Transport: Stdio,
		Title:     "the server process " + f.how,
		Recovery:  recovery,
		Reports:   []string{"openai/tunnel-client#46", "anomalyco/opencode#25682"},
		OfLife:    f.forGood,
		OneLife:   true,
	}
}

func (freeze) Inject(ctx context.Context, s Site) error {
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return signal(s, p, stopSignal)
}

func (freeze) Observed(ctx context.Context, s Site) (string, error) {
	p, err := s.Serving(ctx)
	if err != nil {
		return "", err
	}
	if err := s.AwaitStopped(ctx, p); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is stopped (state T)", p), nil
}

func (f freeze) Lift(ctx context.Context, s Site) error {
	if f.forGood {
		return nil // the next life is healthy; replacing this one is the target's part
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return signal(s, p, contSignal)
}

func (f freeze) Lifted(ctx context.Context, s Site) error {
	if f.forGood {
		return nil
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	// A target that has lost patience and killed it has lifted it as well.
	if err := s.AwaitRunning(ctx, p); err != nil && !gone(err) {
		return err
	}
	return nil
}
