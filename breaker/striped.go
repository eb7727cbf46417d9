package breaker

import (
	"sync/atomic"
	"unsafe"
)

// cacheLine is the unit in which cores take memory from each other. 64 bytes on nearly
// everything; where it is more, sharing costs time, nothing else.
const cacheLine = 64

// Enough stripes that two goroutines seldom meet; 2 KiB, and only for breakers that
// have been open.
const (
	stripeBits = 5
	stripes    = 1 << stripeBits
)

// stripedCounter counts exactly without all cores writing to the same place. With one
// place, a server's callers would spend most of a rejection (3/4, measured on two
// cores) waiting for each other's counting.
type stripedCounter [stripes]struct {
	n atomic.Uint64
	_ [cacheLine - 8]byte
}

// add counts one. The stripe depends on where the goroutine's stack is: stacks are at
// least 2 KiB long and start at multiples of that, so goroutines differ from bit 11 up;
// multiplying by 2^64/phi spreads these bits over the top ones. The address is only a
// number here: if the stack moves, another stripe is used.
func (c *stripedCounter) add() {
	var onStack byte
	address := uint64(uintptr(unsafe.Pointer(&onStack)))
	c[(address>>11)*0x9E3779B97F4A7C15>>(64-stripeBits)].n.Add(1)
}

func (c *stripedCounter) sum() uint64 {
	total := uint64(0)
	for i := range c {
		total += c[i].n.Load()
	}
	return total
}
