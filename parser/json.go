package parser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxJSONBytes = 64 << 20
	maxJSONDepth = 512
)

// What can be wrong with a text that should hold JSON. [DecodeJSON] wraps each
// in a [JSONError] that says where; test for them with errors.Is.
var (
	// ErrNoJSON: there is no object or array, nor is the whole text another value.
	ErrNoJSON = errors.New("no JSON value in the text")
	// ErrTruncated: the text ends within a value or a reasoning block.
	ErrTruncated = errors.New("the JSON is cut off before its end")
	// ErrSyntax: a value is broken in a way that allows no repair, or several.
	ErrSyntax = errors.New("the JSON is not valid and has no single repair")
	// ErrSeveralValues: there are values that differ, or more than 64.
	ErrSeveralValues = errors.New("several different JSON values where one is wanted")
	// ErrTooDeep: objects and arrays are nested more than 512 deep.
	ErrTooDeep = fmt.Errorf("the JSON is nested deeper than %d levels", maxJSONDepth)
	// ErrTooLarge: the text is larger than 64 MiB.
	ErrTooLarge = fmt.Errorf("the text is larger than %d bytes", maxJSONBytes)
)

// A JSONError says where a text stops being the JSON that was wanted, and why.
type JSONError struct {
	Offset int    // in bytes from the start of the text, counted from 0; 0 for ErrNoJSON
	Reason string // what stands there and what would be right; "" when Err says it all
	Err    error  // one of the Err variables of this package
}

// Error is one sentence of Err, Offset and Reason.
func (e *JSONError) Error() string {
	switch {
	case e.Reason != "":
		return fmt.Sprintf("%v (byte %d): %s", e.Err, e.Offset, e.Reason)
	case e.Offset > 0:
		return fmt.Sprintf("%v (byte %d)", e.Err, e.Offset)
	}
	return e.Err.Error()
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
	repairIgnored   = "other JSON values ignored"
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
// no valid JSON object, as [DecodeJSON] returns it. Objects further down are not
// looked into. The values share memory with object.
func Members(object json.RawMessage) (members map[string]json.RawMessage, twice string, ok bool) {
	if len(object) == 0 || object[0] != '{' {
		return nil, "", false
	}
	members = map[string]json.RawMessage{}
	d := newDecoder(string(object), nil)
	d.each = func(key, value span) {
		name, _ := stringValue(object[key.from:key.to])
		if _, given := members[name]; given && twice == "" {
			twice = name
		}
		members[name] = object[value.from:value.to:value.to]
	}
	if _, err := d.whole(); err != nil || d.repairs != nil {
		return nil, "", false
	}
	return members, twice, true
}

// stringValue decodes a JSON string; ok is false for any other value.
func stringValue(value json.RawMessage) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	inside := value[1 : len(value)-1]
	for _, c := range inside {
		if c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return text, json.Unmarshal(value, &text) == nil
		}
	}
	return string(inside), value[len(value)-1] == '"'
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
		if start < d.end && d.text[start] == '"' && errors.Is(err, ErrTruncated) {
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
