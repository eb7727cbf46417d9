package breaker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/breaker"
)

func ExampleBreaker() {
	b := breaker.New(breaker.Config{
		Failures: 2,
		Cooldown: time.Minute,
		OnChange: func(c breaker.Change) { fmt.Printf("%v -> %v (%v)\n", c.From, c.To, c.Reason) },
	})

	call := func(request func() error) error {
		permit, err := b.Allow()
		if err != nil {
			return err
		}
		defer permit.Ignore() // does nothing unless request panics
		if err := request(); err != nil {
			permit.Failure()
			return err
		}
		permit.Success()
		return nil
	}

	bad := func() error { return errors.New("connection reset") }
	good := func() error { return nil }

	fmt.Println(call(bad))
	fmt.Println(call(bad))

	err := call(good)
	fmt.Println("rejected:", errors.Is(err, breaker.ErrOpen))
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		fmt.Println("wait at most a minute:", open.RetryAfter() <= time.Minute)
	}

	b.Reset() // say, since the server has been started anew
	fmt.Println(call(good))

	// Output:
	// connection reset
	// closed -> open (strikes)
	// connection reset
	// rejected: true
	// wait at most a minute: true
	// open -> closed (reset)
	// <nil>
}
