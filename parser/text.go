package parser

import (
	"strings"
	"unicode/utf8"
)

// A Command is a text command, split but not interpreted: the operation may not exist.
// The strings are parts of the prompt with unchanged bytes, including invalid UTF-8 and
// NUL; only a quoted Path is unquoted. The zero Command is an empty prompt.
type Command struct {
	Operation string // first word of the first line; "" if that line is blank
	Path      string // second word of the first line; "" if it is missing or an empty quoted word
	Payload   string // the rest of the prompt, with its later lines, trimmed; see [Text] for what is not trimmed
	Options   bool   // Payload is a list of keys and values, without the options: before it
}

// Text splits a prompt of the form
//
//	operation path payload…
//
// White space is that of JavaScript: with NBSP and the byte order mark, without
// U+0085. The first line ends at LF or CRLF, not at a lone CR. If it is blank, the
// Operation is "". The payload may begin on a later line.
//
// A path that begins with ' or " follows the quoting rules of the shell: "a b"c is
// the word a bc. If the quotes do not close on the first line, they are ordinary
// characters. Text does not unquote the payload.
//
// Content that begins on the line after content: keeps all its bytes, so the end of the
// payload is not trimmed then. White space between content: and that line break does not count.
//
// If the payload begins with options: and then content: or destination:, Text cuts off
// options:. It also cuts off a dependsOn: in the last line, with the rest of that line.
func Text(prompt string) Command {
	line, _, more := strings.Cut(prompt, "\n")
	if more {
		line = strings.TrimSuffix(line, "\r")
	}
	op := leadingSpace(line, 0)
	opEnd := wordEnd(line, op)
	c := Command{Operation: line[op:opEnd]}
	path := leadingSpace(line, opEnd)
	pathEnd := wordEnd(line, path)
	if path == pathEnd {
		return c
	}
	c.Path = line[path:pathEnd]
	if isQuote(line[path]) {
		if word, size, ok := quotedWord(line[path:]); ok {
			c.Path, pathEnd = word, path+size
		}
	}
	rest := prompt[leadingSpace(prompt, pathEnd):]
	list, ok := cutPrefix(rest, "options")
	c.Options = ok && startsWithKey(list)
	_, exact := exactContent(rest)
	if c.Options {
		rest, exact = withoutDepends(list)
	}
	if !exact {
		rest = trimSpace(rest)
	}
	c.Payload = rest
	return c
}

// exactContent returns the text after content: and a line break. ok is false if content begins on
// the line of content:, or if s does not begin with content:.
func exactContent(s string) (text string, ok bool) {
	colon := keyEnd(s, "content")
	if colon < 0 {
		return "", false
	}
	line, text, more := strings.Cut(s[colon:], "\n")
	return text, more && trimSpace(line) == ""
}

// optionKeys are the keys after options:.
var optionKeys = [...]string{"content", "destination"}

func startsWithKey(list string) bool {
	for _, key := range optionKeys {
		if _, ok := cutPrefix(list, key); ok {
			return true
		}
	}
	return false
}

// withoutDepends cuts a dependsOn: with what follows it off the last line of a list of keys. exact
// reports whether the content of the list keeps all its bytes.
func withoutDepends(list string) (rest string, exact bool) {
	for key := list; key != "" && !exact; key = key[nextKey(key):] {
		_, exact = exactContent(key)
	}
	at := strings.LastIndex(list, "dependsOn:")
	if at > 0 && !strings.Contains(trimSpace(list[at:]), "\n") && asciiSpace(list[at-1]) {
		list = strings.TrimRight(list[:at], " \t")
	}
	return list, exact
}

// option returns the first value of a key in a list of keys with values, and how many times
// the list has the key. A value runs up to a line that begins with a key.
func option(list, key string) (value string, times int) {
	for list != "" {
		end := nextKey(list)
		if v, ok := cutPrefix(list[:end], key); ok {
			if times++; times == 1 {
				value = trimSpace(v)
				if text, exact := exactContent(list[:end]); exact && key == "content" {
					value = text
				}
			}
		}
		list = list[end:]
	}
	return value, times
}

// nextKey returns where the first line after the first one begins that begins with a key.
func nextKey(list string) int {
	for at := 0; ; {
		end := strings.IndexByte(list[at:], '\n')
		if end < 0 {
			return len(list)
		}
		at += end + 1
		for _, key := range optionKeys {
			if strings.HasPrefix(list[at:], key+":") {
				return at
			}
		}
	}
}

// Twice returns a key that appears twice in Options, or "".
func (c Command) Twice() string {
	for _, key := range optionKeys {
		if _, times := option(c.Payload, key); c.Options && times > 1 {
			return key
		}
	}
	return ""
}

// Content returns the payload without its content: prefix, which it removes once, with
// the white space after it. If a line break follows the prefix, the white space after
// the line break is content. ok is false without such a prefix. A payload of the prefix
// alone is an empty text with ok true. With Options, Content returns the value of content:.
func (c Command) Content() (text string, ok bool) {
	if c.Options {
		text, times := option(c.Payload, "content")
		return text, times > 0
	}
	if text, ok := exactContent(c.Payload); ok {
		return text, true
	}
	return cutPrefix(c.Payload, "content")
}

// Destination returns the payload without its destination: prefix, which it removes
// once, with the white space after it. The rest is the path, spaces included; a single
// quoted word is unquoted. ok is false without such a prefix. With Options, Destination
// returns the first word of the value of destination:, quoted or not.
func (c Command) Destination() (path string, ok bool) {
	if c.Options {
		value, times := option(c.Payload, "destination")
		path = value[:wordEnd(value, 0)]
		if value != "" && isQuote(value[0]) {
			if word, _, quoted := quotedWord(value); quoted {
				path = word
			}
		}
		return path, times > 0
	}
	path, ok = cutPrefix(c.Payload, "destination")
	if path != "" && isQuote(path[0]) {
		if word, size, quoted := quotedWord(path); quoted && size == len(path) {
			return word, true
		}
	}
	return path, ok
}

// cutPrefix removes name, white space, a colon and white space from the front of
// s. name is lower case ASCII, and only ASCII letters match it regardless of case.
func cutPrefix(s, name string) (rest string, ok bool) {
	end := keyEnd(s, name)
	if end < 0 {
		return "", false
	}
	return s[leadingSpace(s, end):], true
}

// keyEnd returns where name, white space and a colon at the front of s end, or -1.
func keyEnd(s, name string) int {
	if len(s) <= len(name) {
		return -1
	}
	for i := range len(name) {
		if s[i]|0x20 != name[i] {
			return -1
		}
	}
	colon := leadingSpace(s, len(name))
	if colon == len(s) || s[colon] != ':' {
		return -1
	}
	return colon + 1
}

// leadingSpace returns where the white space at s[i:] ends.
func leadingSpace(s string, i int) int {
	for i < len(s) {
		size := spaceSize(s, i)
		if size == 0 {
			break
		}
		i += size
	}
	return i
}

// wordEnd returns where the word at s[i:] ends.
func wordEnd(s string, i int) int {
	for i < len(s) && spaceSize(s, i) == 0 {
		i++
	}
	return i
}

// trimSpace removes JavaScript's white space from both ends of s.
func trimSpace(s string) string {
	s = s[leadingSpace(s, 0):]
	for s != "" {
		last := s[len(s)-1]
		if last < utf8.RuneSelf {
			if !asciiSpace(last) {
				break
			}
			s = s[:len(s)-1]
			continue
		}
		r, size := utf8.DecodeLastRuneInString(s)
		if !wideSpace(r) {
			break
		}
		s = s[:len(s)-size]
	}
	return s
}

// spaceSize returns the length in bytes of the white space character at s[i],
// or 0 when another one is there.
func spaceSize(s string, i int) int {
	if c := s[i]; c < utf8.RuneSelf {
		if asciiSpace(c) {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRuneInString(s[i:]); wideSpace(r) {
		return size
	}
	return 0
}

func asciiSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// IsSpace reports whether r is white space to JavaScript's \s and trim.
func IsSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiSpace(byte(r))
	}
	return wideSpace(r)
}

// wideSpace reports the white space of JavaScript's \s beyond ASCII.
func wideSpace(r rune) bool {
	switch r {
	case 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}
