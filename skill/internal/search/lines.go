package search

import (
	"bytes"
	"unicode/utf8"
)

// A Line is a line of a file that matches.
type Line struct {
	Number int    // counted from 1
	Offset int64  // of its first byte in the file
	Text   []byte // without the LF; a CR at the end stays
}

var lf = []byte("\n")

// lines appends the lines of buf that match to list. offset is the offset of buf in its file; the
// first line of buf has number 1. The lines share memory with buf. counted is the start of the last match.
func (m *matcher) lines(list []Line, buf []byte, offset int64) (all []Line, counted int) {
	m.begin()
	number := 1
	for from := 0; ; {
		start, end, ok := m.next(buf, from)
		if !ok {
			return list, counted
		}
		number += bytes.Count(buf[counted:start], lf)
		counted = start
		list = append(list, Line{number, offset + int64(start), buf[start:end]})
		from = min(end+1, len(buf))
	}
}

// Skip returns how many bytes of a matching line to skip, so that the next n bytes show the start
// of the match.
func (p *Pattern) Skip(line []byte, n int) (at int) {
	if len(line) <= n {
		return 0
	}
	if match := p.re.FindIndex(line); match != nil {
		at = max(0, min(match[0]-n/4, len(line)-n))
	}
	for at > 0 && !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// Shorten returns at most the first n bytes of a line. It does not split a character.
func Shorten(line []byte, n int) []byte {
	if len(line) <= n {
		return line
	}
	end := n
	for end > 0 && n-end < utf8.UTFMax && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}
