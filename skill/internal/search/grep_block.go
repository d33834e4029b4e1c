package search

import (
	"bytes"
	"io"
)

const (
	blockSize = 256 << 10 // what is read of a file at once
	slack     = 4 << 10   // and so much more, for the end of a block's last line
	lead      = 64        // and so much ahead of it: from an odd address the system copies four times slower
	maxLine   = 16 << 20  // of a longer line so much is searched, or a little more
)

// block is the lines that begin in one stretch of blockSize bytes of a file. It is
// used again for the next.
type block struct {
	buf     []byte // what is read is read into it
	k       int64  // which stretch of the file
	data    []byte // the lines
	offset  int64  // of data in the file
	last    bool   // after data the file ends with an empty line
	cut     bool   // the last line is too long to be here whole
	lines   []Line // that match, numbered from the first that begins here
	starts  int    // how many lines begin here; see count
	counted int    // bytes of data, up to the last of the lines
	err     error
}

func newBlock() *block { return &block{buf: make([]byte, lead+blockSize+slack)} }

// mark is the byte order mark of UTF-8.
var mark = []byte("\ufeff")

// search looks for the lines of b that match. A file's mark does not belong to its first line.
func (m *matcher) search(b *block) {
	if b.offset == 0 && bytes.HasPrefix(b.data, mark) {
		b.data, b.offset = b.data[len(mark):], int64(len(mark))
	}
	b.lines, b.counted = m.lines(b.lines[:0], b.data, b.offset)
	if b.last && m.p.empty {
		b.count()
		b.lines = append(b.lines, Line{Number: b.starts, Offset: b.offset + int64(len(b.data))})
	}
}

// count sets starts, from what the last of the lines says and what is after it.
func (b *block) count() {
	b.starts = bytes.Count(b.data[b.counted:], lf)
	if n := len(b.lines); n > 0 {
		b.starts += b.lines[n-1].Number - 1
	}
	if b.last || len(b.data) > 0 && b.data[len(b.data)-1] != '\n' {
		b.starts++
	}
}

// own copies the lines into buf, so that data may go.
func (b *block) own() {
	b.buf, b.data = b.buf[:0], nil
	for i, line := range b.lines {
		at := len(b.buf)
		b.buf = append(b.buf, line.Text...)
		b.lines[i].Text = b.buf[at:len(b.buf):len(b.buf)]
	}
	b.buf = b.buf[:cap(b.buf)]
}

func (b *block) load(f io.ReaderAt, k int64) error {
	if len(b.buf) < lead+blockSize+slack || len(b.buf) > 4*blockSize { // for a line that was long
		b.buf = newBlock().buf
	}
	b.k, b.data, b.offset, b.last, b.cut = k, nil, max(0, k*blockSize-lead), false, false
	n, err := readAt(f, b.buf, b.offset)
	if err != nil {
		return err
	}
	eof := n < len(b.buf)
	skip := 0
	if k > 0 { // the line before is that of another block
		if n < lead {
			return nil // it became shorter
		}
		skip = lead + bytes.IndexByte(b.buf[lead-1:min(n, lead-1+blockSize)], '\n')
		if skip < lead {
			return nil
		}
	}
	next := (k + 1) * blockSize
	if n, eof, err = b.finish(f, n, int(next-1-b.offset), eof); err != nil {
		return err
	}
	b.data, b.offset = b.buf[skip:n], b.offset+int64(skip)
	bare := len(b.data) == 0 || b.buf[n-1] == '\n'
	b.cut = !bare && !eof
	b.last = bare && eof && b.offset+int64(len(b.data)) < next
	return nil
}

// finish reads as far as the first LF at or after end, to the end of the file, or
// until the line is too long. b.buf holds n bytes of the file. It returns how many
// then belong to the block, and whether the file ends there.
func (b *block) finish(f io.ReaderAt, n, end int, eof bool) (int, bool, error) {
	for {
		if end < n {
			if i := bytes.IndexByte(b.buf[end:n], '\n'); i >= 0 {
				end += i + 1
				return end, eof && end == n, nil
			}
		}
		if eof || n >= maxLine+blockSize {
			return n, eof, nil
		}
		end = max(end, n)
		if len(b.buf) == n {
			b.buf = append(b.buf, make([]byte, n)...)
		}
		m, err := readAt(f, b.buf[n:], b.offset+int64(n))
		if err != nil {
			return 0, false, err
		}
		n += m
		eof = n < len(b.buf)
	}
}

// readAt reads to the end of buf or of the file.
func readAt(f io.ReaderAt, buf []byte, off int64) (int, error) {
	n, err := f.ReadAt(buf, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}
