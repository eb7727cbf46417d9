package driver

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the longest line that either half accepts, in bytes. The largest honest line is a tool result of
// a few MiB with its JSON escapes; a longer one is skipped and reported, so that a target that writes without
// end cannot fill our memory.
const MaxLine = 64 << 20

var errLineTooLong = errors.New("line is longer than 64 MiB")

// lineReader cuts a stream into lines. A line over the limit is read to its end, dropped, and reported as
// errLineTooLong; the stream goes on behind it.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: MaxLine}
}

// next returns one line without its newline. A last line without a newline is returned as a line; the io.EOF
// comes after it. The slice is the caller's own.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	over, any := false, false
	for {
		chunk, err := l.r.ReadSlice('\n')
		any = any || len(chunk) > 0
		if over = over || len(line)+len(chunk) > l.max; over {
			line = nil
		} else {
			line = append(line, chunk...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !any:
			return nil, err
		case over:
			return nil, errLineTooLong
		}
		return trimNewline(line), nil
	}
}

func trimNewline(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// clip shortens text for an error message.
func clip(b []byte) string {
	const most = 200 // enough to recognise a banner or a stack trace's first line
	if len(b) <= most {
		return string(b)
	}
	return string(b[:most]) + "..."
}
