package search

import (
	"bytes"
	"io"
)

// maxAround is how far from a line Around looks for its neighbors, in bytes.
const maxAround = 1 << 20

// Around returns up to n lines before the line at offset at, and up to n lines after it. The line
// has size bytes. Around searches about 1 MiB on each side, and shortens each line to maxText
// bytes. After a final LF there is one more, empty line.
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
			lines = lines[1:] // the first line begins before buf
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
		lines := bytes.Split(buf[:m], lf)[1:] // the first is the end of the line before
		if int64(m) == size {
			lines = lines[:max(0, len(lines)-1)] // the last line continues after buf
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
