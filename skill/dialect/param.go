package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"textskill/parser/rawjson"
)

// A Param is one argument of a tool.
type Param struct {
	Name     string
	Aliases  []string // further names; not shown to clients
	Type     string   // of JSON Schema: "string", "integer", "number", "boolean", "array", "object"
	Of       string   // type of an array's elements or an object's values; "" allows any
	Fields   []Param  // members of an array's elements, which are objects; nil if they are not
	Enum     []string // allowed strings; nil allows any
	Min, Max int      // length of a string in UTF-16 units, if the dialect checks it; a Max of 0 is no limit
	Required bool
	Empty    bool // a required string may be empty
	Path     bool // it is the path of a file or folder in the workspace, or an array of such paths
	New      bool // if the path does not exist, the effect of the call is Adds
	Default  any  // value of a missing argument; nil for none
	Content  bool // it may hold file contents or a secret: records of calls have only its length
	Lenient  bool // the row, not the dialect, checks the type of the value
	Hidden   bool // accepted, but not shown to clients
	Doc      string

	field []int // of the struct that holds the arguments: see row
}

// Params returns the arguments of the tool, in the order of the manual.
func (t *Tool) Params() []Param {
	if t == nil || t.params == nil {
		return nil
	}
	return t.params()
}

func (t *Tool) param(name string) *Param {
	params := t.Params()
	for i := range params {
		if p := &params[i]; p.Name == name || slices.Contains(p.Aliases, name) {
			return p
		}
	}
	return nil
}

// Faults of an argument, as the Reason of a [skill.ArgError]. Dialects word it.
const (
	missing  = "is required"
	mustBe   = "must be " // and what
	notEmpty = "a text that is not empty"
)

// names returns the name of a parameter, and then its aliases.
func (p *Param) names() []string { return append([]string{p.Name}, p.Aliases...) }

// Schema is the JSON Schema of a tool's arguments, as JSON.
func (t *Tool) Schema() json.RawMessage {
	if t.function != nil {
		return t.function.in
	}
	return objectSchema(t.Params(), t.More)
}

// OutputSchema is the JSON Schema of the tool's structured replies, as JSON; nil if it has none.
func (t *Tool) OutputSchema() json.RawMessage {
	switch {
	case t.function != nil:
		return t.function.out
	case t.Output == nil:
		return nil
	}
	// more may come
	return append(bytes.TrimSuffix(objectSchema(t.Output, true),
		[]byte(`,"additionalProperties":true}`)), '}')
}

func objectSchema(params []Param, more bool) []byte {
	var b, required bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for _, p := range params {
		if p.Hidden {
			continue
		}
		if b.Len() > len(`{"type":"object","properties":{`) {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%s:%s`, rawjson.Encode(p.Name), p.schema())
		if p.Required {
			if required.Len() > 0 {
				required.WriteByte(',')
			}
			required.Write(rawjson.Encode(p.Name))
		}
	}
	b.WriteString(`},"required":[`)
	b.Write(required.Bytes())
	fmt.Fprintf(&b, `],"additionalProperties":%t}`, more)
	return b.Bytes()
}

// schema is the JSON Schema of one argument.
func (p *Param) schema() []byte {
	b := fmt.Appendf(nil, `{"type":%s`, rawjson.Encode(p.Type))
	switch {
	case p.Fields != nil:
		b = fmt.Appendf(b, `,"items":%s`,
			bytes.TrimSuffix(objectSchema(p.Fields, false), []byte(`,"additionalProperties":false}`)))
		b = append(b, '}')
	case p.Of != "" && p.Type == "array":
		b = fmt.Appendf(b, `,"items":{"type":%s}`, rawjson.Encode(p.Of))
	case p.Of != "" && p.Type == "object":
		b = fmt.Appendf(b, `,"additionalProperties":{"type":%s}`, rawjson.Encode(p.Of))
	}
	if p.Enum != nil {
		b = fmt.Appendf(b, `,"enum":%s`, rawjson.Encode(p.Enum))
	}
	if p.Min > 0 {
		b = fmt.Appendf(b, `,"minLength":%d`, p.Min)
	}
	if p.Max > 0 {
		b = fmt.Appendf(b, `,"maxLength":%d`, p.Max)
	}
	if p.Default != nil {
		b = fmt.Appendf(b, `,"default":%s`, rawjson.Encode(p.Default))
	}
	if p.Doc != "" {
		b = fmt.Appendf(b, `,"description":%s`, rawjson.Encode(p.Doc))
	}
	return append(b, '}')
}
