//go:build !unix

package stdio

import (
	"io"
	"os"
)

const maxRest = 1 << 20

// wake ends a Read of f that waits. Pipes know no deadlines here, so it is the end of f as well.
func wake(f *os.File) { f.Close() }

func unwake(*os.File) {}

func readNow(*os.File, []byte) (n int, again bool, err error) { return 0, false, io.EOF }

func readRest(*os.File, func([]byte)) {}

func discard(*os.File) {}
