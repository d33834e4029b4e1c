package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// defaultOutput is how many bytes are kept of a stream by default.
const defaultOutput = 1 << 20

// drainTime is how long the streams are read after the end of their command, in
// case that somebody out of reach holds them open.
const drainTime = time.Second

// capture reads one stream of a command and keeps what fits.
type capture struct {
	r, w *os.File // w is for the command; the caller closes it
	kept headTail
	read chan struct{} // closed at the end of the stream
}

// A Filter stands between a stream and what keeps it. If what it returns is an
// [io.Closer], that is closed at the end of the stream.
type Filter func(kept io.Writer) io.Writer

// newCapture makes a pipe and reads it until [capture.finish], through the filter,
// which may be nil. The log, which may be nil too, is given all that is kept or cut.
func newCapture(limit int64, through Filter, log *outputLog) (*capture, error) {
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
	if through != nil {
		to = through(to)
	}
	go func() {
		defer close(c.read)
		io.CopyBuffer(to, onlyReader{r}, make([]byte, 64<<10))
		if end, ok := to.(io.Closer); ok {
			end.Close()
		}
	}()
	return c, nil
}

// onlyReader and onlyWriter keep io.CopyBuffer from going round its buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// finish reads to the end of the stream, or until the deadline, and closes it. It
// returns what was kept, and how many bytes were not.
func (c *capture) finish(deadline time.Time) (kept []byte, cut int64) {
	t := time.AfterFunc(time.Until(deadline), func() { c.r.Close() })
	<-c.read
	t.Stop()
	c.r.Close()
	return c.kept.bytes()
}

// headTail keeps the first and the last bytes of a stream, limit in all.
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

// nearLine is how far a cut is moved to fall between two lines.
const nearLine = 4096

// bytes returns the stream, or its ends with a line between them that tells how
// many bytes are left out there.
func (e *headTail) bytes() (kept []byte, cut int64) {
	head, tail := e.head, append(e.tail[e.at:len(e.tail):len(e.tail)], e.tail[:e.at]...)
	if e.total == int64(len(head)+len(tail)) {
		return append(head, tail...), 0
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 && len(head)-i <= nearLine {
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < nearLine {
		tail = tail[i+1:]
	}
	cut = e.total - int64(len(head)+len(tail))
	if len(head) > 0 && head[len(head)-1] != '\n' {
		head = append(head, '\n')
	}
	head = fmt.Appendf(head, "[… %d bytes left out …]\n", cut)
	return append(head, tail...), cut
}
