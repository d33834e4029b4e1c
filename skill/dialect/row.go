package dialect

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"textskill/skill"
)

// row returns a tool whose arguments are the fields of A, and which do carries out. An Out that is
// a string is the reply; else it is a [Reply]. The tags of a field say what clients are told:
//
//	arg      the name of the argument, and after commas further names, which are not shown
//	is       marks with commas between them: content, empty, hidden, lenient, new, path, required,
//	         see [Param], and brief, for a list of objects whose members are not described
//	doc      its description
//	type     of JSON Schema, if that of the field does not say it
//	of       the type of what an array or object holds, if that of the field does not say it
//	enum     the allowed texts, with commas between them
//	default  the value of an argument that is missing
//	len      the least and the most UTF-16 units of a text: 0-2000
//
// A field of type any holds what the client sent, and nil if that is nothing; other fields are zero
// for what is missing or of another type. The fields of an embedded struct are arguments too.
func row[A, Out any](t Tool, do func(in *call, a A) (Out, error)) Tool {
	t.params = sync.OnceValue(func() []Param { return paramsOf(reflect.TypeFor[A]()) }) // saves 0.3 ms of a start
	t.run = func(in *call) (any, error) {
		var a A
		in.values.fill(t.params(), reflect.ValueOf(&a).Elem())
		return do(in, a)
	}
	return t
}

// paramsOf returns the arguments that the fields of a struct are.
func paramsOf(t reflect.Type) (params []Param) {
	params = slices.Grow(params, t.NumField())
	for f := range t.Fields() {
		if !f.Anonymous {
			params = append(params, paramOf(f))
			continue
		}
		for _, p := range paramsOf(f.Type) {
			p.field = append(f.Index, p.field...)
			params = append(params, p)
		}
	}
	return params
}

// paramOf reads the type and the tags of a field. It panics for a tag that it does not know.
func paramOf(f reflect.StructField) Param {
	p := Param{field: f.Index}
	p.Type, p.Of = typesOf(f.Type)
	held := f.Type
	for held.Kind() == reflect.Pointer || held.Kind() == reflect.Slice {
		held = held.Elem()
	}
	if held.Kind() == reflect.Struct {
		p.Fields = paramsOf(held)
	}
	for rest := strings.TrimSpace(string(f.Tag)); rest != ""; {
		key, value, _ := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(value)
		if err == nil {
			rest = strings.TrimSpace(value[len(quoted):])
			value, _ = strconv.Unquote(quoted) // it is quoted
			err = p.read(key, value)
		}
		if err != nil {
			panic(fmt.Sprintf("dialect: the tag %s of %s: %v", key, f.Name, err))
		}
	}
	return p
}

// read reads one key of a tag.
func (p *Param) read(key, value string) (err error) {
	switch key {
	case "arg":
		names := strings.Split(value, ",")
		if p.Name = names[0]; len(names) > 1 {
			p.Aliases = names[1:]
		}
	case "doc":
		p.Doc = value
	case "type":
		p.Type = value
	case "of":
		p.Of = value
	case "enum":
		p.Enum = strings.Split(value, ",")
	case "default":
		p.Default = value
		switch p.Type {
		case "boolean":
			p.Default = value == "true"
		case "integer", "number":
			p.Default = json.Number(value)
		}
	case "len":
		_, err = fmt.Sscanf(value, "%d-%d", &p.Min, &p.Max)
	case "is":
		for mark := range strings.SplitSeq(value, ",") {
			switch mark {
			case "brief":
				for i := range p.Fields {
					p.Fields[i].Doc = ""
				}
			case "content":
				p.Content = true
			case "empty":
				p.Empty = true
			case "hidden":
				p.Hidden = true
			case "lenient":
				p.Lenient = true
			case "new":
				p.New = true
			case "path":
				p.Path = true
			case "required":
				p.Required = true
			default:
				return fmt.Errorf("there is no mark %s", mark)
			}
		}
	default:
		err = fmt.Errorf("there is no such key")
	}
	return err
}

// typesOf returns the type of JSON Schema that a field has, and that of what it holds.
func typesOf(t reflect.Type) (kind, of string) {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean", ""
	case reflect.Int:
		return "integer", ""
	case reflect.Float64:
		return "number", ""
	case reflect.Struct:
		return "object", ""
	case reflect.Map:
		of, _ = typesOf(t.Elem())
		return "object", of
	case reflect.Slice:
		of, _ = typesOf(t.Elem())
		return "array", of
	case reflect.Pointer:
		return typesOf(t.Elem())
	case reflect.Interface:
		return "", ""
	}
	if t == reflect.TypeFor[json.Number]() {
		return "number", ""
	}
	return "string", ""
}

// fill sets the fields of a struct to the arguments of a call.
func (in values) fill(params []Param, at reflect.Value) {
	for i := range params {
		if v := in[params[i].Name]; v != nil {
			set(at.FieldByIndex(params[i].field), v, params[i].Fields)
		}
	}
}

// set sets a field to a decoded value of its type, and leaves it as it is for another. fields are
// the members of the structs in it.
func set(at reflect.Value, v any, fields []Param) (fits bool) {
	switch at.Kind() {
	case reflect.Pointer:
		one := reflect.New(at.Type().Elem())
		if fits = set(one.Elem(), v, fields); fits {
			at.Set(one)
		}
		return fits
	case reflect.Int:
		n, ok := pyInt(v)
		at.SetInt(int64(n))
		return ok
	case reflect.Float64:
		n, ok := v.(json.Number)
		f, _ := n.Float64()
		at.SetFloat(f)
		return ok
	case reflect.Struct:
		object, ok := v.(map[string]any)
		values(object).fill(fields, at)
		return ok
	case reflect.Slice:
		list, ok := v.([]any)
		if ok {
			at.Set(reflect.MakeSlice(at.Type(), len(list), len(list)))
		}
		for i := range list {
			set(at.Index(i), list[i], fields)
		}
		return ok
	}
	if given := reflect.ValueOf(v); v != nil && given.Type().AssignableTo(at.Type()) {
		at.Set(given)
		return true
	}
	return false
}

// do carries out an operation, whose result is an R.
func do[R skill.Result](in *call, a skill.Args) (R, error) {
	r, err := in.x.Execute(in.ctx, in.s, a)
	in.did = r
	found, _ := r.(R)
	return found, err
}

// say carries out an operation, and replies with the result's own sentence.
func (in *call) say(a skill.Args) (string, error) {
	r, err := do[skill.Result](in, a)
	if err != nil {
		return "", err
	}
	return r.Message(), nil
}
