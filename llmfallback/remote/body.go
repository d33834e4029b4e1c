package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
)

// A List is a JSON array as it is sent, so that requests which build on each other encode
// each element once. The zero List is empty. A copy shares its elements with the original;
// only one of the two may be appended to.
type List struct{ encoded []byte }

// Append adds elements.
func (l *List) Append(elements ...any) error {
	for _, e := range elements {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if len(l.encoded) > 0 {
			l.encoded = append(l.encoded, ',')
		}
		l.encoded = append(l.encoded, data...)
	}
	return nil
}

// Empty reports whether the list has no elements.
func (l List) Empty() bool { return len(l.encoded) == 0 }

// Decode reads an answer, or an event of one, which must be one JSON value. form says what it is
// where it is right.
func Decode(data []byte, into any, form string) error {
	d := json.NewDecoder(bytes.NewReader(data))
	err := d.Decode(into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == io.EOF:
		return &Error{Reason: "the answer is empty", Retry: true}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Reason: cut, Retry: true, Err: err}
	case mistyped:
		return &Error{Reason: "the answer is not " + form, Err: err}
	case err != nil:
		return &Error{Reason: "the answer is not valid JSON", Retry: true, Err: err}
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Reason: "the answer goes on after its end"}
	}
	return nil
}

// A Body is a request as it is sent: the JSON before its list, the list, and the JSON
// after it.
type Body [3][]byte

// NewBody returns the JSON of a request with a list as one of its fields, which must be
// null in the request. No text may stand before it.
func NewBody(request any, field string, list List) (Body, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return Body{}, &Error{Reason: "the request cannot be written as JSON: " + err.Error(), Err: err}
	}
	name := `"` + field + `":`
	before, after, _ := bytes.Cut(data, []byte(name+"null"))
	return Body{slices.Concat(before, []byte(name+"[")), list.encoded, slices.Concat([]byte("]"), after)}, nil
}

// Has reports whether the request has a parameter at its top.
func (b Body) Has(parameter string) bool {
	var sent map[string]json.RawMessage
	return json.Unmarshal(slices.Concat(b[0], b[2]), &sent) == nil && sent[parameter] != nil
}

// ListHas reports whether the list has a text, as JSON has it.
func (b Body) ListHas(text string) bool { return bytes.Contains(b[1], []byte(text)) }

func (b Body) reader() io.ReadCloser {
	buffers := net.Buffers{b[0], b[1], b[2]}
	return io.NopCloser(&buffers)
}

func (b Body) size() int64 { return int64(len(b[0]) + len(b[1]) + len(b[2])) }
