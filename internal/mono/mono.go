// Package mono reads the machine's monotonic clock, so that records written by several processes of one machine can be
// put in one order. Wall clocks jump; this one does not.
package mono

import "time"

// Time is nanoseconds on the machine-wide monotonic clock (CLOCK_MONOTONIC on Unix).
type Time int64

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Now reads the clock.
func Now() Time { return now() }
