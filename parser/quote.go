package parser

import (
	"strings"
	"unicode/utf8"

	"github.com/google/shlex"
)

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// quotedWord reads the word that s begins with by shell quoting rules: it ends
// at the first white space outside quotes, or with s. size is its length in s.
// ok is false when a quote does not close, or a backslash ends s.
func quotedWord(s string) (word string, size int, ok bool) {
	size, ok = quotedSize(s)
	if !ok {
		return "", 0, false
	}
	word, ok = unquote(s[:size])
	return word, size, ok
}

func quotedSize(s string) (size int, ok bool) {
	var open byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && open != '\'':
			if i++; i == len(s) {
				return 0, false
			}
		case c == open:
			open = 0
		case open != 0:
		case isQuote(c):
			open = c
		case spaceSize(s, i) > 0:
			return i, true
		}
	}
	return len(s), open == 0
}

// unquote removes the quotes and backslashes of one word. It may hold white space
// that shlex does not know, but only in quotes, where shlex keeps everything. A word
// that is not UTF-8 goes through shlex one byte per character, which keeps its bytes.
//
// A word in one pair of quotes, as most are, needs no shlex, whose tables and buffer
// take 20 µs to make.
func unquote(s string) (word string, ok bool) {
	if n := len(s) - 1; n > 0 && isQuote(s[0]) && strings.IndexByte(s[1:], s[0]) == n-1 &&
		(s[0] == '\'' || strings.IndexByte(s, '\\') < 0) {
		return s[1:n], true
	}
	if utf8.ValidString(s) {
		words, err := shlex.Split(s)
		return strings.Join(words, ""), err == nil && len(words) == 1
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	words, err := shlex.Split(string(runes))
	if err != nil || len(words) != 1 {
		return "", false
	}
	bytes := make([]byte, 0, len(s))
	for _, r := range words[0] {
		bytes = append(bytes, byte(r))
	}
	return string(bytes), true
}
