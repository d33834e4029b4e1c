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
	maxMessage = 32 << 20    // bytes of one message of a server
	writeTime  = time.Minute // for a server to read what it is sent
)

// serverOutput is what a server's program prints: lines that are JSON objects. Other
// lines, which programs print that take it for a terminal, are left out.
type serverOutput struct {
	*os.File
	lines *bufio.Reader
	rest  []byte // of the message that is being read
}

func newServerOutput(f *os.File) *serverOutput {
	return &serverOutput{File: f, lines: bufio.NewReaderSize(f, 64<<10)}
}

// Read is [io.Reader].
func (o *serverOutput) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		line, err := o.line()
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && json.Valid(line) {
			o.rest = line
		}
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// line reads a line, of at most maxMessage bytes.
func (o *serverOutput) line() (line []byte, err error) {
	for {
		part, err := o.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// serverInput is what a server's program reads, or does not.
type serverInput struct{ *os.File }

// Write is [io.Writer].
func (i serverInput) Write(p []byte) (int, error) {
	i.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := i.File.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("the server does not read what it is sent")
	}
	return n, err
}
