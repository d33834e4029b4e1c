package search

import (
	"bytes"
	"context"
	"io"
	"runtime"
)

const (
	sniffed = 8 << 10 // a file with a NUL byte in its first sniffed bytes is binary
	shared  = 8 << 20 // several goroutines search a file of this size or more
)

type source interface {
	io.Reader
	io.ReaderAt
}

// searcher searches one file at a time. Only one goroutine may use it.
type searcher struct {
	m *matcher
	b *block
	// gets the lines that match, in order; they are valid until it returns
	emit   func([]Line)
	decode func(io.ReaderAt, int64) ([]byte, bool) // as [GrepOptions.Decode]
}

// inFile is the result of the search of one file.
type inFile struct {
	count  int // lines that match
	binary bool
	cut    int // lines longer than maxLine, searched only at their beginning
}

func (p *Pattern) searcher(emit func([]Line)) *searcher {
	return &searcher{m: p.matcher(), b: newBlock(), emit: emit}
}

// file searches f, which has about the given size.
func (s *searcher) file(ctx context.Context, f source, size int64) (inFile, error) {
	n, err := fill(f, s.b.buf, size)
	if err != nil {
		return inFile{}, err
	}
	if n < len(s.b.buf) {
		f = nil
	}
	return s.searchFrom(ctx, s.b.buf[:n], f, size)
}

// searchFrom searches a file that begins with data. If rest is nil, data is the whole file;
// else rest is the file and has about the given size.
func (s *searcher) searchFrom(ctx context.Context, data []byte, rest source, size int64) (inFile, error) {
	if s.decode != nil && len(data) >= 2 &&
		(data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe &&
			data[1] == 0xff) {
		var f io.ReaderAt = rest
		if rest == nil {
			f, size = bytes.NewReader(data), int64(len(data))
		}
		if text, ok := s.decode(f, size); ok {
			data, rest = text, nil
		}
	}
	switch {
	case bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0:
		return inFile{binary: true}, nil
	case rest == nil:
		return s.whole(data), nil
	case size < shared || runtime.GOMAXPROCS(0) == 1:
		return s.blocks(ctx, rest, size)
	}
	return s.m.p.parallel(ctx, rest, size, s.emit)
}

// fill reads f until buf is full or the file ends. After size bytes it stops without another
// read.
func fill(f io.Reader, buf []byte, size int64) (n int, err error) {
	for n < len(buf) && (n == 0 || int64(n) != size) {
		m, err := f.Read(buf[n:])
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// whole searches data, which is the whole file.
func (s *searcher) whole(data []byte) (in inFile) {
	b := s.b
	b.data, b.offset, b.cut = data, 0, false
	b.last = len(data) == 0 || data[len(data)-1] == '\n'
	s.m.search(b)
	in.add(b, 0, s.emit)
	return in
}

// blocks searches a file block by block.
func (s *searcher) blocks(ctx context.Context, f io.ReaderAt, size int64) (in inFile, err error) {
	before := 0
	for k := range size/blockSize + 1 {
		if err := ctx.Err(); err != nil {
			return in, err
		}
		if err := s.b.load(f, k); err != nil {
			return in, err
		}
		s.m.search(s.b)
		s.b.count()
		in.add(s.b, before, s.emit)
		before += s.b.starts
	}
	return in, nil
}

// add counts and emits the matches of the next block. before is how many lines begin before it.
func (in *inFile) add(b *block, before int, emit func([]Line)) {
	if b.cut {
		in.cut++
	}
	for i := range b.lines {
		b.lines[i].Number += before
	}
	if in.count += len(b.lines); len(b.lines) > 0 {
		emit(b.lines)
	}
}
