package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"
)

// A listener reports each sign of life of an endpoint, but no comments, which some send for
// as long as the connection lasts.
type listener struct {
	io.ReadCloser
	heard   func()
	comment bool // the line that is being read is one
	within  bool // a line was begun
}

func (l *listener) Read(p []byte) (n int, err error) {
	n, err = l.ReadCloser.Read(p)
	alive := false
	for _, c := range p[:n] {
		if !l.within {
			l.within, l.comment = true, c == ':'
		}
		if c == '\n' {
			l.within = false
			continue
		}
		alive = alive || !l.comment && c != '\r' && c != ' '
	}
	if alive {
		l.heard()
	}
	return n, err
}

// cut is the reason where an answer ends before it is complete.
const cut = "the answer broke off in the middle"

// events calls each with the data of every event of a stream, and with nil at its end. Once each
// says that the answer is complete, the stream may end, and is not waited for longer than
// drainTime: without its end its connection cannot be used again.
func (c *Client) events(ctx context.Context, stream io.ReadCloser,
	each func(data []byte) (complete bool, err error)) error {
	r := newEvents(stream)
	done := false
	for {
		data, err := r.next()
		if err == nil || err == io.EOF {
			complete, failed := each(data)
			if failed != nil && !done {
				return failed
			}
			if complete && !done {
				done = true
				defer time.AfterFunc(drainTime, func() { stream.Close() }).Stop()
			}
		}
		switch {
		case err != nil && done:
			return nil
		case err == io.EOF:
			return &Error{Reason: cut, Retry: true, Err: io.ErrUnexpectedEOF}
		case err != nil:
			return c.broken(ctx, cut, err)
		}
	}
}

// drainTime is how long the end of a stream is waited for after the answer is complete.
const drainTime = 250 * time.Millisecond

// eventReader reads server-sent events.
type eventReader struct {
	bytes *bufio.Reader
	begun bool
	cr    bool // the last line ended with CR, which LF may follow
	err   error
}

func newEvents(stream io.Reader) *eventReader { return &eventReader{bytes: bufio.NewReader(stream)} }

// line reads a line, which ends with CR, LF or both.
func (r *eventReader) line() (line []byte) {
	for {
		var c byte
		if c, r.err = r.bytes.ReadByte(); r.err != nil {
			return line
		}
		after := r.cr
		r.cr = c == '\r'
		switch {
		case c == '\n' && after:
		case c == '\n' || c == '\r':
			return line
		default:
			line = append(line, c)
		}
	}
}

// next returns the data of the next event that has any. An event of the type error whose data
// does not say that it is one is put into {"error":…}. An object in a line of its own is an
// event, too.
func (r *eventReader) next() (data []byte, err error) {
	name, found := "", false
	for r.err == nil {
		line := r.line()
		if !r.begun {
			line, r.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
		}
		if !found && len(line) > 0 && line[0] == '{' && json.Valid(line) {
			return line, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if found {
				data = append(data, '\n')
			}
			data, found = append(data, value...), true
		case "event":
			name = string(value)
		}
		if len(line) > 0 && r.err == nil {
			continue
		}
		if len(data) > 0 && (r.err == nil || r.err == io.EOF) {
			return asError(name, data), nil
		}
		name, found = "", false
	}
	return nil, r.err
}

// asError puts the data of an event of the type error into {"error":…}, if it is not in one
// and has no type of its own.
func asError(name string, data []byte) []byte {
	if name != "error" {
		return data
	}
	var has struct {
		Error *json.RawMessage `json:"error"`
		Type  string           `json:"type"`
	}
	if json.Unmarshal(data, &has) == nil && (has.Error != nil || has.Type != "") {
		return data
	}
	if !json.Valid(data) {
		data, _ = json.Marshal(string(data))
	}
	return slices.Concat([]byte(`{"error":`), data, []byte("}"))
}
