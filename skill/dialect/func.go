package dialect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"textskill/parser/rawjson"
	"textskill/skill/internal/words"
)

// New returns a dialect of tools made by [Func]. You can serve it over MCP, give it to an
// agent, and call it with [Dialect.Do] and in every wire. New returns an error that names the
// tool if a name is invalid or appears twice, or if Func cannot describe the function.
func New(name, doc string, tools ...Tool) (*Dialect, error) {
	d := &Dialect{Name: name, Doc: doc, Tools: tools, noSurrogates: true, decode: decodeFunction,
		fail: workspaceFail}
	if name == "" {
		return nil, errors.New("the dialect has no name")
	}
	for i := range tools {
		t := &tools[i]
		switch {
		case !toolName().MatchString(t.Name):
			return nil, fmt.Errorf("%q is not a name for a tool: letters, digits, _ and -, at most 64", t.Name)
		case t.function == nil:
			return nil, fmt.Errorf("%s has no function; make the tool with Func", t.Name)
		case t.function.err != nil:
			return nil, fmt.Errorf("%s: %w", t.Name, t.function.err)
		case d.Lookup(t.Name) != t:
			return nil, fmt.Errorf("two tools are called %s", t.Name)
		}
	}
	return d, nil
}

// toolName matches the names that all endpoints accept.
var toolName = words.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// Func returns a tool that calls a Go function. In is a struct whose JSON names are the
// arguments. A tag `jsonschema:"…"` describes an argument; arguments without omitempty are
// required. Types with JSON methods of their own may be any JSON to clients, and [New] refuses
// the tag option string and structs that are embedded under a JSON name. A string Out is the
// reply. Other types are the reply as JSON; a struct or a map is also its structured content. An
// error makes the call fail, with the error's text as reply.
//
// Clients assume that the tool may do anything. If it only reads, set Effect to [Reads], and if
// it stays inside the workspace, set Open to false. Without the right to change files, a session
// calls only tools that read. Several goroutines may call the function at a time.
func Func[In, Out any](name, doc string, f func(ctx context.Context, in In) (Out, error)) Tool {
	fn := &function{}
	fn.describe(reflect.TypeFor[In](), reflect.TypeFor[Out]())
	t := Tool{Name: name, Doc: doc, Effect: Destroys, Open: true}
	if f == nil {
		return t // which New refuses
	}
	t.function = fn
	t.run = func(in *call) (_ any, err error) {
		if cfg := in.x.Config(); (cfg.ReadOnly || cfg.DryRun) && in.tool.Effect != Reads {
			return nil, errors.New("it may change something, and nothing may be changed here")
		}
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the function panicked: %v", p)
			}
		}()
		var a In
		raw, _ := in.values[rawArguments].(json.RawMessage)
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, err
		}
		out, err := f(in.ctx, a)
		if err != nil {
			return nil, err
		}
		return fn.reply(out)
	}
	return t
}

// A function is what a tool calls that is not an operation.
type function struct {
	in, out    json.RawMessage      // schemas; out is nil if replies are only text
	arguments  *jsonschema.Resolved // that in is
	structured bool                 // the result is an object
	err        error                // why it cannot be called
}

// describe makes the schemas of a function.
func (f *function) describe(in, out reflect.Type) {
	var err error
	if f.in, f.arguments, err = schemaOf(in, true); err != nil {
		f.err = fmt.Errorf("its arguments: %w", err)
		return
	}
	for out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	if f.structured = out.Kind() == reflect.Struct || out.Kind() == reflect.Map; f.structured {
		if f.out, _, err = schemaOf(out, false); err != nil {
			f.err = fmt.Errorf("its result: %w", err)
		}
	}
}

// rawArguments is the name under which the arguments of a function are values, as JSON.
const rawArguments = "arguments"

// orNone returns arguments, or an object without any in place of nothing and of null, which some
// clients send.
func orNone(raw json.RawMessage) json.RawMessage {
	if given := bytes.TrimSpace(raw); len(given) == 0 || string(given) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// decodeFunction holds the arguments of a call to the schema of its function.
func decodeFunction(t *Tool, raw json.RawMessage) (values, error) {
	raw = orNone(raw)
	if _, twice, ok := rawjson.Members(raw); !ok || twice != "" {
		return nil, errors.New("the arguments are not a JSON object, or have a member twice")
	}
	var given any
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, err
	}
	if err := t.function.arguments.Validate(given); err != nil {
		return nil, fmt.Errorf("the arguments do not fit: %w", err)
	}
	return values{rawArguments: raw}, nil
}

// reply makes a reply of what a function returns.
func (f *function) reply(out any) (Reply, error) {
	if text, ok := out.(string); ok {
		return Reply{Body: text}, nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return Reply{}, fmt.Errorf("the result is not JSON: %w", err)
	}
	r := Reply{Body: string(data)}
	if f.structured && data[0] == '{' { // not null
		r.Structured = data
	}
	return r, nil
}
