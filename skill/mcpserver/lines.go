package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

const maxLine = 64 << 20 // bytes of one message

var errLongLine = errors.New("the line is too long")

// readLine reads a line and returns it without its line ending. A line longer than maxLine is discarded and is errLongLine. The
// last line of the input need not have a line ending.
func readLine(r *bufio.Reader) ([]byte, error) {
	var buf []byte
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) > maxLine {
			long, buf = true, nil
		}
		if !long {
			buf = append(buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case long && (err == nil || err == io.EOF):
			return nil, errLongLine
		case err == io.EOF && len(bytes.TrimSpace(buf)) > 0:
			return buf, nil
		}
		return bytes.TrimRight(buf, "\r\n"), err
	}
}

// lineWriter writes lines whole.
type lineWriter struct {
	w      io.Writer
	unread *unread
	broken chan struct{} // closed when a write has failed, or nothing more is to be written

	writing sync.Mutex // held during a write, which may wait for the client
	mu      sync.Mutex
	err     error
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: w, unread: &unread{}, broken: make(chan struct{})}
}

// send writes a line.
func (l *lineWriter) send(line []byte) error {
	l.unread.add(len(line))
	defer l.unread.take(len(line))
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err == nil {
		_, err = l.w.Write(line)
		l.fail(err)
	}
	return err
}

// fail makes the writer write nothing more, and reports whether err is its first error. A
// write that is under way may go on.
func (l *lineWriter) fail(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || l.err != nil {
		return false
	}
	l.err = err
	close(l.broken)
	return true
}
