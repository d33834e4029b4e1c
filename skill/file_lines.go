package skill

import (
	"errors"
	"io"
	"math"
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
