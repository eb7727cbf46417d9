//go:build unix

package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// message is one frame on the socket, either way: four bytes of length, then JSON. Descriptors travel with a spawn request.
type message struct {
	Hello bool     `json:"hello,omitempty"` // keeper: ready
	Spawn *request `json:"spawn,omitempty"` // harness: start this
	ID    int64    `json:"id,omitempty"`    // of a spawn and of its answer
	Pid   int      `json:"pid,omitempty"`   // answer
	Start uint64   `json:"start,omitempty"` // answer
	Err   string   `json:"err,omitempty"`   // answer: why it did not start
	Errno int      `json:"errno,omitempty"` // answer: the same as a number
	Exit  *exit    `json:"exit,omitempty"`  // keeper: a process that Spawn started has ended
}

type request struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir,omitempty"`
}

type exit struct {
	Pid    int `json:"pid"`
	Status int `json:"status"` // as wait4 gave it
}

// maxFrame bounds a frame; the kernel allows far less for arguments and environment together.
const maxFrame = 16 << 20

// stdFiles is how many descriptors go with a spawn request.
const stdFiles = 3

var errTooLong = errors.New("frame over the limit")

// send writes one frame; files go along with its first byte. Callers serialise.
func send(c *net.UnixConn, m message, files ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(b) > maxFrame {
		return fmt.Errorf("%d bytes: %w", len(b), errTooLong)
	}
	b = append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	if len(files) > 0 {
		n, _, err := c.WriteMsgUnix(b, unix.UnixRights(files...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	_, err = c.Write(b)
	return err
}

// receive reads one frame and the descriptors that came with it, which are the caller's to close.
func receive(c *net.UnixConn) (m message, files []int, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(stdFiles*4))
	for got := 0; got < len(head); {
		n, oobn, _, _, err := c.ReadMsgUnix(head[got:], oob)
		if err != nil {
			return m, files, err
		}
		more, err := rights(oob[:oobn])
		files = append(files, more...)
		if err != nil {
			return m, files, err
		}
		if n == 0 {
			return m, files, io.EOF
		}
		got += n
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return m, files, errTooLong
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(c, b); err != nil {
		return m, files, err
	}
	return m, files, json.Unmarshal(b, &m)
}

func rights(oob []byte) (fds []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for _, m := range msgs {
		got, err := unix.ParseUnixRights(&m)
		if err != nil {
			return fds, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}
