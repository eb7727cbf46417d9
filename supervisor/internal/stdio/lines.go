package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

const (
	firstBuffer = 8 << 10 // of most servers, every frame fits
	keepBuffer  = 1 << 20 // a buffer that had to grow beyond this is not kept for the next line
)

// errEndless ends a session whose server has written twice the longest frame without a newline: whatever
// it is, it is no line any more, and reading on would be for ever.
var errEndless = errors.New("a line on stdout does not end")

// lineReader cuts a stream into lines of bounded length. A longer line is handed out as its
// beginning, with tooLong set, and the rest of it is skipped.
type lineReader struct {
	in      io.Reader
	max     int
	rx      atomic.Uint64 // bytes read; any byte is life (SUP-8)
	buf     []byte
	start   int // buf[start:] has not been handed out
	scanned int // buf[start:scanned] holds no newline
	skipped int // bytes of the present over-long line that were dropped; 0 = none is being skipped
}

func newLineReader(in io.Reader, max int) *lineReader {
	return &lineReader{in: in, max: max, buf: make([]byte, 0, firstBuffer)}
}

// next returns the next line without its newline; it is valid until the next call. At the end of the stream a
// last line without newline is handed out too: it may be whole. A line that is cut short by an error of
// the reader stays, and next may be called again.
func (l *lineReader) next() (line []byte, tooLong bool, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:], '\n'); i >= 0 {
			line, l.start = l.buf[l.start:l.scanned+i], l.scanned+i+1
			l.scanned = l.start
			if l.skipped > 0 { // the end of a line whose beginning was handed out
				l.skipped = 0
				continue
			}
			return line, len(line) > l.max, nil
		}
		l.scanned = len(l.buf)
		if long := l.overlong(); long != nil {
			return long, true, nil
		}
		if l.skipped > 2*l.max {
			return nil, false, errEndless
		}
		if err := l.fill(); err != nil {
			if errors.Is(err, io.EOF) && l.start < len(l.buf) && l.skipped == 0 {
				line, l.start = l.buf[l.start:], len(l.buf)
				return line, false, nil
			}
			return nil, false, err
		}
	}
}

// overlong drops what is buffered of a line that has become too long, and returns its beginning the
// first time.
func (l *lineReader) overlong() []byte {
	n := len(l.buf) - l.start
	if n <= l.max && l.skipped == 0 {
		return nil
	}
	first := l.skipped == 0
	line := l.buf[l.start:]
	l.skipped += n
	l.buf, l.start, l.scanned = l.buf[:0], 0, 0 // the backing array of line lives until the next read
	if first {
		return line
	}
	return nil
}

// fill reads once. Before, it makes room.
func (l *lineReader) fill() error {
	if l.start == len(l.buf) {
		l.start, l.scanned = 0, 0
		if l.buf = l.buf[:0]; cap(l.buf) > keepBuffer {
			l.buf = make([]byte, 0, firstBuffer)
		}
	}
	if len(l.buf) == cap(l.buf) {
		pending := l.buf[l.start:]
		to := l.buf[:0]
		if l.start < cap(l.buf)/2 { // moving would not make enough room
			to = make([]byte, 0, 2*cap(l.buf))
		}
		l.buf = append(to, pending...)
		l.scanned -= l.start
		l.start = 0
	}
	n, err := l.in.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	l.rx.Add(uint64(n))
	if n > 0 {
		return nil // an error comes again
	}
	if err == nil || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return err
}
