//go:build !unix

package httpfake

import "os"

// raise ends the process; stopping is not possible here.
func raise(name string) {
	if name != "STOP" {
		os.Exit(1)
	}
}
