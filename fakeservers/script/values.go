package script

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as "150ms" in scripts.
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalText writes the Go form, "150ms".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the Go form; negative durations are refused.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is no duration: write it as 250ms, 2s or 1m30s", b)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative", b)
	}
	*d = Duration(v)
	return nil
}

// Range is "3", "3+", "2-4" or, for lives, "serving". Empty matches everything.
type Range string

// Serving is the life that answered the latest baseline call.
const Serving Range = "serving"

// Contains reports whether n lies in the range. Serving and malformed ranges contain nothing.
func (r Range) Contains(n int) bool {
	lo, hi, err := r.bounds()
	return err == nil && n >= lo && (hi == 0 || n <= hi)
}

// Validate says whether the range is well formed.
func (r Range) Validate() error {
	if r == Serving {
		return nil
	}
	_, _, err := r.bounds()
	return err
}

// bounds returns the inclusive bounds; hi 0 is no upper bound.
func (r Range) bounds() (lo, hi int, err error) {
	s := string(r)
	if s == "" {
		return 0, 0, nil
	}
	bad := fmt.Errorf("%q is no range: write 3, 3+ or 2-4", s)
	if a, ok := strings.CutSuffix(s, "+"); ok {
		if lo, err = strconv.Atoi(a); err != nil || lo < 1 {
			return 0, 0, bad
		}
		return lo, 0, nil
	}
	a, b, two := strings.Cut(s, "-")
	if lo, err = strconv.Atoi(a); err != nil || lo < 1 {
		return 0, 0, bad
	}
	if !two {
		return lo, lo, nil
	}
	if hi, err = strconv.Atoi(b); err != nil || hi < lo {
		return 0, 0, bad
	}
	return lo, hi, nil
}

// UnmarshalJSON accepts a bare number too.
func (r *Range) UnmarshalJSON(b []byte) error {
	var s string
	if len(b) > 0 && b[0] != '"' {
		s = string(b)
	} else if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*r = Range(s)
	return r.Validate()
}
