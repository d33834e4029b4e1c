package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	rawjson "textskill/parser/json"
)

// The arguments of the Base Skill are checked, and what is wrong with them is
// worded, as zod does: the models of its hosts know those messages.

// An issue is one thing wrong with the arguments of a call, where and how: a text or
// number of another type than want, or with limit set a text that is too short or long.
type issue struct {
	path     []any // names and indexes on the way
	want     string
	received string
	limit    int
	small    bool // it is shorter than the limit
	infinite bool
}

func (i issue) message() string {
	switch {
	case i.limit == 0:
		return "Invalid input: expected " + i.want + ", received " + i.received
	case i.small:
		return fmt.Sprintf("Too small: expected string to have >=%d characters", i.limit)
	}
	return fmt.Sprintf("Too big: expected string to have <=%d characters", i.limit)
}

func (i issue) json() []byte {
	path := array(each(i.path, func(part any) []byte { return appendValue(nil, part) }))
	tail := []any{"path", path, "message", i.message()}
	switch {
	case i.limit > 0 && i.small:
		return object(append([]any{"origin", "string", "code", "too_small", "minimum", i.limit, "inclusive",
			true}, tail...)...)
	case i.limit > 0:
		return object(append([]any{"origin", "string", "code", "too_big", "maximum", i.limit, "inclusive",
			true}, tail...)...)
	}
	head := []any{"expected", i.want, "code", "invalid_type"}
	if i.infinite {
		head = append(head, "received", "Infinity")
	}
	return object(append(head, tail...)...)
}

// zodError formats issues as a list, indented by two blanks for each level.
func zodError(t *Tool, issues ...issue) error {
	var b bytes.Buffer
	b.WriteString("MCP error -32602: Input validation error: Invalid arguments for tool " + t.Name + ": ")
	if err := json.Indent(&b, array(each(issues, issue.json)), "", "  "); err != nil {
		panic(err) // array and object print JSON
	}
	return &Failure{Message: b.String(), body: b.String()}
}

// zodTypes are the names of types where zod's differ from JSON Schema's.
var zodTypes = map[string]string{"object": "record", "integer": "number"}

// zodRead reads arguments into values of type string, float64, bool, []string,
// []float64 and []member.
func zodRead(t *Tool, raw json.RawMessage) (values, error) {
	raw = bytes.TrimSpace(raw)
	var given map[string]json.RawMessage
	if kind := kindOf(raw); kind != "object" {
		return nil, zodError(t, issue{want: "object", received: kind})
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	r := zodReader{}
	in := make(values, len(t.Params))
	for i := range t.Params {
		p := &t.Params[i]
		v, ok := given[p.Name]
		if !ok && !p.Required {
			continue
		}
		if v, ok := r.value(v, p.Type, p.Of, p.Name); ok {
			in[p.Name] = v
			r.length(p, v)
		}
	}
	if r.issues != nil {
		return nil, zodError(t, r.issues...)
	}
	return in, nil
}

// kindOf names the JavaScript type of a JSON value, which may be missing.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return "undefined"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

type zodReader struct{ issues []issue }

// value decodes one value of a type, or records what is wrong.
func (r *zodReader) value(raw []byte, want, of string, path ...any) (any, bool) {
	if kind := kindOf(raw); kind != want {
		if zod, ok := zodTypes[want]; ok {
			want = zod
		}
		r.issues = append(r.issues, issue{path: path, want: want, received: kind})
		return nil, false
	}
	switch want {
	case "string":
		return rawjson.Unquote(raw), true
	case "boolean":
		return raw[0] == 't', true
	case "number":
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil { // JavaScript reads it as an infinity
			r.issues = append(r.issues, issue{path: path, want: want, received: "number", infinite: true})
			return nil, false
		}
		return f, true
	case "object":
		return r.members(raw, of, path)
	}
	return r.elements(raw, of, path)
}

// elements decodes an array of strings or numbers.
func (r *zodReader) elements(raw []byte, of string, path []any) (any, bool) {
	before := len(r.issues)
	var texts []string
	var numbers []float64
	i := 0
	for item := range rawjson.EachElement(raw) {
		v, _ := r.value(item, of, "", append(slices.Clone(path), i)...)
		i++
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case float64:
			numbers = append(numbers, v)
		}
	}
	if of == "number" {
		return numbers, len(r.issues) == before
	}
	return texts, len(r.issues) == before
}

// member is one member of an object of strings.
type member struct{ name, value string }

// members decodes an object of strings, in the order that JavaScript gives them:
// names that are array indexes first. Of a name given twice the last value counts.
func (r *zodReader) members(raw []byte, of string, path []any) (any, bool) {
	var list []member // the values are JSON still
	for key, value := range rawjson.EachMember(raw) {
		name, _ := rawjson.String(key)
		m := member{name, string(value)}
		if i := slices.IndexFunc(list, func(have member) bool { return have.name == m.name }); i >= 0 {
			list[i] = m
		} else {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b member) int { return arrayIndex(a.name) - arrayIndex(b.name) })
	before := len(r.issues)
	for i, m := range list {
		v, _ := r.value([]byte(m.value), of, "", append(slices.Clone(path), m.name)...)
		list[i].value, _ = v.(string)
	}
	return list, len(r.issues) == before
}

// arrayIndex returns the number that a name is, or one after all others.
func arrayIndex(name string) int {
	const none = 1<<32 - 1
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != name {
		return none
	}
	return int(n)
}

// length records a text that is shorter or longer than its row allows.
func (r *zodReader) length(p *Param, v any) {
	s, ok := v.(string)
	if !ok {
		return
	}
	n := units(s)
	if n < p.Min {
		r.issues = append(r.issues, issue{path: []any{p.Name}, limit: p.Min, small: true})
	}
	if p.Max > 0 && n > p.Max {
		r.issues = append(r.issues, issue{path: []any{p.Name}, limit: p.Max})
	}
}
