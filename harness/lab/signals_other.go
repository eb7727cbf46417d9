//go:build !unix

package lab

import (
	"syscall"

	"github.com/unwedge/unwedge/harness/scenario"
)

// signals are what the words of a target step send. Here processes can only be killed.
var signals = map[string]syscall.Signal{scenario.TargetKill: syscall.SIGKILL}
