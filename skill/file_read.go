package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"textskill/skill/internal/words"
)

// ReadFile reads a file whole, or with Lines set the lines [From, To) of it,
// counted from 0; negative numbers count from the end, and End is behind it.
type ReadFile struct {
	Path     string
	Lines    bool
	From, To int
	Split    bool // a line is what stands between two LF: CR stays, and behind a final LF is one more, empty
	Part     bool // of what is too large for one answer, read the beginning; else it is a [*TooLargeError]
	Count    bool // count the lines of a file that is split, however large it is
}

// End as ReadFile.To is behind the last line.
const End = math.MaxInt

func (ReadFile) op() {}

// FileRead is what was read of a file.
type FileRead struct {
	Path    string // absolute
	Content []byte // as it is in the file; of lines, joined by LF without a final one
	Size    int64  // of the file in bytes, when it was read whole
	Lines   int    // of the whole file; 0 unless it was split and small enough, or they were to be counted
	To      int    // the line behind the last one of Content, where the file was split
	Partial bool   // Content is the beginning only
}

// Message counts the bytes.
func (r FileRead) Message() string {
	return fmt.Sprintf("read %s of %s", words.Count(len(r.Content), "byte", "bytes"), r.Path)
}

func (x *Executor) readFile(ctx context.Context, s *Session, a ReadFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	if a.Lines && !a.Split {
		return x.readLines(abs, a)
	}
	data, err := x.ws.ReadUpTo(abs, x.cfg.MaxRead)
	switch {
	case errors.Is(err, syscall.EFBIG):
	case err != nil:
		return nil, err
	case a.Split:
		return split(abs, data, a), nil
	default:
		return FileRead{Path: abs, Content: data, Size: int64(len(data))}, nil
	}
	info, serr := x.ws.Stat(abs, true)
	switch {
	case serr != nil:
		return nil, serr
	case info.Size <= x.cfg.MaxRead: // more than any one read takes, or it was cut meanwhile
		return nil, err
	}
	if a.Split && a.From >= 0 && a.To >= 0 && (a.To != End || a.Part) {
		return x.readFar(ctx, abs, a)
	}
	if !a.Part {
		return nil, &TooLargeError{abs, info.Size, x.cfg.MaxRead}
	}
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data = make([]byte, x.cfg.MaxRead)
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return FileRead{Path: abs, Content: data[:n], Size: info.Size, Partial: true}, nil
}

func (x *Executor) readLines(abs string, a ReadFile) (Result, error) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from, err := lineOffset(f, info.Size, 0, a.From)
	if err != nil {
		return nil, err
	}
	to, err := info.Size, nil
	switch {
	case a.To == End:
	case a.To >= 0 && a.From >= 0:
		to, err = lineOffset(f, info.Size, from, max(0, a.To-a.From))
	default:
		to, err = lineOffset(f, info.Size, 0, a.To)
	}
	if err != nil {
		return nil, err
	}
	if to-from > x.cfg.MaxRead {
		return nil, &TooLargeError{abs, to - from, x.cfg.MaxRead}
	}
	data := make([]byte, max(0, to-from))
	if _, err := f.ReadAt(data, from); err != nil && err != io.EOF {
		return nil, err
	}
	data = bytes.TrimSuffix(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"))
	return FileRead{Path: abs, Content: data}, nil
}

const block = 64 << 10

// lineOffset returns where line n starts, counted from the offset start, or if n
// is negative from the end of the file. Past either end it is that end.
func lineOffset(f *os.File, size, start int64, n int) (int64, error) {
	if n < 0 {
		return lineOffsetBack(f, size, -n)
	}
	buf := make([]byte, block)
	for at := start; n > 0; {
		m, err := f.ReadAt(buf, at)
		for data := buf[:m]; n > 0; n-- {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				break
			}
			data = data[i+1:]
			start = at + int64(m-len(data))
		}
		at += int64(m)
		if n > 0 && err == io.EOF {
			return size, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
	}
	return start, nil
}

// lineOffsetBack returns where the last n lines start. It reads from the end.
func lineOffsetBack(f *os.File, size int64, n int) (int64, error) {
	buf := make([]byte, block)
	last := true // the newline that ends the file starts no line
	for end := size; end > 0; {
		at := max(0, end-block)
		m, err := f.ReadAt(buf[:end-at], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		data := buf[:m]
		if last {
			data = bytes.TrimSuffix(data, []byte("\n"))
			last = false
		}
		for {
			i := bytes.LastIndexByte(data, '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				return at + int64(i) + 1, nil
			}
			data = data[:i]
		}
		end = at
	}
	return 0, nil
}
