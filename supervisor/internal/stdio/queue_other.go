//go:build !unix

package stdio

// pump writes until nothing is left. Here pipes cannot be tried without blocking, so every message goes by
// way of the goroutine that waits, and a message counts as begun before its first byte is written. A child
// that takes nothing is noticed by liveness probes, and killing it ends the write.
func (q *queue) pump(wait bool) (blocked bool, err error) {
	if !wait {
		return true, nil
	}
	for {
		q.mu.Lock()
		it := q.next()
		if it == nil {
			q.mu.Unlock()
			return false, nil
		}
		p := it.rest
		q.took(it, len(p))
		q.mu.Unlock()
		if _, err := q.file.Write(p); err != nil {
			return false, err
		}
	}
}
