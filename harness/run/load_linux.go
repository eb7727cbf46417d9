package run

import (
	"os"
	"strconv"
	"strings"
)

// loadAverage is the machine's load over the last minute, 0 when it is not known.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}
