package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	maxLine   = 64 << 20 // bytes of one message
	maxUnsent = 1 << 20  // bytes that may wait for a client that does not read
	keepLine  = 64 << 10 // bytes of the largest buffer that is used again
)

var errLongLine = errors.New("the line is too long")

// readLine reads a line into buf, which grows as needed, and returns it without
// its line ending. A line longer than maxLine is discarded and is errLongLine. The
// last line of the input need not have a line ending.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	buf = buf[:0]
	if cap(buf) > keepLine {
		buf = nil
	}
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

// lineWriter writes lines whole. Lines that come during a write are written
// together by the next.
type lineWriter struct {
	w      io.Writer
	unread *unread
	broken chan struct{} // closed when a write has failed, or nothing more is to be written

	mu     sync.Mutex
	room   sync.Cond
	unsent []byte
	spare  []byte // empty buffer that replaces unsent
	busy   bool   // a write is under way
	err    error
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w, unread: &unread{}, broken: make(chan struct{})}
	l.room.L = &l.mu
	return l
}

// send writes a line, or leaves it to a write that is under way. It waits while more
// than maxUnsent bytes are unsent.
func (l *lineWriter) send(line []byte) error {
	l.unread.add(len(line))
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy && len(l.unsent) > maxUnsent && l.err == nil {
		l.room.Wait()
	}
	if l.busy {
		l.unsent = append(l.unsent, line...)
		return l.err
	}
	l.busy = true
	l.write(line)
	for len(l.unsent) > 0 && l.err == nil {
		data := l.unsent
		l.unsent, l.spare = l.spare[:0], nil
		l.write(data)
		l.room.Broadcast()
		if cap(data) <= keepLine {
			l.spare = data
		}
	}
	l.busy = false
	return l.err
}

// write writes data without holding the lock, which the caller holds.
func (l *lineWriter) write(data []byte) {
	l.mu.Unlock()
	_, err := l.w.Write(data)
	l.unread.take(len(data))
	l.mu.Lock()
	l.failLocked(err)
}

// fail makes the writer write nothing more, unless a write has failed before. A write
// that is under way may go on.
func (l *lineWriter) fail(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failLocked(err)
}

func (l *lineWriter) failLocked(err error) bool {
	if err == nil || l.err != nil {
		return false
	}
	l.err = err
	l.unsent = nil
	close(l.broken)
	l.room.Broadcast()
	return true
}
