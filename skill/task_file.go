package skill

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"textskill/skill/internal/workspace"
)

// A Record is a JSON object in .tasks.json or .plans.json. It keeps the order of its
// members.
type Record []Field

// A Field is one member of a Record.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Text returns the value of a field that is a string, otherwise "".
func (r Record) Text(name string) (text string) {
	json.Unmarshal(r.Value(name), &text)
	return text
}

// Value returns the value of a field, nil if there is no such field.
func (r Record) Value(name string) json.RawMessage {
	if i := slices.IndexFunc(r, func(f Field) bool { return f.Name == name }); i >= 0 {
		return r[i].Value
	}
	return nil
}

// with returns a copy of the record with a field replaced or appended.
func (r Record) with(f Field) Record {
	r = slices.Clone(r)
	if i := slices.IndexFunc(r, func(old Field) bool { return old.Name == f.Name }); i >= 0 {
		r[i].Value = f.Value
		return r
	}
	return append(r, f)
}

// MarshalJSON returns an object with the fields in their order.
func (r Record) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, encode(f.Name)...), ':')
		b = append(b, f.Value...)
	}
	return append(b, '}'), nil
}

// newField returns a field with a string or a list of strings.
func newField[T string | []string](name string, value T) Field {
	return Field{name, encode(value)}
}

// encode returns the JSON encoding of a string or a list of strings.
func encode[T string | []string](v T) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v) // cannot fail for strings
	return bytes.TrimSpace(b.Bytes())
}

// parseRecords reads a JSON array of objects.
func parseRecords(data []byte) (list []Record, err error) {
	var objects []json.RawMessage
	switch {
	case !utf8.Valid(data):
		return nil, errors.New("it is no UTF-8")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("it is empty, which is no JSON")
	}
	err = json.Unmarshal(data, &objects)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("it is no JSON: %w", syntax)
	}
	if err != nil || objects == nil {
		return nil, errors.New("it is no JSON array of objects")
	}
	for _, o := range objects {
		r, err := parseRecord(o)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRecord parses an object. If two members have the same name, the last one wins.
func parseRecord(object json.RawMessage) (r Record, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%.40s is not an object", object)
	}
	r = Record{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		r = r.with(Field{name.(string), value})
	}
	return r, nil
}

// encodeRecords returns the bytes that Python's json.dumps writes with an indent of 2.
func encodeRecords(list []Record) ([]byte, error) {
	if list == nil {
		list = []Record{}
	}
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(list); err != nil {
		return nil, err
	}
	var b []byte
	for _, r := range strings.TrimSuffix(plain.String(), "\n") {
		switch {
		case r < 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b, nil
}

// records returns the records of a file at the workspace's root.
func (x *Executor) records(name string) ([]Record, error) {
	abs := filepath.Join(x.ws.Dir(), name)
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return x.readRecords(abs, f, info.Size)
}

func (x *Executor) readRecords(abs string, src io.ReaderAt, size int64) ([]Record, error) {
	const unreadable = "%s cannot be read and is left as it is: %w"
	if size > maxStore {
		return nil, fmt.Errorf(unreadable, abs, fmt.Errorf("it holds %d bytes, more than %d", size, maxStore))
	}
	data := make([]byte, size)
	if _, err := src.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	list, err := parseRecords(data)
	if err != nil {
		return nil, fmt.Errorf(unreadable, abs, err)
	}
	return list, nil
}

// changeRecords replaces the records of a file by the result of change, under the file's
// lock. A missing file is created if create is set, and otherwise an error.
func (x *Executor) changeRecords(ctx context.Context, name string, create bool,
	change func([]Record) ([]Record, error)) (c workspace.Change, err error) {
	abs := filepath.Join(x.ws.Dir(), name)
	for range 100 { // another process may create or remove the file meanwhile
		c, err = x.ws.EditFile(ctx, abs, workspace.WriteOptions{},
			func(src io.ReaderAt, size int64) (workspace.Splice, error) {
				list, err := x.readRecords(abs, src, size)
				if err != nil {
					return workspace.Splice{}, err
				}
				if list, err = change(list); err != nil {
					return workspace.Splice{}, err
				}
				data, err := encodeRecords(list)
				return workspace.Splice{Old: size, New: data}, err
			})
		if !errors.Is(err, fs.ErrNotExist) || !create {
			return c, err
		}
		list, err := change(nil)
		if err != nil {
			return c, err
		}
		data, err := encodeRecords(list)
		if err != nil {
			return c, err
		}
		c, err = x.ws.WriteFile(ctx, abs, data, workspace.WriteOptions{NoReplace: true})
		if !errors.Is(err, fs.ErrExist) {
			return c, err
		}
	}
	return c, err
}

// newID returns an id of eight hexadecimal digits that none of the records has.
func newID(list []Record) string {
	for {
		var b [4]byte
		rand.Read(b[:])
		id := hex.EncodeToString(b[:])
		if !slices.ContainsFunc(list, func(r Record) bool { return r.Text("id") == id }) {
			return id
		}
	}
}

// localTime formats a time as Python's isoformat does without a time zone.
func localTime(t time.Time) string {
	return strings.TrimSuffix(t.Local().Format("2006-01-02T15:04:05.000000"), ".000000")
}
