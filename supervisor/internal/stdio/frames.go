package stdio

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// frames turns lines into messages and leaves out everything else (SUP-10). A frame is a line
// that is a JSON-RPC 2.0 message, or a batch of them. Accepted as well, since servers do it and the meaning
// is certain: a byte order mark, blanks around the frame, several frames on one line, a
// frame with text behind it, and a frame that is spread over several lines.
//
// Text in front of a frame makes noise of the line: where the frame begins would be a guess.
type frames struct {
	noise func(line []byte) // told of every line, or part of a line, that is no frame
	part  []byte            // the lines so far of what may become a frame spread over lines
	depth int               // braces that part has opened and not closed
	ready []jsonrpc.Message // decoded and not yet handed out
}

// maxSpread bounds a frame that is spread over lines: whoever pretty-prints does it at the start, by hand or
// by mistake, and not with megabytes.
const maxSpread = 256 << 10

// FrameError fails one call whose answer could not be delivered.
type FrameError struct{ What string }

func (e *FrameError) Error() string { return e.What }

var byteOrderMark = []byte("\xef\xbb\xbf")

// take decodes one line. Messages end up in ready.
func (f *frames) take(line []byte) {
	line = bytes.TrimPrefix(bytes.TrimSpace(line), byteOrderMark)
	if len(line) == 0 {
		return
	}
	if json.Valid(line) {
		if f.value(line) {
			f.drop() // a whole frame ends what looked like the beginning of one
			return
		}
		if f.unreadable(line) {
			return
		}
	}
	if !f.spread(line) && !f.several(line) {
		f.noise(line)
	}
}

// value decodes one JSON value and reports whether it is a message or a batch with one.
func (f *frames) value(v []byte) bool {
	switch v[0] {
	case '{':
		m, err := jsonrpc.DecodeMessage(v)
		if err != nil {
			return false
		}
		f.ready = append(f.ready, m)
		return true
	case '[':
		return f.batch(v)
	}
	return false
}

// batch hands out the messages of a batch one by one: go-sdk's own handling ends the session at a
// batch of two notifications.
func (f *frames) batch(v []byte) bool {
	var all []json.RawMessage
	if json.Unmarshal(v, &all) != nil {
		return false
	}
	found := false
	for _, one := range all {
		if m, err := jsonrpc.DecodeMessage(one); err == nil {
			f.ready = append(f.ready, m)
			found = true
		}
	}
	return found
}

// several decodes the frames at the front of a line; what follows them is noise.
func (f *frames) several(line []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(line))
	end := int64(0)
	for {
		var v json.RawMessage
		err := dec.Decode(&v)
		if err == io.EOF {
			return true
		}
		if err != nil || !f.value(v) {
			if end > 0 {
				f.noise(line[end:])
			}
			return end > 0
		}
		end = dec.InputOffset()
	}
}

// unreadable makes an answer that go-sdk could not decode (an error that is no object, another version
// of JSON-RPC) a failure of the one call that it answers, instead of letting that call wait.
func (f *frames) unreadable(line []byte) bool {
	var m struct {
		ID     any             `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if line[0] != '{' || json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != nil {
		return false
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return false
	}
	f.noise(line)
	f.ready = append(f.ready, &jsonrpc.Response{ID: id, Error: &FrameError{"the answer is no JSON-RPC 2.0 message"}})
	return true
}

// spread collects a frame that was written over several lines, as pretty-printers do. It reports
// whether the line was used. A line that is a frame by itself never gets here, so half a frame followed by a
// newline swallows nothing but noise.
func (f *frames) spread(line []byte) bool {
	depth := opens(line)
	if len(f.part) == 0 {
		if line[0] != '{' || depth <= 0 {
			return false
		}
		f.part, f.depth = append(f.part, line...), depth
		return true
	}
	f.depth += depth
	f.part = append(append(f.part, '\n'), line...)
	switch {
	case f.depth > 0 && len(f.part) <= maxSpread:
	case f.depth == 0 && json.Valid(f.part) && f.value(f.part):
		f.part = nil
	default: // too long, or not a frame after all
		f.drop()
	}
	return true
}

// opens counts the braces that line opens and does not close. A string ends with its line, or it is no JSON.
func opens(line []byte) (depth int) {
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && c == '{':
			depth++
		case !inString && c == '}':
			depth--
		}
	}
	return depth
}

// drop gives up on a frame spread over lines: it was noise.
func (f *frames) drop() {
	if len(f.part) > 0 {
		f.noise(f.part)
		f.part = nil
	}
}

// idOf finds the id of the message that a cut-off line begins with, if it stands in front of the result.
func idOf(line []byte) (jsonrpc.ID, bool) {
	dec := json.NewDecoder(bytes.NewReader(line[:min(len(line), 4096)]))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return jsonrpc.ID{}, false
	}
	for {
		name, err := dec.Token()
		if err != nil {
			return jsonrpc.ID{}, false
		}
		if name == "method" {
			return jsonrpc.ID{}, false // theirs, not an answer
		}
		var value any
		if name != "id" && name != "jsonrpc" {
			return jsonrpc.ID{}, false // the long part begins
		}
		if dec.Decode(&value) != nil {
			return jsonrpc.ID{}, false
		}
		if name == "id" {
			id, err := jsonrpc.MakeID(value)
			return id, err == nil && id.IsValid()
		}
	}
}
