package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A JSON string may hold half of a surrogate pair, as in "\ud800", which is not a
// character but passes through JavaScript unharmed. [Unquote] keeps such a half as
// the three bytes that UTF-8 would have for it, [AppendString] prints it as it
// came, and [ReplaceHalves] makes it U+FFFD where only UTF-8 will do.

// String decodes a JSON string; halves of surrogate pairs become U+FFFD. ok is
// false for any other value, which must be valid JSON or empty.
func String(value json.RawMessage) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return ReplaceHalves(Unquote(value)), true
}

// Unquote decodes a valid JSON string and keeps halves of surrogate pairs. Bytes
// that are not UTF-8 are replaced as by [WellFormed].
func Unquote(value []byte) string {
	value = value[1 : len(value)-1]
	if !utf8.Valid(value) {
		value = []byte(WellFormed(string(value)))
	}
	i := bytes.IndexByte(value, '\\')
	if i < 0 {
		return string(value)
	}
	text := make([]byte, 0, len(value))
	for ; i >= 0; i = bytes.IndexByte(value, '\\') {
		text = append(text, value[:i]...)
		text, value = unescape(text, value[i:])
	}
	return string(append(text, value...))
}

// unescape appends to b what the escape stands for that s begins with, and returns
// what follows it in s.
func unescape(b, s []byte) (_, rest []byte) {
	switch c := s[1]; c {
	case 'u':
		r, rest := codeUnit(s), s[6:]
		if utf16.IsSurrogate(r) && bytes.HasPrefix(rest, []byte(`\u`)) {
			if pair := utf16.DecodeRune(r, codeUnit(rest)); pair != utf8.RuneError {
				r, rest = pair, rest[6:]
			}
		}
		return appendRune(b, r), rest
	case 'b', 't', 'n', 'f', 'r':
		return append(b, "\b\t\n\f\r"[strings.IndexByte("btnfr", c)]), s[2:]
	default:
		return append(b, c), s[2:]
	}
}

// codeUnit returns the UTF-16 unit of the escape \uXXXX that s begins with.
func codeUnit(s []byte) rune {
	n, _ := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n)
}

// appendRune is utf8.AppendRune, but keeps halves of surrogate pairs.
func appendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

// half returns the half of a surrogate pair that s begins with, 0 if it does not.
func half(s string) rune {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xe0 != 0xa0 || s[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// IndexHalf returns the first half of a surrogate pair in s and its index in bytes;
// the index is -1 for none.
func IndexHalf(s string) (i int, code rune) {
	for ; ; i++ {
		next := strings.IndexByte(s[i:], 0xed)
		if next < 0 {
			return -1, 0
		}
		i += next
		if code = half(s[i:]); code != 0 {
			return i, code
		}
	}
}

// ReplaceHalves returns s with U+FFFD for each half of a surrogate pair.
func ReplaceHalves(s string) string { return withoutHalves(s, false) }

// JoinHalves joins the halves of surrogate pairs that stand next to each other in s, as in a
// text that came in pieces, and replaces others by U+FFFD.
func JoinHalves(s string) string { return withoutHalves(s, true) }

func withoutHalves(s string, join bool) string {
	i, _ := IndexHalf(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i, _ = IndexHalf(s) {
		r, size := utf8.RuneError, 3
		if pair := utf16.DecodeRune(half(s[i:]), half(s[i+3:])); join && pair != utf8.RuneError {
			r, size = pair, 6
		}
		b.WriteString(s[:i])
		b.WriteRune(r)
		s = s[i+size:]
	}
	b.WriteString(s)
	return b.String()
}

// WellFormed replaces what is not UTF-8 in s as browsers, node and Python do: one
// U+FFFD for each longest beginning of a character, where Go would have one for
// each byte. Halves of surrogate pairs are not UTF-8.
func WellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			size = brokenSize(s[i:])
		}
		out = utf8.AppendRune(out, r)
		i += size
	}
	return string(out)
}

// brokenSize returns how many bytes of s, which begins with no whole character,
// begin one.
func brokenSize(s string) int {
	length, low, high := 1, byte(0x80), byte(0xBF) // of the character; of its second byte
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		length = 2
	case c == 0xE0:
		length, low = 3, 0xA0
	case c == 0xED:
		length, high = 3, 0x9F
	case c > 0xE0 && c <= 0xEF:
		length = 3
	case c == 0xF0:
		length, low = 4, 0x90
	case c == 0xF4:
		length, high = 4, 0x8F
	case c > 0xF0 && c < 0xF4:
		length = 4
	}
	n := 1
	for n < min(length, len(s)) && s[n] >= low && s[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}
