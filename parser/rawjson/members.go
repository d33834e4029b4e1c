package rawjson

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Members splits a JSON object into its members; keys are compared exactly, not
// regardless of case as encoding/json does for structs. Of a key given more than
// once the last value is kept, and twice names the first such key ("" when none
// is, so an empty key given twice is not reported). ok is false when object is
// not a valid JSON object, as [Decode] returns it. Objects further down are not
// looked into. The values share memory with object.
func Members(object json.RawMessage) (members map[string]json.RawMessage, twice string, ok bool) {
	if len(object) == 0 || object[0] != '{' || !utf8.Valid(object) {
		return nil, "", false
	}
	members = map[string]json.RawMessage{}
	w := walk(object)
	for key, value := range w.members {
		name, _ := String(key)
		if _, given := members[name]; given && twice == "" {
			twice = name
		}
		members[name] = value
	}
	_, closed := w.ReadToken()
	if _, end := w.ReadToken(); closed != nil || end != io.EOF {
		return nil, "", false
	}
	return members, twice, true
}

// Kind names the kind of a JSON value for a sentence: "an object". An empty value
// is "nothing".
func Kind(value json.RawMessage) string {
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

// lenient are the options for JSON that was read before. A key may come twice, and a
// string may have halves of surrogate pairs and bytes that are not UTF-8.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// A walker reads the parts of valid JSON.
type walker struct {
	*jsontext.Decoder
	text []byte
}

func walk(text []byte) walker {
	return walker{jsontext.NewDecoder(bytes.NewBuffer(text), lenient...), text}
}

// next returns the next value, which shares memory with the text; an empty one if the
// text is not valid there.
func (w walker) next() []byte {
	value, _ := w.ReadValue()
	end := int(w.InputOffset())
	return w.text[end-len(value) : end : end]
}

// members iterates over the members of the object that the text begins with.
func (w walker) members(yield func(key, value []byte) bool) {
	w.ReadToken()
	for w.PeekKind() == '"' {
		key, value := w.next(), w.next()
		if len(value) == 0 || !yield(key, value) {
			return
		}
	}
}

// EachMember iterates over the members of an object: keys and values as they are
// written, so that a key has its quotes and escapes, and a key that is given twice
// comes twice. The object must be valid JSON that begins with its brace.
func EachMember(object []byte) iter.Seq2[[]byte, []byte] { return walk(object).members }

// EachElement iterates over the elements of an array, which must be valid JSON
// that begins with its bracket.
func EachElement(array []byte) iter.Seq[[]byte] {
	return func(yield func(element []byte) bool) {
		w := walk(array)
		w.ReadToken()
		for w.PeekKind() != ']' {
			if element := w.next(); len(element) == 0 || !yield(element) {
				return
			}
		}
	}
}

// EachString iterates over the strings of a value, keys included, at any depth:
// value[from:to] is one, with its quotes. The value must be valid JSON.
func EachString(value []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		w := walk(value)
		for {
			if w.PeekKind() == '"' {
				from := -len(w.next())
				if to := int(w.InputOffset()); !yield(from+to, to) {
					return
				}
			} else if _, err := w.ReadToken(); err != nil {
				return
			}
		}
	}
}
