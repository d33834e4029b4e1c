package search

import (
	"bytes"
	"io"
)

const (
	blockSize = 256 << 10 // bytes of a file that are read at once
	slack     = 4 << 10   // bytes read after a block, for the end of its last line
	lead      = 64        // bytes read before a block: the kernel copies four times slower from an odd offset
	maxLine   = 16 << 20  // of a longer line about so many bytes are searched
)

// block holds the lines that begin in blocks [k*blockSize, (k+1)*blockSize) of a file. A searcher
// uses one block for all of them in turn.
type block struct {
	buf     []byte // the memory that load reads into
	k       int64  // the number of the block in the file
	data    []byte // the lines that begin in the block
	offset  int64  // of data in the file
	last    bool   // the file ends after data with an empty line
	cut     bool   // data lacks the end of the last line, which is too long
	lines   []Line // the matches; the first line of data has number 1
	starts  int    // how many lines begin in the block; see count
	counted int    // the offset in data of the last match
	err     error
}

func newBlock() *block { return &block{buf: make([]byte, lead+blockSize+slack)} }

// utf8BOM is the byte order mark of UTF-8.
var utf8BOM = []byte("\ufeff")

// search finds the lines of b that match. The file's byte order mark does not belong to its first line.
func (m *matcher) search(b *block) {
	if b.offset == 0 && bytes.HasPrefix(b.data, utf8BOM) {
		b.data, b.offset = b.data[len(utf8BOM):], int64(len(utf8BOM))
	}
	b.lines, b.counted = m.lines(b.lines[:0], b.data, b.offset)
	if b.last && m.p.empty {
		b.count()
		b.lines = append(b.lines, Line{Number: b.starts, Offset: b.offset + int64(len(b.data))})
	}
}

// count sets starts: the number of the last match, plus the lines after it.
func (b *block) count() {
	b.starts = bytes.Count(b.data[b.counted:], lf)
	if n := len(b.lines); n > 0 {
		b.starts += b.lines[n-1].Number - 1
	}
	if b.last || len(b.data) > 0 && b.data[len(b.data)-1] != '\n' {
		b.starts++
	}
}

// copyMatches copies the matches into buf, so that data may be released.
func (b *block) copyMatches() {
	b.buf, b.data = b.buf[:0], nil
	for i, line := range b.lines {
		at := len(b.buf)
		b.buf = append(b.buf, line.Text...)
		b.lines[i].Text = b.buf[at:len(b.buf):len(b.buf)]
	}
	b.buf = b.buf[:cap(b.buf)]
}

// load reads the block k of f.
func (b *block) load(f io.ReaderAt, k int64) error {
	if len(b.buf) < lead+blockSize+slack || len(b.buf) > 4*blockSize { // it grew for a long line
		b.buf = newBlock().buf
	}
	b.k, b.data, b.offset, b.last, b.cut = k, nil, max(0, k*blockSize-lead), false, false
	n, err := readAt(f, b.buf, b.offset)
	if err != nil {
		return err
	}
	eof := n < len(b.buf)
	skip := 0
	if k > 0 { // the block before holds the line that continues here
		if n < lead {
			return nil // the file became shorter
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

// finish reads up to the first LF at or after end, to the end of the file, or until the line is
// too long. b.buf holds n bytes of the file so far. finish returns the number of bytes up to the
// end of the block, and whether the file ends there.
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

// readAt reads until buf is full or the file ends.
func readAt(f io.ReaderAt, buf []byte, off int64) (int, error) {
	n, err := f.ReadAt(buf, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}
