package skill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"
	"unicode/utf8"

	"textskill/skill/internal/words"
)

// ReadFile reads a file or, with Lines, its lines [From, To), counted from 0. Negative
// numbers count from the end; To may be [End]. Text in another encoding than UTF-8 is
// read as UTF-8, see [FileRead.Encoding]. It returns a [FileRead].
type ReadFile struct {
	Path         string
	Lines        bool
	From, To     int
	Split        bool  // split at LF only: CR is kept, and after a final LF there is one more, empty line
	AllowPartial bool  // read only the beginning of what is too large for one answer, instead of a [*TooLargeError]
	MaxBytes     int64 // size of the largest answer; 0 means Config.MaxRead
}

// End as [ReadFile].To means the end of the file.
const End = math.MaxInt

func (ReadFile) op() {}

// FileRead is the result of [ReadFile].
type FileRead struct {
	Path     string // absolute
	Content  []byte // the file's bytes, or the lines joined by LF, without a final LF
	Size     int64  // of the file in bytes; 0 if only some of its lines were read
	Lines    int    // with Split, lines of the whole file
	To       int    // with Split, the line after the last one of Content
	Partial  bool   // Content is only the beginning
	LineCut  bool   // the last line of Content is only the beginning of a line
	Encoding string // the file's encoding as the WHATWG names it, like "utf-16le"; "" if it is UTF-8 or no text
	NotText  bool   // Content is not UTF-8: the file is in no known encoding
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
	a.MaxBytes = cmp.Or(a.MaxBytes, x.cfg.MaxRead)
	if a.Split && !a.Lines {
		a.Lines, a.From, a.To = true, 0, End
	}
	if !a.Lines || a.Split {
		data, err := x.ws.ReadUpTo(abs, a.MaxBytes)
		if err == nil {
			return readAll(abs, data, a), nil
		}
		if !errors.Is(err, syscall.EFBIG) {
			return nil, err
		}
	}
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, size, encoding, err := asText(f, info.Size)
	if err != nil {
		return nil, err
	}
	r := FileRead{Path: abs, Encoding: encoding}
	switch {
	case !a.Lines:
		r.Size = info.Size
		err = readStart(&r, src, size, a)
	case a.Split:
		err = readSplit(ctx, &r, src, size, a)
	default:
		err = readLines(&r, src, size, a)
	}
	r.NotText = !utf8.Valid(r.Content)
	return r, err
}

// readAll returns the answer from a file's whole content.
func readAll(abs string, data []byte, a ReadFile) FileRead {
	text, encoding, ok := decode(data)
	r := FileRead{Path: abs, Content: text, Size: int64(len(data)), Encoding: encoding, NotText: !ok}
	if a.Split {
		split(&r, a)
	}
	return r
}

// readStart reads as much of a file as fits in one answer.
func readStart(r *FileRead, src io.ReaderAt, size int64, a ReadFile) error {
	if size > a.MaxBytes && !a.AllowPartial {
		return &TooLargeError{r.Path, size, a.MaxBytes}
	}
	r.Partial = size > a.MaxBytes
	data, err := readRange(src, 0, min(size, a.MaxBytes))
	r.Content = data
	if r.Partial {
		r.Content = wholeRunes(data)
	}
	return err
}

// readRange returns the bytes [from, to) of src, or those that there are.
func readRange(src io.ReaderAt, from, to int64) ([]byte, error) {
	data := make([]byte, max(0, to-from))
	n, err := src.ReadAt(data, from)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// wholeRunes returns data without the first bytes of a character at its end.
func wholeRunes(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if c := data[len(data)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(data[len(data)-i:]) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

func readLines(r *FileRead, src io.ReaderAt, size int64, a ReadFile) error {
	tooLarge := &TooLargeError{r.Path, 0, a.MaxBytes}
	most := int64(math.MaxInt64) // bytes in which From must be found
	if a.From < 0 && a.To == End {
		most = a.MaxBytes
	}
	from, err := lineOffset(src, size, 0, a.From, most)
	if err == errFar {
		return tooLarge
	}
	to := size
	switch {
	case err != nil || a.To == End:
	case a.To >= 0 && a.From >= 0:
		to, err = lineOffset(src, size, from, max(0, a.To-a.From), a.MaxBytes)
	default:
		to, err = lineOffset(src, size, 0, a.To, math.MaxInt64)
	}
	if err == errFar || err == nil && to-from > a.MaxBytes {
		return tooLarge
	}
	if err != nil {
		return err
	}
	data, err := readRange(src, from, to)
	r.Content = bytes.TrimSuffix(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"))
	return err
}

const block = 64 << 10

// errFar is the error of lineOffset if the offset is farther away than it may be.
var errFar = errors.New("the line is too far away")

// lineOffset returns the offset of the line n lines after the offset start or, if n is
// negative, -n lines before the end of the file, limited to the ends of the file. If
// that is more than most bytes away, it reads no further and returns errFar.
func lineOffset(src io.ReaderAt, size, start int64, n int, most int64) (int64, error) {
	if n < 0 {
		return lineOffsetBack(src, size, -n, most)
	}
	buf := make([]byte, block)
	for at, begin := start, start; n > 0; {
		if at-begin > most {
			return 0, errFar
		}
		m, err := src.ReadAt(buf, at)
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
func lineOffsetBack(src io.ReaderAt, size int64, n int, most int64) (int64, error) {
	buf := make([]byte, block)
	last := true // the newline that ends the file starts no line
	for end := size; end > 0; {
		if size-end > most {
			return 0, errFar
		}
		at := max(0, end-block)
		m, err := src.ReadAt(buf[:end-at], at)
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
