package stdio

import "golang.org/x/sys/unix"

// dup2 puts oldfd in the place of newfd, closing what was there.
func dup2(oldfd, newfd int) error { return unix.Dup3(oldfd, newfd, 0) }

// fionread asks how many bytes lie in a pipe.
const fionread = unix.TIOCINQ
