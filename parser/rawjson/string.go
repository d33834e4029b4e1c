package rawjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The four ways to quote a string. A smart quote of either direction may open or
// close one, since models write both.
const (
	doubleQuote = '"'
	singleQuote = '\''
	smartDouble = '“'
	smartSingle = '‘'
)

// quoteAt returns the kind of quote that text begins with, or 0.
func quoteAt(text string) rune {
	switch text[0] {
	case '"', '\'':
		return rune(text[0])
	case "“"[0]:
		switch {
		case strings.HasPrefix(text, "“"), strings.HasPrefix(text, "”"):
			return smartDouble
		case strings.HasPrefix(text, "‘"), strings.HasPrefix(text, "’"):
			return smartSingle
		}
	}
	return 0
}

// string reads a string in any quotes. It ends at the first quote of its kind that is
// not escaped; whether that was meant as the end shows in what follows, which the
// caller checks. A string in smart quotes must not hold a straight quote of its kind,
// since either could be its end.
func (d *decoder) string() error {
	kind := quoteAt(d.rest())
	if kind != doubleQuote {
		repair := repairSmart
		if kind == singleQuote {
			repair = repairSingle
		}
		d.quote(repair)
	} else {
		d.pos++
	}
	for d.pos < d.end {
		c := d.text[d.pos]
		if c >= 0x20 && c < utf8.RuneSelf &&
			c != '"' && c != '\'' && c != '\\' {
			d.pos++
			continue
		}
		closed, err := d.special(kind)
		if err != nil || closed {
			return err
		}
	}
	return d.syntax("")
}

// quote replaces the quote at pos with a double one.
func (d *decoder) quote(repair string) {
	start := d.pos
	_, size := utf8.DecodeRuneInString(d.rest())
	d.pos += size
	d.replace(start, d.pos, `"`, repair)
}

// special reads one character of a string that may need a repair or end the string.
func (d *decoder) special(kind rune) (closed bool, err error) {
	start := d.pos
	c := d.text[d.pos]
	q := quoteAt(d.rest())
	switch {
	case c == '\\':
		return false, d.escape(kind)
	case c < 0x20:
		d.pos++
		d.replace(start, d.pos, "", repairControl)
		d.out = AppendText(d.out, string(c))
	case q == kind && kind == doubleQuote:
		d.pos++
		return true, nil
	case q == kind && kind == singleQuote:
		d.quote(repairSingle)
		return true, nil
	case q == kind && q != 0:
		d.quote(repairSmart)
		return true, nil
	case q == doubleQuote && kind == smartDouble, q == singleQuote && kind == smartSingle:
		return false, d.syntax("in a string that began with a smart quote")
	case q == doubleQuote:
		d.pos++
		d.replace(start, d.pos, `\"`, repairSingle)
	case c < utf8.RuneSelf:
		d.pos++
	default:
		r, size := utf8.DecodeRuneInString(d.rest())
		if r == utf8.RuneError && size == 1 {
			return false, &Error{Offset: d.pos, Reason: fmt.Sprintf("byte %#x in a string is not UTF-8", c),
				Err: ErrSyntax}
		}
		d.pos += size
	}
	return false, nil
}

// escape reads a backslash and what it escapes. Besides the escapes of JSON, \' is
// valid in a string that single quotes delimit.
func (d *decoder) escape(kind rune) error {
	start := d.pos
	d.pos++
	c := d.peek()
	switch {
	case d.pos >= d.end:
		return d.syntax("")
	case c == 'u':
		d.pos++
		return d.hex4()
	case c == '\'' && (kind == singleQuote || kind == smartSingle):
		d.pos++
		d.replace(start, d.pos, `'`, repairSingle)
		return nil
	case strings.IndexByte(`"\/bfnrt`, c) >= 0:
		d.pos++
		return nil
	}
	return d.syntax(`after a backslash in a string; a backslash itself is written \\`)
}

func (d *decoder) hex4() error {
	for range 4 {
		c := d.peek()
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return d.syntax(`in \u, which four hexadecimal digits must follow`)
		}
		d.pos++
	}
	return nil
}
