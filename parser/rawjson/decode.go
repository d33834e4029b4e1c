package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	MaxBytes = 64 << 20 // size of the largest text that is decoded
	MaxDepth = 512      // how deep objects and arrays may be nested

	Space = " \t\r\n" // the white space of JSON
)

// The faults of a text that should hold JSON. The decoders wrap each in
// an [Error] that says where; test for them with errors.Is.
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
	ErrTooDeep = fmt.Errorf("the JSON is nested deeper than %d levels", MaxDepth)
	// ErrTooLarge: the text is larger than 64 MiB.
	ErrTooLarge = fmt.Errorf("the text is larger than %d bytes", MaxBytes)
)

// An Error says where a text stops being the JSON that was wanted, and why.
type Error struct {
	Offset int    // in bytes from the start of the text, counted from 0; 0 for ErrNoJSON
	Reason string // what stands there and what would be right; "" when Err says it all
	Err    error  // one of the Err variables of this package
}

// Error is one sentence of Err, Offset and Reason.
func (e *Error) Error() string {
	switch {
	case e.Reason != "":
		return fmt.Sprintf("%v (byte %d): %s", e.Err, e.Offset, e.Reason)
	case e.Offset > 0:
		return fmt.Sprintf("%v (byte %d)", e.Err, e.Offset)
	}
	return e.Err.Error()
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// The repairs of the decoders, as they are reported.
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

// Decode finds the one JSON value that a model meant in text and returns it
// as strict JSON, without the white space around it.
//
// Valid JSON in valid UTF-8 comes back byte for byte, with no repairs. Otherwise only
// repairs that lose nothing and have a single reading are made, each listed once
// in repairs, in the order in which they were needed: a reasoning block, a code fence or
// prose around the value removed; a trailing comma removed; a bare key quoted
// when it is one of keys; None, True and False replaced; strings in single or
// smart quotes put in double ones; raw control characters in strings escaped.
// Nothing is ever closed, inserted or guessed, and no string changes its meaning.
//
// The error is an [*Error]. A value that has no end is [ErrTruncated] even
// where its rest is obvious. Values that repeat each other count as one.
// Time is linear in the length of text, which may be 64 MiB; depth is at most 512.
//
// A key that is given twice is not an error; see [Members].
func Decode(text string, keys ...string) (value json.RawMessage, repairs []string, err error) {
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
				return nil, nil, &Error{Offset: last.offset, Err: ErrSeveralValues}
			}
		}
		d.repaired(repairRepeated)
	}
	return last.raw, d.repairs, nil
}

// DecodeAll is [Decode] for a text that may hold several values, which may differ.
// It returns all of them, at least one, in the order in which they stand there.
func DecodeAll(text string, keys ...string) (values []json.RawMessage, repairs []string, err error) {
	d := newDecoder(text, keys)
	found, err := d.document()
	if err != nil {
		return nil, nil, err
	}
	for _, v := range found {
		values = append(values, v.raw)
	}
	return values, d.repairs, nil
}

// DecodeOne is [Decode] for a text that must hold one value and white space only:
// the value itself is repaired, but nothing around it is removed.
func DecodeOne(text string, keys ...string) (value json.RawMessage, repairs []string, err error) {
	d := newDecoder(text, keys)
	value, err = d.whole()
	return value, d.repairs, err
}

// DecodeAt decodes the value that begins at text[start] and repairs it as [Decode]
// does. The value ends before text[end]; what follows is not looked at.
func DecodeAt(text string, start int, keys ...string) (value json.RawMessage, end int, err error) {
	d := newDecoder(text, keys)
	d.pos = start
	value, err = d.one()
	return value, d.pos, err
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
	if len(d.text) > MaxBytes {
		return nil, &Error{Offset: MaxBytes, Err: ErrTooLarge}
	}
	d.space()
	if strings.HasPrefix(d.rest(), "\ufeff") {
		d.pos += len("\ufeff")
		d.repaired(repairBOM)
	}
	if from, to, ok := Fenced(d.rest()); ok {
		d.pos, d.end = d.pos+from, d.pos+to
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
