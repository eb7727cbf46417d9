//go:build !unix

package faults

import "os"

// Processes cannot be stopped here; injecting such a fault says so.
var stopSignal, contSignal os.Signal
