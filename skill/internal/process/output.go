package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// defaultOutput is how many bytes are kept of a stream by default.
const defaultOutput = 1 << 20

// drainTimeout is how long the streams are read after their command ended. A process
// that could not be ended may hold them open.
const drainTimeout = time.Second

// lateTimeout is how long what had come until then is read after that. It is not read yet where
// the machine stopped for a while.
const lateTimeout = 100 * time.Millisecond

// A capture reads one stream of a command and keeps its start and end.
type capture struct {
	r, w *os.File // w is for the command; the caller closes it
	kept headTail
	read chan struct{} // closed at the end of the stream
}

// newCapture makes a pipe and reads it until [capture.finish]. It keeps limit bytes and
// writes all of them to the log, which may be nil.
func newCapture(limit int64, log *outputLog) (*capture, error) {
	if limit <= 0 {
		limit = defaultOutput
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &capture{r: r, w: w, kept: headTail{limit: int(limit)}, read: make(chan struct{})}
	var to io.Writer = onlyWriter{&c.kept}
	if log != nil {
		to = io.MultiWriter(to, log)
	}
	go func() {
		defer close(c.read)
		io.CopyBuffer(to, &lateReader{r: r}, make([]byte, 64<<10))
	}()
	return c, nil
}

// onlyWriter hides the methods for which io.CopyBuffer would ignore its buffer.
type onlyWriter struct{ io.Writer }

// A lateReader reads a pipe until its deadline, after which a read fails even if there is
// something, and what there is then.
type lateReader struct {
	r    *os.File
	late bool
}

func (l *lateReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if !l.late && errors.Is(err, os.ErrDeadlineExceeded) {
		l.late = true
		l.r.SetReadDeadline(time.Now().Add(lateTimeout))
		n, err = l.r.Read(p)
	}
	return n, err
}

// finish reads to the end of the stream, or what there is at the deadline, and closes it. It
// returns what was kept, and how many bytes are missing from it.
func (c *capture) finish(deadline time.Time) (kept []byte, cut int64) {
	if c.r.SetReadDeadline(deadline) != nil { // pipes have none on Windows
		defer time.AfterFunc(time.Until(deadline), func() { c.r.Close() }).Stop()
	}
	<-c.read
	c.r.Close()
	return c.kept.bytes()
}

// A headTail keeps the first and the last bytes of a stream, limit bytes in all.
type headTail struct {
	limit int
	head  []byte // the first half
	tail  []byte // the last half: a ring once it is full
	at    int    // where the ring is written next
	total int64
}

func (e *headTail) Write(p []byte) (int, error) {
	n := len(p)
	e.total += int64(n)
	k := min(len(p), e.limit-e.limit/2-len(e.head))
	e.head = append(e.head, p[:k]...)
	p = p[k:]
	size := e.limit / 2
	if len(p) > size {
		p, e.at = p[len(p)-size:], 0
		e.tail = e.tail[:0]
	}
	k = min(len(p), size-len(e.tail))
	e.tail = append(e.tail, p[:k]...)
	for p = p[k:]; len(p) > 0; p = p[k:] {
		k = copy(e.tail[e.at:], p)
		e.at = (e.at + k) % size
	}
	return n, nil
}

// maxLineShift is how many more bytes may be cut so that the cut falls between two lines.
const maxLineShift = 4096

// bytes returns the stream, or its start and end joined by a line that says how many
// bytes are left out.
func (e *headTail) bytes() (kept []byte, cut int64) {
	head, tail := e.head, append(e.tail[e.at:len(e.tail):len(e.tail)], e.tail[:e.at]...)
	if e.total == int64(len(head)+len(tail)) {
		return append(head, tail...), 0
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 && len(head)-i <= maxLineShift {
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < maxLineShift {
		tail = tail[i+1:]
	}
	cut = e.total - int64(len(head)+len(tail))
	if len(head) > 0 && head[len(head)-1] != '\n' {
		head = append(head, '\n')
	}
	head = fmt.Appendf(head, "[… %d bytes left out …]\n", cut)
	return append(head, tail...), cut
}
