package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Members splits a JSON object into its members; keys are compared exactly, not
// regardless of case as encoding/json does for structs. Of a key given more than
// once the last value is kept, and twice names the first such key ("" when none
// is, so an empty key given twice is not reported). ok is false when object is
// not a valid JSON object, as [Decode] returns it. Objects further down are not
// looked into. The values share memory with object.
func Members(object json.RawMessage) (members map[string]json.RawMessage, twice string, ok bool) {
	if len(object) == 0 || object[0] != '{' {
		return nil, "", false
	}
	if _, repairs, err := DecodeOne(string(object)); err != nil || repairs != nil {
		return nil, "", false
	}
	members = map[string]json.RawMessage{}
	for key, value := range EachMember(object) {
		name, _ := String(key)
		if _, given := members[name]; given && twice == "" {
			twice = name
		}
		members[name] = value
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

// EachMember iterates over the members of an object: keys and values as they are
// written, so that a key has its quotes and escapes, and a key that is given twice
// comes twice. The object must be valid JSON that begins with its brace.
func EachMember(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := spaceEnd(object, 1)
		for object[i] != '}' {
			end := valueEnd(object, i)
			key := object[i:end:end]
			i = spaceEnd(object, spaceEnd(object, end)+1) // the colon
			end = valueEnd(object, i)
			if !yield(key, object[i:end:end]) {
				return
			}
			if i = spaceEnd(object, end); object[i] == ',' {
				i = spaceEnd(object, i+1)
			}
		}
	}
}

// EachElement iterates over the elements of an array, which must be valid JSON
// that begins with its bracket.
func EachElement(array []byte) iter.Seq[[]byte] {
	return func(yield func(element []byte) bool) {
		i := spaceEnd(array, 1)
		for array[i] != ']' {
			end := valueEnd(array, i)
			if !yield(array[i:end:end]) {
				return
			}
			if i = spaceEnd(array, end); array[i] == ',' {
				i = spaceEnd(array, i+1)
			}
		}
	}
}

// EachString iterates over the strings of a value, keys included, at any depth:
// value[from:to] is one, with its quotes. The value must be valid JSON.
func EachString(value []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for to := 0; ; {
			next := bytes.IndexByte(value[to:], '"')
			if next < 0 {
				return
			}
			from := to + next
			if to = stringEnd(value, from); !yield(from, to) {
				return
			}
		}
	}
}

// spaceEnd returns where the white space at i ends.
func spaceEnd(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns where the value that begins at i ends.
func valueEnd(data []byte, i int) int {
	for depth := 0; ; {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			for i < len(data) && strings.IndexByte(",:]}"+Space, data[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// stringEnd returns where the string that begins at i ends. It searches for quotes
// and not for backslashes: 2 KB without quotes take 25 ns, byte by byte they took
// 650, and text full of quotes takes no longer than that.
func stringEnd(data []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(data[i:], '"')
		escapes := 0
		for data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}
