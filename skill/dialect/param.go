package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	rawjson "textskill/parser/json"
	"textskill/skill"
)

// A Param is one argument of a tool.
type Param struct {
	Name     string
	Aliases  []string // further names; not shown to clients
	Type     string   // of JSON Schema: "string", "integer", "number", "boolean", "array", "object"
	Of       string   // type of an array's elements or of an object's values; "" is any
	Fields   []Param  // members of an array's elements, which are objects; nil if they are not
	Enum     []string // what a string may be; nil is anything
	Min, Max int      // length of a string in UTF-16 units, if the dialect checks it; a Max of 0 is no limit
	Required bool
	Empty    bool // a required string may be empty
	Path     bool // it names a file or folder, which must be inside the workspace; of an array, each element does
	Default  any  // of a missing argument; nil is none
	Content  bool // it is what files hold, or a secret may be in it: records of calls have only its length
	Lenient  bool // a value of another type is left to the row, not refused
	Doc      string
}

// values are the arguments of one call, decoded and checked: string, json.Number,
// bool, []any or map[string]any, and whatever a lenient parameter was given. A
// dialect that reads arguments itself has its own types.
type values map[string]any

func (in values) str(name string) string {
	s, _ := in[name].(string)
	return s
}

func (in values) flag(name string) bool {
	b, _ := in[name].(bool)
	return b
}

// texts returns a list of strings, nil for none.
func (in values) texts(name string) (list []string) {
	given, _ := in[name].([]any)
	for _, text := range given {
		list = append(list, text.(string))
	}
	return list
}

func (t *Tool) param(name string) *Param {
	for i := range t.Params {
		if p := &t.Params[i]; p.Name == name || slices.Contains(p.Aliases, name) {
			return p
		}
	}
	return nil
}

// What is wrong with an argument, as the Reason of a [skill.ArgError]. Dialects word it.
const (
	missing = "is required"
	mustBe  = "must be " // and what
)

// decode reads the arguments of a call and checks them against the row.
// Arguments that the row does not name are ignored.
func (t *Tool) decode(raw json.RawMessage) (values, error) {
	if given, ok := decodeFlat(raw); ok {
		return t.check(given)
	}
	given, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	if members, twice, ok := rawjson.Members(raw); ok && twice != "" && otherwise(raw, twice, members[twice]) {
		return nil, fmt.Errorf("%s is given twice", twice)
	}
	return t.check(given)
}

// otherwise reports whether a member that an object has several times has another value than
// the last one.
func otherwise(object json.RawMessage, name string, last json.RawMessage) bool {
	for key, value := range rawjson.EachMember(object) {
		if k, _ := rawjson.String(key); k == name && !bytes.Equal(value, last) {
			return true
		}
	}
	return false
}

// decodeFlat is decodeObject in a third of the time for what most calls have: an object
// without objects, arrays, \u escapes and names that are given twice.
func decodeFlat(raw json.RawMessage) (given map[string]any, ok bool) {
	if len(raw) == 0 || raw[0] != '{' || bytes.Contains(raw, []byte(`\u`)) || !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, false
	}
	given = make(map[string]any)
	for key, value := range rawjson.EachMember(raw) {
		name, _ := rawjson.String(key)
		if _, twice := given[name]; twice {
			return nil, false
		}
		switch value[0] {
		case '{', '[':
			return nil, false
		case '"':
			given[name], _ = rawjson.String(value)
		case 'n':
			given[name] = nil
		case 't', 'f':
			given[name] = value[0] == 't'
		default:
			given[name] = json.Number(value)
		}
	}
	return given, true
}

// decodeObject reads a JSON object; none at all is empty.
func decodeObject(raw json.RawMessage) (given map[string]any, err error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return nil, fmt.Errorf("arguments are not a JSON object")
	}
	return given, nil
}

// check holds decoded arguments to the row, and fills in defaults.
func (t *Tool) check(given map[string]any) (values, error) {
	in := make(values, len(t.Params))
	for i := range t.Params {
		p := &t.Params[i]
		v, ok := p.lookup(given)
		if !ok || v == nil {
			switch {
			case p.Required:
				return nil, &skill.ArgError{Arg: p.Name, Reason: missing}
			case p.Default != nil:
				in[p.Name] = p.Default
			}
			continue
		}
		if want := p.wants(v); want != "" && !p.Lenient {
			return nil, &skill.ArgError{Arg: p.Name, Reason: mustBe + want}
		}
		if p.Fields != nil {
			var err error
			if v, err = p.checkElements(v.([]any)); err != nil {
				return nil, err
			}
		}
		in[p.Name] = v
	}
	return in, nil
}

// checkElements holds the elements of an array to Fields.
func (p *Param) checkElements(list []any) ([]any, error) {
	element := Tool{Name: p.Name, Params: p.Fields}
	checked := make([]any, len(list))
	for i, e := range list {
		given := e.(map[string]any)
		for key := range given {
			if element.param(key) == nil {
				return nil, fmt.Errorf("%s[%d] has a member %s; %s", p.Name, i, key, element.argumentNames())
			}
		}
		v, err := element.check(given)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", p.Name, i, err)
		}
		checked[i] = v
	}
	return checked, nil
}

// names returns the name of a parameter, and then its aliases.
func (p *Param) names() []string { return append([]string{p.Name}, p.Aliases...) }

func (p *Param) lookup(given map[string]any) (any, bool) {
	if v, ok := given[p.Name]; ok {
		return v, true
	}
	for _, a := range p.Aliases {
		if v, ok := given[a]; ok {
			return v, true
		}
	}
	return nil, false
}

// wants returns what the parameter must be, if v is something else.
func (p *Param) wants(v any) string {
	switch v := v.(type) {
	case string:
		switch {
		case p.Type != "string":
		case p.Required && !p.Empty && skill.Strip(v) == "":
			return "a text that is not empty"
		case p.Enum != nil && !slices.Contains(p.Enum, v):
			return "one of " + strings.Join(p.Enum, ", ")
		}
	case []any:
		for _, e := range v {
			if p.Type == "array" && !hasType(e, p.Of) {
				return "an array of type " + p.Of
			}
		}
	case map[string]any:
		for _, e := range v {
			if p.Type == "object" && !hasType(e, p.Of) {
				return "an object with values of type " + p.Of
			}
		}
	}
	if hasType(v, p.Type) {
		return ""
	}
	return "of type " + p.Type
}

// hasType reports whether a decoded value is of a type of JSON Schema; "" is any.
func hasType(v any, want string) (ok bool) {
	switch want {
	case "string":
		_, ok = v.(string)
	case "number":
		_, ok = v.(json.Number)
	case "integer":
		var n json.Number
		if n, ok = v.(json.Number); ok {
			_, err := n.Int64()
			ok = err == nil
		}
	case "boolean":
		_, ok = v.(bool)
	case "array":
		_, ok = v.([]any)
	case "object":
		_, ok = v.(map[string]any)
	default:
		ok = true
	}
	return ok
}

// refuseSurrogates fails if a text in what the row names holds half of a surrogate pair, which
// is not a character and would be lost.
func refuseSurrogates(t *Tool, raw json.RawMessage) error {
	if !bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		return nil
	}
	members, _, _ := rawjson.Members(raw)
	for _, p := range t.Params { // in their order: the first one is named
		for _, name := range p.names() {
			if err := surrogateIn(members[name], p.Type != "string"); err != nil {
				return err
			}
		}
	}
	return nil
}

// surrogateIn is what refuseSurrogates refuses in a value; packed says that a text may be JSON.
func surrogateIn(value []byte, packed bool) error {
	for from, to := range rawjson.EachString(value) {
		text := rawjson.Unquote(value[from:to])
		err := pyEncodeError(text)
		if err == nil && packed && json.Valid([]byte(text)) {
			err = surrogateIn([]byte(text), false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Schema is the JSON Schema of a tool's arguments, as JSON.
func (t *Tool) Schema() json.RawMessage {
	if t.function != nil {
		return t.function.in
	}
	return objectSchema(t.Params, t.More)
}

// OutputSchema is the JSON Schema of the tool's structured replies, as JSON; nil if it has none.
func (t *Tool) OutputSchema() json.RawMessage {
	switch {
	case t.function != nil:
		return t.function.out
	case t.Output == nil:
		return nil
	}
	return append(bytes.TrimSuffix(objectSchema(t.Output, true), []byte(`,"additionalProperties":true}`)), '}') // more may come
}

func objectSchema(params []Param, more bool) []byte {
	var b, required bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i, p := range params {
		if i > 0 {
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
		b = fmt.Appendf(b, `,"items":%s`, bytes.TrimSuffix(objectSchema(p.Fields, false), []byte(`,"additionalProperties":false}`)))
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
