package skill

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"unicode/utf8"

	"textskill/skill/internal/workspace/tree"
)

// readLines reads the lines of an answer without Split. They end where Python's
// str.splitlines ends them: at LF, CR, CRLF and eight other characters.
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
	r.Content = joinLines(data)
	return err
}

// joinLines puts LF for each line break of data, none for one at its end.
func joinLines(data []byte) []byte {
	lines := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		n := breakAt(data, i)
		if n == 0 {
			lines = append(lines, data[i])
			n = 1
		} else if i+n < len(data) {
			lines = append(lines, '\n')
		}
		i += n
	}
	return lines
}

// breakAt returns the length of the line break that begins at data[i], 0 if none does.
// The LF of a CRLF begins none.
func breakAt(data []byte, i int) int {
	if breaks[data[i]] == 0 {
		return 0
	}
	switch rest := data[i:]; rest[0] {
	case '\r':
		if len(rest) > 1 && rest[1] == '\n' {
			return 2
		}
	case '\n':
		if i > 0 && data[i-1] == '\r' {
			return 0
		}
	case 0xc2: // U+0085
		if len(rest) < 2 || rest[1] != 0x85 {
			return 0
		}
		return 2
	case 0xe2: // U+2028 and U+2029
		if len(rest) < 3 || rest[1] != 0x80 || rest[2]&^1 != 0xa8 {
			return 0
		}
		return 3
	}
	return 1
}

// breaks are the bytes that a line break may begin with.
var breaks = [256]byte{'\n': 1, '\v': 1, '\f': 1, '\r': 1, 0x1c: 1, 0x1d: 1, 0x1e: 1, 0xc2: 1, 0xe2: 1}

const (
	block = 64 << 10
	ahead = 2 // bytes of a line break after its first
)

// errFar is the error of lineOffset if the offset is farther away than it may be.
var errFar = errors.New("the line is too far away")

// lineOffset returns the offset of the line n lines after the offset start or, if n is
// negative, -n lines before the end of the file, limited to the ends of the file. If
// that is more than most bytes away, it reads no further and returns errFar.
func lineOffset(src io.ReaderAt, size, start int64, n int, most int64) (int64, error) {
	if n < 0 {
		return lineOffsetBack(src, size, -n, most)
	}
	buf := make([]byte, block+ahead)
	for at := start; n > 0 && at < size; {
		if at-start > most {
			return 0, errFar
		}
		m, err := src.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		i := 0
		for i < min(m, block) && n > 0 {
			if length := breakAt(buf[:m], i); length > 0 {
				i += length
				n--
			} else {
				i++
			}
		}
		at += int64(i)
		if n == 0 {
			return at, nil
		}
		if i == 0 {
			break // the file has become shorter
		}
	}
	if n > 0 {
		return size, nil
	}
	return start, nil
}

// lineOffsetBack returns the offset of the last n lines. It reads backwards from the end.
func lineOffsetBack(src io.ReaderAt, size int64, n int, most int64) (int64, error) {
	buf := make([]byte, 1+block+ahead)
	for end := size; end > 0; {
		if size-end > most {
			return 0, errFar
		}
		at := max(0, end-block)
		first := max(0, at-1) // to see the CR before an LF
		m, err := src.ReadAt(buf[:min(size, end+ahead)-first], first)
		if err != nil && err != io.EOF {
			return 0, err
		}
		for i := min(m, int(end-first)) - 1; i >= int(at-first); i-- {
			length := breakAt(buf[:m], i)
			if after := first + int64(i+length); length > 0 && after < size { // the last break starts no line
				if n--; n == 0 {
					return after, nil
				}
			}
		}
		end = at
	}
	return 0, nil
}

// lineIndex returns at limited to 0 through n; a negative at counts from the end.
func lineIndex(at, n int) int {
	if at < 0 {
		at += n
	}
	return max(0, min(at, n))
}

// skipLines returns the offset after the first n lines of data, and how many of the n are
// missing. A last line without LF is skipped but counts as missing.
func skipLines(data []byte, n int) (end, left int) {
	for ; n > 0; n-- {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return len(data), n
		}
		end += i + 1
	}
	return end, 0
}

// readSplit reads lines that end at LF, and counts the lines of the whole file. It needs memory for
// the answer only.
func readSplit(ctx context.Context, r *FileRead, src io.ReaderAt, size int64, a ReadFile) error {
	if a.From < 0 || a.To < 0 {
		lines, err := countLines(ctx, src, size)
		if err != nil {
			return err
		}
		a.From, a.To = lineIndex(a.From, lines), lineIndex(a.To, lines)
	}
	skip, want := a.From, max(0, a.To-a.From)
	err := eachBlock(ctx, src, size, func(part []byte) (zeros bool) {
		r.Lines += bytes.Count(part, []byte("\n"))
		end, left := skipLines(part, skip)
		if skip = left; skip > 0 || want == 0 {
			return false
		}
		part = part[end:]
		end, want = skipLines(part, want)
		if len(r.Content) > 0 && cap(r.Content) < len(r.Content)+end { // a long answer grows once
			r.Content = slices.Grow(r.Content, int(min(a.MaxBytes, size))+block-len(r.Content))
		}
		r.Content = append(r.Content, part[:end]...)
		if int64(len(r.Content)) > a.MaxBytes {
			r.Partial, want = true, 0
		}
		return want > 0
	})
	r.Lines++
	switch {
	case err != nil:
		return err
	case r.Partial && !a.AllowPartial:
		return &TooLargeError{r.Path, size, a.MaxBytes}
	case r.Partial:
		cut(r, a)
	case want == 0:
		r.Content = bytes.TrimSuffix(r.Content, []byte("\n"))
		r.To = min(max(a.From, a.To), r.Lines)
	default:
		r.To = r.Lines
	}
	return nil
}

// cut drops what does not fit from the end of r: the last lines or, if only one line is
// left, the rest of that.
func cut(r *FileRead, a ReadFile) {
	if end := bytes.LastIndexByte(r.Content[:a.MaxBytes+1], '\n'); end >= 0 {
		r.To = a.From + bytes.Count(r.Content[:end+1], []byte("\n"))
		r.Content = r.Content[:end]
		return
	}
	r.Content, r.To, r.LineCut = wholeRunes(r.Content[:a.MaxBytes]), a.From+1, true
}

func countLines(ctx context.Context, src io.ReaderAt, size int64) (int, error) {
	n := 1
	err := eachBlock(ctx, src, size, func(part []byte) (zeros bool) {
		n += bytes.Count(part, []byte("\n"))
		return false
	})
	return n, err
}

// eachBlock calls use for each block of a file, in order, and leaves out the holes of a
// sparse file, which hold no line end, unless use has asked for zeros.
func eachBlock(ctx context.Context, src io.ReaderAt, size int64, use func(part []byte) (zeros bool)) error {
	f, isFile := src.(*os.File)
	buf := make([]byte, min(block, max(size, 0)))
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		at += int64(n)
		if zeros := use(buf[:n]); !zeros && isFile && at < size {
			at, _ = tree.DataRange(f, at, size)
		}
	}
	return nil
}

// maxPiece is how many bytes of each of several lines are read.
const maxPiece = 4000

// A LineCut is a line whose beginning alone was read.
type LineCut struct {
	Line  int // from 0
	Bytes int // that were read
	Size  int // bytes of the line, without its end
}

// partLines reads the lines [from, to) of a text, and as much of each as an answer has of
// several.
type partLines struct {
	from, to, room int
	most           int // bytes of each line: of the first, all that have room, until another one comes
	line           int // the line that is read
	start          int // where it begins in content
	size           int // its bytes so far
	content        []byte
	cuts           []LineCut
	lines          int // of the whole text
	full           bool
}

// readPartLines fills a part with lines of src, as many as room has space for.
func readPartLines(ctx context.Context, part *FilePart, src io.ReaderAt, size int64, f FileRange, room int64) error {
	from, to := f.From, f.To
	if from < 0 {
		lines, err := countLines(ctx, src, size)
		if err != nil {
			return err
		}
		if endsLine(src, size) {
			lines--
		}
		from = lineIndex(from, lines)
	}
	p := partLines{from: from, to: max(from, to), room: int(room), most: int(room)}
	p.line = from
	skip := from
	last := byte('\n')
	err := eachBlock(ctx, src, size, func(block []byte) (zeros bool) {
		p.lines += bytes.Count(block, []byte("\n"))
		last = block[len(block)-1]
		end, left := skipLines(block, skip)
		if skip = left; skip > 0 {
			return false
		}
		if p.content == nil {
			p.content = make([]byte, 0, min(len(block)-end, p.room)+1)
		}
		for block = block[end:]; len(block) > 0 && p.line < p.to && !p.full; {
			n := len(block)
			if i := bytes.IndexByte(block, '\n'); i >= 0 {
				n = i + 1
			}
			p.add(block[:n])
			block = block[n:]
		}
		return p.line < p.to && !p.full
	})
	if err != nil {
		return err
	}
	if last != '\n' {
		p.lines++
	}
	if p.size > 0 {
		p.end(false)
	}
	part.Content, part.Cuts, part.Lines, part.To = p.content, p.cuts, p.lines, p.line
	if part.From = from; p.content == nil {
		part.Content = []byte{}
	}
	part.LineCut = len(p.cuts) > 0 && p.line == from+1
	part.NotText = !utf8.Valid(p.content)
	return nil
}

// add adds a piece of the line that is read; the last one ends with LF.
func (p *partLines) add(piece []byte) {
	text := bytes.TrimSuffix(piece, []byte("\n"))
	if p.line == p.from+1 && p.most > maxPiece {
		p.several()
	}
	if room := p.most - p.size; room > 0 {
		p.content = append(p.content, text[:min(room, len(text))]...)
	}
	if p.size += len(text); len(text) < len(piece) {
		p.end(true)
	}
}

// several cuts the first line, because it is not the only one.
func (p *partLines) several() {
	p.most = maxPiece
	first := bytes.TrimSuffix(p.content, []byte("\n"))
	size := len(first)
	if len(p.cuts) > 0 {
		size = p.cuts[0].Size
	}
	if size <= p.most {
		return
	}
	first = wholeRunes(first[:min(p.most, len(first))])
	p.cuts = []LineCut{{Line: p.from, Bytes: len(first), Size: size}}
	p.content = append(first, '\n')
	p.start = len(p.content)
}

// end ends the line that is read.
func (p *partLines) end(broken bool) {
	cut := LineCut{Line: p.line, Size: p.size}
	if p.size > p.most {
		p.content = append(p.content[:p.start], wholeRunes(p.content[p.start:])...)
		cut.Bytes = len(p.content) - p.start
	}
	if len(p.content)+1 > p.room && p.start > 0 {
		p.content, p.full, p.size = p.content[:p.start], true, 0
		return
	}
	if broken {
		p.content = append(p.content, '\n')
	}
	if cut.Bytes > 0 || p.size > p.most {
		p.cuts = append(p.cuts, cut)
	}
	p.line, p.start, p.size = p.line+1, len(p.content), 0
}

// readLineFrom fills a part with the bytes of the line f.From from f.At on.
func readLineFrom(ctx context.Context, part *FilePart, src io.ReaderAt, size int64, f FileRange, room int64) error {
	line, at := f.From, f.At
	start, end, passed, lines := int64(-1), int64(-1), int64(0), 0
	skip := line
	if skip == 0 {
		start = 0
	}
	err := eachBlock(ctx, src, size, func(block []byte) (zeros bool) {
		lines += bytes.Count(block, []byte("\n"))
		done, left := skipLines(block, skip)
		if skip > 0 && left == 0 {
			start = passed + int64(done)
		}
		if skip = left; skip == 0 && end < 0 {
			if i := bytes.IndexByte(block[done:], '\n'); i >= 0 {
				end = passed + int64(done+i)
			}
		}
		passed += int64(len(block))
		return true
	})
	if err != nil {
		return err
	}
	if end < 0 {
		end = size
	}
	if !endsLine(src, size) && size > 0 {
		lines++
	}
	part.Lines, part.From, part.To = lines, line, line+1
	if line >= lines {
		part.Content = []byte{}
		return nil
	}
	part.LineAt, part.LineSize = at, end-start
	from := min(start+at, end)
	data, err := readRange(src, from, min(end, from+room))
	part.Content = data
	if from+int64(len(data)) < end {
		part.Content = wholeRunes(data)
	}
	return err
}
