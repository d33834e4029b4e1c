package rawjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A decoder reads values from text[pos:end]. It copies nothing until the first repair
// of a value; from then on out holds the repaired form of the text before copied.
type decoder struct {
	text     string
	keys     []string // keys that need not be quoted
	pos, end int
	depth    int
	out      []byte
	copied   int
	repairs  []string
}

func newDecoder(text string, keys []string) *decoder {
	return &decoder{text: text, keys: keys, end: len(text)}
}

func (d *decoder) rest() string { return d.text[d.pos:d.end] }

// peek returns the next byte, or 0 at the end.
func (d *decoder) peek() byte {
	if d.pos < d.end {
		return d.text[d.pos]
	}
	return 0
}

func (d *decoder) space() {
	for d.pos < d.end {
		if c := d.text[d.pos]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return
		}
		d.pos++
	}
}

func (d *decoder) repaired(what string) {
	if !slices.Contains(d.repairs, what) {
		d.repairs = append(d.repairs, what)
	}
}

// replace replaces text[from:to] in the output.
func (d *decoder) replace(from, to int, with, repair string) {
	d.out = append(d.out, d.text[d.copied:from]...)
	d.out = append(d.out, with...)
	d.copied = to
	d.repaired(repair)
}

// syntax returns the error for what stands at pos, or for a text that ends there.
func (d *decoder) syntax(where string) error {
	if d.pos >= d.end {
		return &Error{Offset: d.pos, Err: ErrTruncated}
	}
	r, _ := utf8.DecodeRuneInString(d.rest())
	return &Error{Offset: d.pos, Reason: fmt.Sprintf("unexpected %q %s", r, where), Err: ErrSyntax}
}

// one reads the value at pos and returns it as strict JSON.
func (d *decoder) one() (json.RawMessage, error) {
	start := d.pos
	d.out, d.copied, d.depth = nil, start, 0
	if err := d.value(); err != nil {
		return nil, err
	}
	if d.copied == start && d.out == nil {
		return json.RawMessage(d.text[start:d.pos]), nil
	}
	return append(d.out, d.text[d.copied:d.pos]...), nil
}

func (d *decoder) value() error {
	if d.pos >= d.end {
		return d.syntax("")
	}
	switch c := d.text[d.pos]; {
	case c == '{':
		return d.nested('}')
	case c == '[':
		return d.nested(']')
	case c == '-' || '0' <= c && c <= '9':
		return d.number()
	case quoteAt(d.rest()) != 0:
		return d.string()
	}
	return d.literal()
}

// nested reads an object or an array up to its closing bracket.
func (d *decoder) nested(closing byte) error {
	if d.depth++; d.depth > MaxDepth {
		return &Error{Offset: d.pos, Err: ErrTooDeep}
	}
	d.pos++
	for d.space(); d.peek() != closing; d.space() {
		var err error
		if closing == '}' {
			err = d.member()
		} else {
			err = d.value()
		}
		if err != nil {
			return err
		}
		d.space()
		if d.peek() == closing {
			break
		}
		if d.peek() != ',' {
			return d.syntax(fmt.Sprintf(`where ',' or %q must stand; a quote inside a string is written \"`, closing))
		}
		comma := d.pos
		d.pos++
		if d.space(); d.peek() == closing {
			d.replace(comma, comma+1, "", repairComma)
		}
	}
	d.pos++
	d.depth--
	return nil
}

func (d *decoder) member() error {
	if d.pos >= d.end {
		return d.syntax("")
	}
	var err error
	if quoteAt(d.rest()) != 0 {
		err = d.string()
	} else {
		err = d.bareKey()
	}
	if err != nil {
		return err
	}
	d.space()
	if d.peek() != ':' {
		return d.syntax(`where ':' must follow a key; a quote inside a string is written \"`)
	}
	d.pos++
	d.space()
	return d.value()
}

// bareKey reads a key without quotes, if it is one of keys.
func (d *decoder) bareKey() error {
	start := d.pos
	name := d.word()
	if slices.Contains(d.keys, name) {
		d.replace(start, d.pos, `"`+name+`"`, repairBareKey)
		return nil
	}
	if d.pos < d.end {
		d.pos = start
	}
	return d.syntax("where a key in double quotes must stand")
}

// literals are the words that are values, and their JSON.
var literals = map[string]string{
	"true": "true", "false": "false", "null": "null",
	"True": "true", "False": "false", "None": "null",
}

// Literal returns the JSON value that a word is: true, false and null as JSON or
// Python spells them. ok is false for any other word.
func Literal(word string) (value string, ok bool) {
	value, ok = literals[word]
	return value, ok
}

func (d *decoder) literal() error {
	start := d.pos
	word := d.word()
	strict, ok := literals[word]
	if !ok {
		for l := range literals {
			if d.pos == d.end && word != "" && strings.HasPrefix(l, word) {
				return d.syntax("")
			}
		}
		d.pos = start
		return d.syntax("where a value must stand")
	}
	if strict != word {
		d.replace(start, d.pos, strict, repairPython)
	}
	return nil
}

func (d *decoder) word() string {
	start := d.pos
	for d.pos < d.end {
		c := d.text[d.pos]
		if !('a' <= c|0x20 && c|0x20 <= 'z' ||
			c == '_' || c == '-' || '0' <= c && c <= '9') {
			break
		}
		d.pos++
	}
	return d.text[start:d.pos]
}

func (d *decoder) number() error {
	size, ok := NumberSize(d.rest())
	d.pos += size
	if !ok {
		return d.syntax("where a digit must stand")
	}
	return nil
}

// NumberSize returns the length in bytes of the JSON number that s begins with.
// ok is false if s[size:] does not begin with a digit where it must.
func NumberSize(s string) (size int, ok bool) {
	digits := func() bool {
		start := size
		for size < len(s) && '0' <= s[size] && s[size] <= '9' {
			size++
		}
		return size > start
	}
	has := func(chars string) bool {
		if size == len(s) || strings.IndexByte(chars, s[size]) < 0 {
			return false
		}
		size++
		return true
	}
	has("-")
	if !has("0") && !digits() {
		return size, false
	}
	if has(".") && !digits() {
		return size, false
	}
	if has("eE") {
		has("+-")
		return size, digits()
	}
	return size, true
}
