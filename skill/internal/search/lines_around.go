package search

import (
	"bytes"
	"io"
)

// maxAround is how far from a line its neighbours are looked for, in bytes.
const maxAround = 1 << 20

// Around returns up to n lines before the one of size bytes at the offset at, and up
// to n after it, as far as they lie within 1 MiB of it, each shortened to maxText
// bytes. Behind a final LF is one more line, empty.
func Around(f io.ReaderAt, at int64, size, n, maxText int) (before, after []string, err error) {
	if n <= 0 {
		return nil, nil, nil
	}
	if before, err = linesBefore(f, at, n, maxText); err != nil {
		return nil, nil, err
	}
	after, err = linesAfter(f, at+int64(size), n, maxText)
	return before, after, err
}

// linesBefore returns the n lines that end at the offset at, where a line begins.
func linesBefore(f io.ReaderAt, at int64, n, maxText int) ([]string, error) {
	if at == 0 {
		return nil, nil
	}
	for size := int64(4 << 10); ; size *= 4 {
		from := max(0, at-size)
		buf := make([]byte, at-from)
		m, err := readAt(f, buf, from)
		if err != nil {
			return nil, err
		}
		lines := bytes.Split(bytes.TrimSuffix(buf[:m], lf), lf)
		if from > 0 {
			lines = lines[1:] // it begins further ahead
		}
		if len(lines) >= n || from == 0 || size >= maxAround {
			return texts(lines[max(0, len(lines)-n):], maxText), nil
		}
	}
}

// linesAfter returns the n lines after the LF at the offset at.
func linesAfter(f io.ReaderAt, at int64, n, maxText int) ([]string, error) {
	for size := int64(4 << 10); ; size *= 4 {
		buf := make([]byte, size)
		m, err := readAt(f, buf, at)
		if err != nil || m == 0 {
			return nil, err
		}
		lines := bytes.Split(buf[:m], lf)[1:] // the first is what stands before the LF
		if int64(m) == size {
			lines = lines[:max(0, len(lines)-1)] // it ends later
		}
		if len(lines) >= n || int64(m) < size || size >= maxAround {
			return texts(lines[:min(n, len(lines))], maxText), nil
		}
	}
}

func texts(lines [][]byte, maxText int) []string {
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = string(Shorten(line, maxText))
	}
	return texts
}
