package stdio

import (
	"bytes"
	"errors"
	"io"
)

const (
	maxLine   = 64 << 20 // a line longer than four times go-sdk's own limit is no message
	readChunk = 64 << 10
)

// errLetGo ends the reader: the script wants stdin read no more.
var errLetGo = errors.New("stdin is not read any more")

// input splits standard input into lines. A reader never sits inside read(2): it waits until there is something, so that
// another goroutine can let go of the descriptor, or close it, at once and for real. (A close beside a blocked read
// would leave the pipe's read end open until that read returns, and the writer would get no EPIPE.)
type input struct {
	*source
	buf []byte
}

func newInput() *input { return &input{source: newSource()} }

// next returns the next line without its newline, io.EOF, or errLetGo. A last line without a newline is a line.
func (in *input) next() ([]byte, error) {
	for searched := 0; ; {
		if i := bytes.IndexByte(in.buf[searched:], '\n'); i >= 0 {
			end := searched + i
			line := in.buf[:end:end] // whoever keeps it cannot grow it into the next one
			in.buf = in.buf[end+1:]
			if in.stopped() {
				return nil, errLetGo // what was read along with the last line stays unread
			}
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		searched = len(in.buf)
		if searched > maxLine {
			return nil, errors.New("a line is too long")
		}
		chunk, err := in.read()
		if errors.Is(err, io.EOF) && len(in.buf) > 0 {
			line := in.buf
			in.buf = nil
			return line, nil
		}
		if err != nil {
			return nil, err
		}
		in.buf = append(in.buf, chunk...) // behind the lines that were handed out, never over them
	}
}
