//go:build !linux

package stdio

import "os"

// awaitExit: there is no descriptor to watch; the caller waits for the process itself, in a thread.
func awaitExit(*os.Process) bool { return false }

// frozen cannot be known cheaply here.
func frozen(int) bool { return false }

// onlyZombies is not known here: every member counts.
func onlyZombies(int) bool { return false }
