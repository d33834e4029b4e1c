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
// numbers count from the end; To may be [End]. Lines end where Python ends them, also at a
// lone CR, at a form feed and at U+2028. Text in another encoding than UTF-8 is
// read as UTF-8, see [FileRead.Encoding]. It returns a [FileRead].
type ReadFile struct {
	Path     string
	Lines    bool
	From, To int
	Split    bool // split at LF only: CR is kept, and after a final LF there is one more, empty line
	// read only the beginning of what is too large for one answer, instead of a [*TooLargeError]
	AllowPartial bool
	MaxBytes     int64 // size of the largest answer; 0 means Config.MaxRead
}

// End as [ReadFile].To means the end of the file.
const End = math.MaxInt

func (ReadFile) op() {}

// FileRead is the result of [ReadFile].
type FileRead struct {
	Path    string // absolute
	Content []byte // the file's bytes, or the lines joined by LF, without a final LF
	Size    int64  // of the file in bytes; 0 if only some of its lines were read
	Lines   int    // with Split, lines of the whole file
	To      int    // with Split, the line after the last one of Content
	Partial bool   // Content is only the beginning
	LineCut bool   // the last line of Content is only the beginning of a line
	// the file's encoding as the WHATWG names it, like "utf-16le"; "" if it is UTF-8 or no text
	Encoding string
	NotText  bool // Content is not UTF-8: the file is in no known encoding
}

// Message says how many bytes were read.
func (r FileRead) Message() string {
	return fmt.Sprintf("read %s of %s", words.Count(len(r.Content), "byte", "bytes"), r.Path)
}

func (x *Executor) ReadFile(ctx context.Context, s *Session, a ReadFile) (FileRead, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return FileRead{}, err
	}
	a.MaxBytes = cmp.Or(a.MaxBytes, x.cfg.MaxRead)
	if a.Split && !a.Lines {
		a.Lines, a.From, a.To = true, 0, End
	}
	if !a.Lines || a.Split {
		data, err := x.ws.ReadUpTo(abs, a.MaxBytes)
		if err == nil {
			return readAll(ctx, abs, data, a)
		}
		if !errors.Is(err, syscall.EFBIG) {
			return FileRead{}, err
		}
	}
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return FileRead{}, err
	}
	defer f.Close()
	src, size, encoding, err := asText(f, info.Size)
	if err != nil {
		return FileRead{}, err
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
func readAll(ctx context.Context, abs string, data []byte, a ReadFile) (r FileRead, err error) {
	text, encoding, ok := decode(data)
	r = FileRead{Path: abs, Content: text, Size: int64(len(data)), Encoding: encoding, NotText: !ok}
	if a.Split {
		r.Content = nil
		err = readSplit(ctx, &r, bytes.NewReader(text), int64(len(text)), a)
	}
	return r, err
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
