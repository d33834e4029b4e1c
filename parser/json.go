package parser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	maxJSONBytes = 64 << 20
	maxJSONDepth = 512
)

// What can be wrong with a text that should hold JSON. [DecodeJSON] wraps each
// in a [JSONError] that says where; test for them with errors.Is.
var (
	ErrNoJSON        = errors.New("no JSON value in the text")
	ErrTruncated     = errors.New("the JSON is cut off before its end")
	ErrSyntax        = errors.New("the JSON is not valid and has no single repair")
	ErrSeveralValues = errors.New("several different JSON values where one is wanted")
	ErrTooDeep       = fmt.Errorf("the JSON is nested deeper than %d levels", maxJSONDepth)
	ErrTooLarge      = fmt.Errorf("the text is larger than %d bytes", maxJSONBytes)
)

// A JSONError says where a text stops being the JSON that was wanted, and why.
type JSONError struct {
	Offset int    // in bytes from the start of the text, counted from 0
	Reason string // what stands there and what would be right; "" when Err says it all
	Err    error  // one of the Err variables of this package
}

func (e *JSONError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%v (byte %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("%v (byte %d): %s", e.Err, e.Offset, e.Reason)
}

// Unwrap returns e.Err.
func (e *JSONError) Unwrap() error { return e.Err }

// The repairs that a decoder may make, as they are reported.
const (
	repairReasoning = "reasoning block removed"
	repairFence     = "code fence removed"
	repairProse     = "prose removed"
	repairBOM       = "byte order mark removed"
	repairRepeated  = "repeated value removed"
	repairComma     = "trailing comma removed"
	repairBareKey   = "bare key quoted"
	repairPython    = "Python literal replaced"
	repairSingle    = "single quotes replaced"
	repairSmart     = "smart quotes replaced"
	repairControl   = "control character escaped"
)

// DecodeJSON finds the one JSON value that a model meant in text and returns it
// as strict JSON, without the white space around it.
//
// Valid JSON in valid UTF-8 comes back byte for byte, with no repairs. Else only
// repairs that lose nothing and have a single reading are made, each named once
// in repairs, in the order they were needed: a reasoning block, a code fence or
// prose around the value removed; a trailing comma removed; a bare key quoted
// when it is one of keys; None, True and False replaced; strings in single or
// smart quotes put in double ones; raw control characters in strings escaped.
// Nothing is ever closed, inserted or guessed, and no string changes its meaning.
//
// The error is a [*JSONError]. A value that has no end is [ErrTruncated] even
// where its rest is obvious. Values that repeat each other count as one.
// Time is linear in the length of text, which may be 64 MiB; depth is at most 512.
//
// A key given twice is passed on as it stands; see [Members].
func DecodeJSON(text string, keys ...string) (value json.RawMessage, repairs []string, err error) {
	d := newDecoder(text, keys)
	values, err := d.document()
	if err != nil {
		return nil, nil, err
	}
	last := values[len(values)-1]
	if len(values) > 1 {
		want := compact(last.raw)
		for _, v := range values[:len(values)-1] {
			if !bytes.Equal(compact(v.raw), want) {
				return nil, nil, &JSONError{Offset: last.offset, Err: ErrSeveralValues}
			}
		}
		d.repaired(repairRepeated)
	}
	return last.raw, d.repairs, nil
}

// DecodeNested decodes the JSON that stands inside a JSON string: the second
// half of a value that was encoded twice. It reports [ErrSyntax] when value is
// no string; else it is [DecodeJSON] on the string's text, and offsets count there.
func DecodeNested(value json.RawMessage, keys ...string) (inner json.RawMessage, repairs []string, err error) {
	text, ok := stringValue(value)
	if !ok {
		return nil, nil, &JSONError{Reason: "want a string that holds JSON, not " + kind(value), Err: ErrSyntax}
	}
	return DecodeJSON(text, keys...)
}

// Members splits a JSON object into its members; keys are compared exactly, not
// regardless of case as encoding/json does for structs. Of a key given more than
// once the last value is kept, and twice names the first such key ("" when none
// is, so an empty key given twice is not reported). ok is false when object is
// no valid JSON object. Objects further down are not looked into.
func Members(object json.RawMessage) (members map[string]json.RawMessage, twice string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, "", false
	}
	members = map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		key, isKey := t.(string)
		if err != nil || !isKey {
			return nil, "", false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, "", false
		}
		if _, given := members[key]; given && twice == "" {
			twice = key
		}
		members[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, "", false
	}
	return members, twice, true
}

// stringValue decodes a JSON string; ok is false for any other value.
func stringValue(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// kind names a strict JSON value for a sentence: "an object".
func kind(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func compact(value json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}

// A topValue is one value that stands at the top level of a text.
type topValue struct {
	raw    json.RawMessage
	offset int
}

// document reads all of the text: one value of any kind, or objects and arrays
// with prose around them. It never returns an empty list without an error.
func (d *decoder) document() ([]topValue, error) {
	if len(d.text) > maxJSONBytes {
		return nil, &JSONError{Offset: maxJSONBytes, Err: ErrTooLarge}
	}
	d.space()
	if strings.HasPrefix(d.rest(), "\ufeff") {
		d.pos += len("\ufeff")
		d.repaired(repairBOM)
	}
	if from, to, ok := fenced(d.text, d.pos, d.end); ok {
		d.pos, d.end = from, to
		d.repaired(repairFence)
	}
	d.space()
	if d.peek() != '{' && d.peek() != '[' {
		start, before := d.pos, d.repairs
		raw, err := d.whole()
		if err == nil {
			return []topValue{{raw, start}}, nil
		}
		if d.text[start:d.end] != "" && d.text[start] == '"' && errors.Is(err, ErrTruncated) {
			return nil, err
		}
		d.pos, d.repairs = start, before
	}
	return d.amongProse()
}

// whole reads what is left as exactly one value with white space around it.
func (d *decoder) whole() (json.RawMessage, error) {
	d.space()
	raw, err := d.one()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.pos < d.end {
		return nil, d.syntax("after the value")
	}
	return raw, nil
}

// amongProse collects the objects and arrays of a text. What is left outside
// must be prose, for certain: a stray bracket, or a comma after a value, means
// that a part of the value stands outside it, and that is an error.
func (d *decoder) amongProse() (values []topValue, err error) {
	begin, outside, before := d.pos, d.pos, d.repairs
	var broken error // of the value that text begins with
	for {
		i := strings.IndexAny(d.rest(), "{}[]<")
		if i < 0 {
			break
		}
		d.pos += i
		start := d.pos
		switch d.text[d.pos] {
		case '<':
			removed, err := d.reasoning()
			if err != nil {
				return nil, err
			}
			if removed {
				values, outside, d.repairs = nil, d.pos, before
				d.repaired(repairReasoning)
			}
			continue
		case '}', ']':
			return nil, d.syntax("outside any value")
		}
		made := d.repairs
		raw, err := d.one()
		if err != nil {
			if end, ok := remark(d.text[start:d.end]); ok && errors.Is(err, ErrSyntax) {
				d.pos, d.repairs = start+end, made
				if start == begin {
					broken = err
				}
				continue
			}
			return nil, err
		}
		d.outside(d.text[outside:start])
		values, outside = append(values, topValue{raw, start}), d.pos
		if d.space(); d.peek() == ',' || d.peek() == ':' {
			return nil, d.syntax("after the value")
		}
	}
	if len(values) == 0 && broken != nil {
		return nil, broken
	}
	if len(values) == 0 {
		return nil, &JSONError{Offset: d.pos, Err: ErrNoJSON}
	}
	d.outside(d.text[outside:d.end])
	return values, nil
}

// reasoning skips a reasoning block, or an end tag alone: then all before it was
// the block. A block that never ends is [ErrTruncated].
func (d *decoder) reasoning() (removed bool, err error) {
	for _, name := range []string{"think>", "thinking>"} {
		if strings.HasPrefix(d.rest(), "</"+name) {
			d.pos += len("</" + name)
			return true, nil
		}
		if strings.HasPrefix(d.rest(), "<"+name) {
			i := strings.Index(d.rest(), "</"+name)
			if i < 0 {
				return false, &JSONError{Offset: d.end, Reason: "<" + name + " has no end", Err: ErrTruncated}
			}
			d.pos += i + len("</"+name)
			return true, nil
		}
	}
	d.pos++
	return false, nil
}

// outside reports text beside a value: a fence, prose, or neither.
func (d *decoder) outside(text string) {
	before, after, fence := strings.Cut(text, "```")
	if fence {
		d.repaired(repairFence)
		_, after, _ = strings.Cut(after, "\n")
	}
	if strings.Trim(before, jsonSpace) != "" || strings.Trim(after, jsonSpace+"`") != "" {
		d.repaired(repairProse)
	}
}

// remark reports whether text begins with a bracketed remark of prose, such as
// [see below] or {name}: it closes before any quote or further bracket, so that
// no part of a value can be in it. end is where it ends.
func remark(text string) (end int, ok bool) {
	i := strings.IndexAny(text[1:], "{}[]\"'“”‘’")
	if i < 0 || text[0] == '{' && text[1+i] != '}' || text[0] == '[' && text[1+i] != ']' {
		return 0, false
	}
	return i + 2, true
}

// fenced reports the bounds of what text[from:to] holds if that is one code fence.
func fenced(text string, from, to int) (start, end int, ok bool) {
	s := strings.Trim(text[from:to], jsonSpace)
	if len(s) < len("```\n```") || !strings.HasPrefix(s, "```") || !strings.HasSuffix(s, "```") {
		return 0, 0, false
	}
	line := strings.IndexByte(s, '\n')
	if line < 0 || strings.Contains(s[3:line], "`") {
		return 0, 0, false
	}
	at := from + strings.Index(text[from:to], "```")
	return at + line + 1, at + len(s) - 3, true
}
