package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// values are the arguments of one call, decoded and checked: string, json.Number,
// bool, []any or map[string]any, and whatever a lenient parameter was given.
type values map[string]any

// arguments reads the arguments of a call, which may be missing. Without a way of its own, the dialect
// ignores those that the row does not name.
func (d *Dialect) arguments(t *Tool, raw json.RawMessage) (values, error) {
	if d.decode != nil {
		return d.decode(t, raw)
	}
	given, err := members(orNone(raw), false, false)
	if err != nil {
		return nil, err
	}
	return t.check(given)
}

// members decodes the members of an object. One that is given twice with two values is an error, and
// with once if the values are the same too. With exact, texts keep halves of surrogate pairs.
func members(raw json.RawMessage, once, exact bool) (values, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, errors.New("the arguments are not a JSON object")
	}
	given := make(values)
	for key, value := range rawjson.EachMember(raw) {
		name, _ := rawjson.String(key)
		v := decoded(value, 2, exact)
		if before, twice := given[name]; twice && (once || !reflect.DeepEqual(before, v)) {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		given[name] = v
	}
	return given, nil
}

// decoded decodes a valid JSON value, as encoding/json does in three times the time. EachMember
// looks at each level again, so that encoding/json decodes what is more than depth levels down.
func decoded(value []byte, depth int, exact bool) (v any) {
	switch value[0] {
	case '"':
		if exact {
			return rawjson.Unquote(value)
		}
		text, _ := rawjson.String(value)
		return text
	case 'n':
		return nil
	case 't', 'f':
		return value[0] == 't'
	case '{', '[':
	default:
		return json.Number(value)
	}
	switch {
	case depth == 0:
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		_ = d.Decode(&v) // it is valid
		return v
	case value[0] == '[':
		list := []any{}
		for element := range rawjson.EachElement(value) {
			list = append(list, decoded(element, depth-1, exact))
		}
		return list
	}
	object := map[string]any{}
	for key, member := range rawjson.EachMember(value) {
		name, _ := rawjson.String(key)
		object[name] = decoded(member, depth-1, exact)
	}
	return object
}

// named holds decoded arguments to the names of the row, and converts each value where nothing is lost.
func (t *Tool) named(given values, convert func(p *Param, v any) any) error {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		switch p := t.param(key); {
		case p != nil:
			given[key] = convert(p, given[key])
		case !t.More:
			return fmt.Errorf("there is no argument %s; %s", key, t.argumentNames())
		}
	}
	return nil
}

// checkAliases fails if one argument is given under two of its names, with two values.
func checkAliases(t *Tool, given values) error {
	for _, p := range t.Params() {
		first := ""
		for _, name := range p.names() {
			switch v := given[name]; {
			case v == nil:
			case first == "":
				first = name
			case !reflect.DeepEqual(v, given[first]):
				return fmt.Errorf("%s and %s are names of one argument; give one of them", first, name)
			}
		}
	}
	return nil
}

// check holds decoded arguments to the row, and fills in defaults.
func (t *Tool) check(given map[string]any) (values, error) {
	params := t.Params()
	in := make(values, len(params))
	for i := range params {
		p := &params[i]
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
	for key, v := range given {
		if t.More && t.param(key) == nil {
			in[key] = v
		}
	}
	return in, nil
}

// element returns what the elements of an array are held to.
func (p *Param) element() *Tool {
	return &Tool{Name: p.Name, params: func() []Param { return p.Fields }}
}

// checkElements holds the elements of an array to Fields.
func (p *Param) checkElements(list []any) ([]any, error) {
	element := p.element()
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
		checked[i] = map[string]any(v)
	}
	return checked, nil
}

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
	if !hasType(v, p.Type) {
		return "of type " + p.Type
	}
	switch v := v.(type) {
	case string:
		if p.Type == "string" {
			return p.wantsText(v)
		}
	case []any:
		if p.Type == "array" && slices.ContainsFunc(v, p.isWrongElement) {
			return "an array of type " + p.Of
		}
	case map[string]any:
		if p.Type == "object" && slices.ContainsFunc(slices.Collect(maps.Values(v)), p.isWrongElement) {
			return "an object with values of type " + p.Of
		}
	}
	return ""
}

// wantsText is wants for a string.
func (p *Param) wantsText(text string) string {
	switch n := units(text); {
	case p.Required && !p.Empty && words.Strip(text) == "":
		return notEmpty
	case p.Enum != nil && !slices.Contains(p.Enum, text):
		return "one of " + strings.Join(p.Enum, ", ")
	case n < p.Min:
		return fmt.Sprintf("a text of at least %s, not %d", counted(p.Min, "character"), n)
	case p.Max > 0 && n > p.Max:
		return fmt.Sprintf("a text of at most %s, not %d", counted(p.Max, "character"), n)
	}
	return ""
}

func (p *Param) isWrongElement(v any) bool { return !hasType(v, p.Of) }

// hasType reports whether a decoded value is of a type of JSON Schema; "" is any.
func hasType(v any, want string) (ok bool) {
	switch want {
	case "string":
		_, ok = v.(string)
	case "number":
		n, isNumber := v.(json.Number)
		_, err := n.Float64()
		return isNumber && err == nil // 1e400 is not one
	case "integer":
		var n json.Number
		if n, ok = v.(json.Number); ok {
			_, ok = pyInt(n)
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

// coerced returns a value as the type that the parameter wants where nothing is lost:
// "3" is 3, 5 is "5", "true" is true. Other values are returned as they are.
func (p *Param) coerced(v any) any {
	text, isText := v.(string)
	switch p.Type {
	case "string":
		switch v := v.(type) {
		case json.Number:
			return v.String()
		case bool:
			return strconv.FormatBool(v)
		}
	case "integer", "number":
		if n := json.Number(text); isText && numeral().MatchString(text) {
			return integral(n)
		}
		return integral(v)
	case "boolean":
		switch text {
		case "true", "True":
			return true
		case "false", "False":
			return false
		}
	case "array":
		if p.Of == "string" {
			return p.coercedTexts(v)
		}
	}
	return v
}

// coercedTexts is coerced for an array of texts.
func (p *Param) coercedTexts(v any) any {
	if _, isText := v.(string); isText && p.Aliases != nil { // one name in place of several
		return []any{v}
	}
	element := Param{Type: p.Of}
	list, _ := v.([]any)
	for i := range list {
		list[i] = element.coerced(list[i])
	}
	return v
}

// unpacked is coerced, in the members of a list too, for models and hosts that send a list or an
// object as a text with its JSON.
func (p *Param) unpacked(v any) any {
	if text, ok := v.(string); ok && (p.Type == "array" || p.Type == "object") && json.Valid([]byte(text)) {
		held := decoded(bytes.TrimSpace([]byte(text)), 2, false)
		if _, one := held.(map[string]any); p.wants(held) == "" || one && p.Fields != nil {
			v = held
		}
	}
	if _, one := v.(map[string]any); one && p.Type == "array" && p.Fields != nil {
		v = []any{v}
	}
	if list, ok := v.([]any); ok && p.Fields != nil {
		element := p.element()
		for i := range list {
			list[i] = (&Param{Type: "object"}).unpacked(list[i])
			members, _ := list[i].(map[string]any)
			for key, member := range members {
				if field := element.param(key); field != nil {
					members[key] = field.unpacked(member)
				}
			}
		}
	}
	return p.coerced(v)
}

// numeral matches a number as JSON has it, without an exponent.
var numeral = words.Pattern(`^-?(0|[1-9]\d{0,14})(\.\d+)?$`)

// integral writes a whole number without a fraction or exponent: 2.0 is 2.
func integral(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return v
}

func (t *Tool) argumentNames() string {
	if len(t.Params()) == 0 {
		return t.Name + " takes none"
	}
	return t.Name + " takes " + namesOf(t.Params())
}

// namesOf lists parameters, each with the fields of what it is a list of.
func namesOf(params []Param) string {
	params = slices.DeleteFunc(slices.Clone(params), func(p Param) bool { return p.Hidden })
	return strings.Join(each(params, func(p Param) string {
		if p.Fields == nil {
			return p.Name
		}
		return p.Name + " (each with " + namesOf(p.Fields) + ")"
	}), ", ")
}

// refuseSurrogates fails if a text in what the row names holds half of a surrogate pair, which
// is not a character and would be lost.
func refuseSurrogates(t *Tool, raw json.RawMessage) error {
	if !bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		return nil
	}
	members, _, _ := rawjson.Members(raw)
	for _, p := range t.Params() { // in their order: the first one is named
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

// expandHome replaces a leading ~ by the home folder. Without one, the path is
// returned as it is, with an error.
func expandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path, err
	}
	return filepath.Join(home, path[1:]), nil
}
