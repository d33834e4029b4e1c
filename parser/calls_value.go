package parser

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// arguments reads what is between the brackets of a call, and the closing one.
func (r *callReader) arguments() (json.RawMessage, error) {
	r.out, r.depth = nil, 0
	r.space()
	if r.peek() != '{' {
		if err := r.pairs(')'); err != nil {
			return nil, err
		}
		return r.out, nil
	}
	if err := r.nested(); err != nil {
		return nil, err
	}
	if r.space(); r.peek() != ')' {
		return nil, r.want("')' after the object")
	}
	r.pos++
	return r.out, nil
}

func (r *callReader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *callReader) space() {
	for r.pos < len(r.text) && strings.IndexByte(rawjson.Space, r.text[r.pos]) >= 0 {
		r.pos++
	}
}

// identifier skips a key without quotes and returns it, "" for none.
func (r *callReader) identifier() string {
	start := r.pos
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		digit := '0' <= c && c <= '9' && r.pos > start
		if !('a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || digit) {
			break
		}
		r.pos++
	}
	return r.text[start:r.pos]
}

// pairs reads key: value, … and the closing bracket.
func (r *callReader) pairs(closing byte) error {
	r.out = append(r.out, '{')
	for r.space(); r.peek() != closing; r.space() {
		if err := r.key(closing); err != nil {
			return err
		}
		if r.space(); r.peek() != ':' && r.peek() != '=' {
			return r.want("':' after the key; an argument is written key: value")
		}
		r.pos++
		r.out = append(r.out, ':')
		if err := r.value(); err != nil {
			return err
		}
		if err := r.comma(closing); err != nil {
			return err
		}
	}
	r.pos++
	r.out = append(r.out, '}')
	return nil
}

func (r *callReader) key(closing byte) error {
	if isQuote(r.peek()) {
		return r.string(false)
	}
	key := r.identifier()
	if key == "" {
		return r.want(fmt.Sprintf("a key or %q", closing))
	}
	r.out = fmt.Appendf(r.out, `"%s"`, key)
	return nil
}

// comma reads what follows a value. The closing bracket is left to the caller; a
// comma is copied unless that bracket follows it.
func (r *callReader) comma(closing byte) error {
	r.space()
	switch r.peek() {
	case closing:
		return nil
	case ',':
		r.pos++
		if r.space(); r.peek() != closing {
			r.out = append(r.out, ',')
		}
		return nil
	}
	return r.want(fmt.Sprintf(`',' or %q after the value; a quote inside a string is written \' or \"`, closing))
}

func (r *callReader) value() error {
	r.space()
	c := r.peek()
	switch {
	case c == '{' || c == '[' || c == '(':
		return r.nested()
	case isQuote(c):
		return r.string(false)
	case c == 'r' && r.pos+1 < len(r.text) && isQuote(r.text[r.pos+1]):
		r.pos++
		return r.string(true)
	case c == '-' || '0' <= c && c <= '9':
		return r.number()
	}
	start := r.pos
	literal, ok := rawjson.Literal(r.identifier())
	if !ok {
		r.pos = start
		return r.want("a value; a text stands in quotes")
	}
	r.out = append(r.out, literal...)
	return nil
}

// nested reads an object, an array or a tuple. Parentheses around one value without
// a comma are not a tuple.
func (r *callReader) nested() (err error) {
	if r.depth++; r.depth > rawjson.MaxDepth {
		return r.fail(r.pos, "nested deeper than %d levels", rawjson.MaxDepth)
	}
	open := r.peek()
	r.pos++
	switch open {
	case '{':
		err = r.pairs('}')
	case '[':
		_, err = r.list(']')
	case '(':
		err = r.tuple()
	}
	r.depth--
	return err
}

func (r *callReader) tuple() error {
	start := len(r.out)
	single, err := r.list(')')
	if err != nil || !single {
		return err
	}
	n := len(r.out)
	copy(r.out[start:], r.out[start+1:n-1])
	r.out = r.out[:n-2]
	return nil
}

// list reads values and the closing bracket; single reports that there is one value
// and no comma.
func (r *callReader) list(closing byte) (single bool, err error) {
	r.out = append(r.out, '[')
	commas, values := 0, 0
	for r.space(); r.peek() != closing; r.space() {
		if err := r.value(); err != nil {
			return false, err
		}
		values++
		if r.space(); r.peek() == ',' {
			commas++
		}
		if err := r.comma(closing); err != nil {
			return false, err
		}
	}
	r.pos++
	r.out = append(r.out, ']')
	return values == 1 && commas == 0, nil
}

func (r *callReader) number() error {
	start := r.pos
	size, ok := rawjson.NumberSize(r.text[start:])
	r.pos += size
	if !ok {
		return r.want("a digit")
	}
	if c := r.peek(); c == '_' || c == '.' ||
		'0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
		return r.want("the end of the number, which is written like -1.5e3")
	}
	r.out = append(r.out, r.text[start:r.pos]...)
	return nil
}

// string reads a string in single or triple quotes. In a raw string a backslash and
// the quote after it both stand for themselves.
func (r *callReader) string(raw bool) error {
	start := r.pos
	quote := r.text[start : start+1]
	if strings.HasPrefix(r.text[start:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	r.pos += len(quote)
	r.out = append(r.out, '"')
	for {
		n := strings.IndexAny(r.text[r.pos:], quote[:1]+`\`)
		if n < 0 {
			return r.fail(start, "the string that begins here has no end, want %s", quote)
		}
		if err := r.copy(n); err != nil {
			return err
		}
		switch {
		case r.skip(quote):
			r.out = append(r.out, '"')
			return nil
		case r.peek() == '\\':
			r.backslash(raw)
		default:
			r.copy(1) // a quote that is not part of three
		}
	}
}

// copy appends the next n bytes of a string, escaped as JSON needs it.
func (r *callReader) copy(n int) error {
	text := r.text[r.pos : r.pos+n]
	if !utf8.ValidString(text) {
		i := 0
		for c, size := rune(0), 0; c != utf8.RuneError || size != 1; {
			i += size
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		return r.fail(r.pos+i, "byte %#x in a string is not UTF-8", text[i])
	}
	r.out = rawjson.AppendText(r.out, text)
	r.pos += n
	return nil
}

// backslash reads a backslash and what it escapes, if the text does not end there.
func (r *callReader) backslash(raw bool) {
	after := r.text[r.pos+1:]
	r.pos++
	switch {
	case after == "":
	case raw && (isQuote(after[0]) || after[0] == '\\'):
		r.out = append(r.out, '\\', '\\')
		r.copy(1)
	case raw:
		r.out = append(r.out, '\\', '\\')
	case strings.IndexByte(`\'"`, after[0]) >= 0:
		r.copy(1)
	case strings.IndexByte("nrt", after[0]) >= 0:
		r.out = append(r.out, '\\', after[0])
		r.pos++
	case after[0] == 'u' && hexDigits(after[1:], 4):
		r.out = append(append(r.out, '\\'), after[:5]...)
		r.pos += 5
	case r.wide && strings.IndexByte("abfv", after[0]) >= 0:
		r.out = append(r.out, map[byte]string{'a': `\u0007`, 'b': `\b`, 'f': `\f`, 'v': `\u000b`}[after[0]]...)
		r.pos++
	case r.wide && after[0] == 'x' && hexDigits(after[1:], 2):
		r.out = append(append(r.out, `\u00`...), after[1:3]...)
		r.pos += 3
	case r.wide && after[0] == 'U' && hexDigits(after[1:], 8):
		code, _ := strconv.ParseUint(after[1:9], 16, 32)
		r.out = rawjson.AppendText(r.out, string(rune(code)))
		r.pos += 9
	default:
		r.out = append(r.out, '\\', '\\')
	}
}

// hexDigits reports whether a text begins with n hexadecimal digits.
func hexDigits(s string, n int) bool {
	if len(s) < n {
		return false
	}
	_, err := strconv.ParseUint(s[:n], 16, 32)
	return err == nil
}

// CallAt reads the call name(key: value, …) or name{key: value, …} at a position of a text, and
// returns where it ends. Its strings have all escapes of Python and JSON. With an error the call has the
// name at least, if one is there.
func CallAt(text string, at int) (call ToolCall, end int, err error) {
	r := &callReader{text: text, pos: at, known: func(string) bool { return true }, wide: true}
	n := strings.IndexFunc(text[at:], func(c rune) bool { return !inWord(c) && c != '.' && c != '-' })
	if n <= 0 || text[at+n] != '(' && text[at+n] != '{' {
		return call, at, r.want("name(key: value)")
	}
	call.Name, r.pos = text[at:at+n], at+n
	if r.peek() == '{' {
		err = r.nested()
	} else {
		r.pos++
		_, err = r.arguments()
	}
	if call.Arguments = r.out; err != nil {
		call.Arguments = nil
	}
	return call, r.pos, err
}
