//go:build unix && !linux

package stdio

import "golang.org/x/sys/unix"

// dup2 puts oldfd in the place of newfd, closing what was there.
func dup2(oldfd, newfd int) error { return unix.Dup2(oldfd, newfd) }

// fionread asks how many bytes lie in a pipe: _IOR('f', 127, int), the same on all BSDs.
const fionread = 0x4004667f
