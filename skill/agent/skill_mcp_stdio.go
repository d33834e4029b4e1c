package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	maxMessage   = 32 << 20    // bytes of one message of a server
	writeTimeout = time.Minute // for a server to read a message
)

// errLongMessage ends the connection to a server.
var errLongMessage = fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)

// serverOutput reads the lines of a server's standard output that are messages of JSON-RPC. It
// skips other lines, which some programs print as if to a terminal, such as logs.
type serverOutput struct {
	*os.File
	lines *bufio.Reader
	rest  []byte // unread part of the current message
}

func newServerOutput(f *os.File) *serverOutput {
	return &serverOutput{File: f, lines: bufio.NewReaderSize(f, 64<<10)}
}

// Read implements [io.Reader].
func (o *serverOutput) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		line, err := o.line()
		if err != nil {
			return 0, err
		}
		if line = bytes.TrimPrefix(line, []byte("\ufeff")); isMessage(line) {
			o.rest = line
		}
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// isMessage reports whether a line is a message of JSON-RPC that answers or asks something.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	var m struct {
		Version string           `json:"jsonrpc"`
		Method  string           `json:"method"`
		ID      *json.RawMessage `json:"id"` // nil for null, too
	}
	return bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &m) == nil && m.Version == "2.0" &&
		(m.Method != "" || m.ID != nil)
}

// line reads a line of at most maxMessage bytes.
func (o *serverOutput) line() (line []byte, err error) {
	for {
		part, err := o.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, errLongMessage
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// serverInput writes to a server's standard input, and fails if the server does not read.
type serverInput struct{ *os.File }

// Write implements [io.Writer].
func (i serverInput) Write(p []byte) (int, error) {
	i.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := i.File.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("the server does not read its input")
	}
	return n, err
}
