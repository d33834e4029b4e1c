package dialect

import "unicode/utf8"

// wellFormed replaces what is no UTF-8 in s as browsers, node and Python do: one
// U+FFFD for each longest beginning of a character, where [JSON] alone would print
// one for each byte.
func wellFormed(s string) string {
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
