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

// ReadFile reads a file or, with Lines, its lines [From, To), counted from 0. Negative
// numbers count from the end; To may be [End]. It returns a [FileRead].
type ReadFile struct {
	Path         string
	Lines        bool
	From, To     int
	Split        bool // split at LF only: CR is kept, and after a final LF there is one more, empty line
	AllowPartial bool // read only the beginning of what is too large for one answer, instead of a [*TooLargeError]
	Count        bool // with Split, count the lines of the whole file, whatever its size
}

// End as [ReadFile].To means the end of the file.
const End = math.MaxInt

func (ReadFile) op() {}

// FileRead is the result of [ReadFile].
type FileRead struct {
	Path    string // absolute
	Content []byte // the file's bytes, or the lines joined by LF, without a final LF
	Size    int64  // of the file in bytes; 0 if only some of its lines were read
	Lines   int    // with Split, lines of the whole file; 0 if it exceeds Config.MaxRead and Count is not set
	To      int    // with Split, the line after the last one of Content
	Partial bool   // Content is only the beginning
}

// Message says how many bytes were read.
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
	case info.Size <= x.cfg.MaxRead: // the file was truncated meanwhile
		return nil, err
	}
	if a.Split && a.From >= 0 && a.To >= 0 && (a.To != End || a.AllowPartial) {
		return x.readLargeSplit(ctx, abs, a)
	}
	if !a.AllowPartial {
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

// lineOffset returns the offset of the line n lines after the offset start or, if n is
// negative, -n lines before the end of the file, limited to the ends of the file.
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

// lineOffsetBack returns the offset of the last n lines. It reads backwards from the end.
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
