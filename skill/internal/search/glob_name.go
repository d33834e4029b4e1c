package search

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether a name matches a pattern: * is any characters, ? is one character, [a-z]
// is one of a set, and [!a-z] is one outside it. A [ that is never closed is a plain character, as
// is a special character after a backslash.
func Match(pattern, name string) bool {
	star, mark := -1, 0 // where to retry: after the last * in pattern, and after the text that * took
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, mark = p, n
			continue
		}
		if width, size, ok := matchElement(pattern[p:], name[n:]); ok {
			p += width
			n += size
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchElement compares the first element of a pattern with the first character of name, and returns the
// size of both. The element is not a *.
func matchElement(pattern, name string) (width, size int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	r, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '\\':
		if len(pattern) > 1 && strings.IndexByte(`*?[]{}\`, pattern[1]) >= 0 {
			return 2, 1, pattern[1] == name[0]
		}
	case '?':
		return 1, size, true
	case '[':
		if end := classEnd(pattern); end > 0 {
			return end + 1, size, inClass(pattern[1:end], r)
		}
	}
	want, width := utf8.DecodeRuneInString(pattern)
	if want == utf8.RuneError { // not UTF-8: compare bytes
		return 1, 1, pattern[0] == name[0]
	}
	return width, size, want == r
}

// classEnd returns the offset of the ] that closes the class at the start of pattern, or 0. A ]
// at the start of the class belongs to it.
func classEnd(pattern string) int {
	i := 1
	if i < len(pattern) && pattern[i] == '!' {
		i++
	}
	if i < len(pattern) && pattern[i] == ']' {
		i++
	}
	if j := strings.IndexByte(pattern[min(i, len(pattern)):], ']'); j >= 0 {
		return i + j
	}
	return 0
}

// inClass reports whether r is in a class, given as the text between its brackets.
func inClass(class string, r rune) bool {
	class, negated := strings.CutPrefix(class, "!")
	set := []rune(class)
	for i := 0; i < len(set); i++ {
		lo, hi := set[i], set[i]
		if i+2 < len(set) && set[i+1] == '-' {
			hi = set[i+2]
			i += 2
		}
		if lo <= r && r <= hi {
			return !negated
		}
	}
	return negated
}
