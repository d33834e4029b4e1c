package dialect

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// shownText is the text that a terminal shows once a program has printed all of its output: of
// a line that is drawn again and again, the last state, and no colours.
func shownText(text string) string {
	lone := strings.Count(text, "\r") > strings.Count(text, "\r\n")
	if !lone && !strings.ContainsAny(text, "\x1b\b") {
		return text
	}
	s := &screen{lines: [][]rune{nil}}
	for text != "" {
		if text[0] == '\x1b' {
			text = s.escape(text)
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if text = text[size:]; r == utf8.RuneError && size == 1 {
			r = '\ufffd'
		}
		s.put(r)
	}
	var b strings.Builder
	for i, line := range s.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(line))
	}
	return b.String()
}

// A screen is what a terminal shows, of any height and width.
type screen struct {
	lines    [][]rune
	row, col int
	padded   int // blanks before what codes have moved to the right
}

// The limits of codes that move to the right: how far one may, and how many blanks all may make.
const (
	maxColumn = 1000
	maxPadded = 1 << 20
)

func (s *screen) put(r rune) {
	switch r {
	case '\n':
		s.col = 0
		if s.row++; s.row == len(s.lines) {
			s.lines = append(s.lines, nil)
		}
	case '\r':
		s.col = 0
	case '\b':
		s.col = max(0, s.col-1)
	case '\a':
	default:
		line := s.lines[s.row]
		for ; len(line) < s.col && s.padded < maxPadded; s.padded++ {
			line = append(line, ' ')
		}
		s.col = min(s.col, len(line))
		if s.col < len(line) {
			line[s.col] = r
		} else {
			line = append(line, r)
		}
		s.lines[s.row] = line
		s.col++
	}
}

// escape carries out the code that a text begins with, and returns the rest of the text.
func (s *screen) escape(text string) string {
	if len(text) < 2 {
		return ""
	}
	switch text[1] {
	case '[':
		end := strings.IndexFunc(text[2:], func(r rune) bool { return r < ' ' || '@' <= r })
		if end < 0 {
			return ""
		}
		if code := text[2+end]; code >= '@' && code < utf8.RuneSelf {
			s.control(text[2:2+end], code)
			return text[3+end:]
		}
		return text[2+end:]
	case ']', 'P', '_', '^', 'X': // a title, a link and the like, up to BEL or ESC \
		end := strings.IndexAny(text[2:], "\a\x1b\n")
		if end < 0 {
			return ""
		}
		rest := text[2+end:]
		return strings.TrimPrefix(strings.TrimPrefix(rest, "\a"), "\x1b\\")
	case '(', ')', '*', '+', '#', '%', ' ':
		return text[min(3, len(text)):]
	}
	if text[1] >= utf8.RuneSelf {
		return text[1:]
	}
	return text[2:]
}

// control carries out a code that begins with ESC [.
func (s *screen) control(args string, code byte) {
	first, _, _ := strings.Cut(args, ";")
	n := 0
	for _, r := range first {
		if r < '0' || '9' < r {
			return // of a mode of the terminal
		}
		n = min(n*10+int(r-'0'), maxColumn)
	}
	by := max(1, n)
	switch code {
	case 'A', 'F':
		s.row = max(0, s.row-by)
	case 'B', 'E':
		s.row = min(len(s.lines)-1, s.row+by)
	case 'C':
		s.col = min(s.col+by, max(maxColumn, len(s.lines[s.row])))
	case 'D':
		s.col = max(0, s.col-by)
	case 'G':
		s.col = by - 1
	case 'K':
		s.erase(n)
	case 'J':
		if n == 0 {
			s.erase(0)
			s.lines = s.lines[:s.row+1]
		} else {
			s.lines, s.row, s.col = [][]rune{nil}, 0, 0
		}
	}
	if code == 'E' || code == 'F' {
		s.col = 0
	}
}

// erase removes the rest of the line, its beginning or all of it.
func (s *screen) erase(part int) {
	line := s.lines[s.row]
	switch at := min(s.col, len(line)); part {
	case 0:
		line = line[:at]
	case 1:
		for i := range line[:at] {
			line[i] = ' '
		}
	case 2:
		line = nil
	}
	s.lines[s.row] = slices.Clip(line)
}
