package httplink

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// event is one server-sent event.
type event struct {
	id, name, retry string
	data            []byte
	hasData         bool
}

// eventReader reads server-sent events as the HTML standard has it, which is more forgiving than go-sdk's
// reader (a line without a colon is legal) and stricter (an event that is cut off by the end of the stream is
// none). Comments are skipped: they are bytes, and so life, to the connection.
type eventReader struct {
	r      *bufio.Reader
	max    int64
	skipLF bool // the last line ended with CR; a LF that follows belongs to it
	first  bool // nothing was read yet: a byte order mark may come
}

func newEventReader(r io.Reader, max int64) *eventReader {
	return &eventReader{r: bufio.NewReader(r), max: max, first: true}
}

// next gives the next event that says anything. At the end of the stream it gives what the stream's reader
// gave, io.EOF included.
func (r *eventReader) next() (event, error) {
	var e event
	var size int64
	for {
		line, err := r.line(r.max - size)
		if err != nil {
			return event{}, err
		}
		size += int64(len(line)) + 1
		if len(line) == 0 {
			if e.hasData || e.id != "" || e.retry != "" {
				return e, nil
			}
			e, size = event{}, 0
			continue
		}
		e.field(line)
	}
}

func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		e.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.id = string(value)
		}
	case "retry":
		e.retry = string(value)
	case "data":
		if e.hasData {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		e.hasData = true
	}
}

// line reads up to LF, CR LF, or CR, without waiting for what may follow a CR. A line that the stream's end
// cuts off is dropped.
func (r *eventReader) line(limit int64) ([]byte, error) {
	var line []byte
	for {
		if _, err := r.r.Peek(1); err != nil {
			return nil, err
		}
		buf, _ := r.r.Peek(r.r.Buffered())
		if r.skipLF {
			r.skipLF = false
			if buf[0] == '\n' {
				r.skip(1)
				continue
			}
		}
		end := lineEnd(buf)
		take := end
		if end < 0 {
			take = len(buf)
		}
		if int64(len(line)+take) > limit {
			return nil, fmt.Errorf("%w (%d bytes in one event)", errTooLarge, r.max)
		}
		line = append(line, buf[:take]...)
		if end < 0 {
			r.skip(take)
			continue
		}
		r.skipLF = buf[end] == '\r'
		r.skip(take + 1)
		if r.first {
			r.first = false
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, nil
	}
}

// lineEnd finds the first CR or LF: two searches by whole words, which beat one search for either by far.
func lineEnd(buf []byte) int {
	end := bytes.IndexByte(buf, '\n')
	if end >= 0 {
		buf = buf[:end]
	}
	if cr := bytes.IndexByte(buf, '\r'); cr >= 0 {
		return cr
	}
	return end
}

// skip drops bytes that Peek has shown to be there.
func (r *eventReader) skip(n int) { _, _ = r.r.Discard(n) }

// writeTo writes the event so that any reader understands it.
func (e event) writeTo(b *bytes.Buffer) {
	for _, f := range [...]struct{ name, value string }{{"event", e.name}, {"id", e.id}, {"retry", e.retry}} {
		if f.value != "" {
			b.WriteString(f.name + ": " + f.value + "\n")
		}
	}
	if e.hasData {
		for line := range bytes.SplitSeq(e.data, []byte{'\n'}) {
			b.WriteString("data: ")
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
}
