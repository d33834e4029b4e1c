package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A value is a JSON value, taken apart at its top level.
type value struct {
	raw      json.RawMessage
	members  map[string]json.RawMessage // of an object
	elements []json.RawMessage          // of an array
	// a key that this object, or one that get came through, has twice; "" for none
	twice string
}

// split takes a valid JSON value apart. Missing values have no parts, and of a key that is
// given twice the last value counts.
func split(raw json.RawMessage) value {
	v := value{raw: raw}
	switch {
	case len(raw) == 0:
	case raw[0] == '[':
		v.elements = []json.RawMessage{} // an empty array is not nil
		for e := range rawjson.EachElement(raw) {
			v.elements = append(v.elements, e)
		}
	case raw[0] == '{':
		v.members, v.twice, _ = rawjson.Members(raw)
	}
	return v
}

// get returns the value at a path of keys.
func (v value) get(keys ...string) value {
	for _, key := range keys {
		inner := split(v.members[key])
		inner.twice = cmp.Or(v.twice, inner.twice)
		v = inner
	}
	return v
}

// surplus returns a key that v has besides some, "" if it has none.
func (v value) surplus(keys ...string) string {
	for _, key := range slices.Sorted(maps.Keys(v.members)) {
		if !slices.Contains(keys, key) {
			return key
		}
	}
	return ""
}

// alone is a list with v as its one element.
func (v value) alone() value { return value{elements: []json.RawMessage{v.raw}, twice: v.twice} }

// str returns the string under a key, "" for none.
func (v value) str(key string) string {
	s, _ := rawjson.String(v.members[key])
	return s
}

// has reports whether a key has a value that is not null.
func (v value) has(key string) bool {
	raw := v.members[key]
	return raw != nil && string(raw) != "null"
}

// part returns the named members that v has.
func (v value) part(keys ...string) object {
	o := object{}
	for _, key := range keys {
		if v.has(key) {
			o[key] = v.members[key]
		}
	}
	return o
}

// any reports whether an element is an object that ok accepts.
func (v value) any(ok func(e value) bool) bool {
	return slices.ContainsFunc(v.elements, func(e json.RawMessage) bool { return ok(split(e)) })
}

// typed returns a function that reports whether an object has one of some types.
func typed(types ...string) func(v value) bool {
	return func(v value) bool { return slices.Contains(types, v.str("type")) }
}

// A message collects what the parts of a provider's message hold.
type message struct {
	parser.Envelope
	said    []string // the texts
	refused string   // what only another program can answer, so that nothing must be run
	served  bool     // the provider has answered a call itself
}

// givenTwice returns an error if an object has a key twice: it is not known which was meant.
func givenTwice(objects ...value) error {
	for _, v := range objects {
		if v.twice != "" {
			return parser.NoCalls(fmt.Sprintf("key `%s` is given twice, so nothing of it was run",
				v.twice), nil)
		}
	}
	return nil
}

// readParts reads a text that holds one JSON value with a list of parts. parts finds the
// list, and each reads one of them.
func readParts(text string, parts func(v value) (list value, err error),
	each func(m *message, part value)) (parser.Envelope, error) {
	raw, repairs, err := rawjson.Decode(text)
	if err != nil {
		return parser.Envelope{}, parser.NoCalls(err.Error(), err)
	}
	v := split(raw)
	list, err := parts(v)
	if err == nil {
		err = givenTwice(v, list)
	}
	messages := []value{v, v.get("message"), v.get("content")}
	if n := len(v.elements); n > 0 { // of a conversation, the last message counts
		messages = append(messages, split(v.elements[n-1]))
	}
	for _, candidate := range v.get("candidates").elements {
		messages = append(messages, split(candidate).get("content"))
	}
	for _, m := range messages {
		err = cmp.Or(err, parser.NotModel(m.members))
	}
	if err != nil {
		return parser.Envelope{}, err
	}
	m := message{Envelope: parser.Envelope{Repairs: repairs}}
	for _, part := range list.elements {
		each(&m, split(part))
	}
	return m.finish()
}

// finish returns the calls of a message, or its text if it has none.
func (m *message) finish() (parser.Envelope, error) {
	switch {
	case m.refused != "":
		return parser.Envelope{},
			parser.NoCalls(m.refused+" cannot be answered here, so nothing of the message was run", nil)
	case len(m.Calls) > 0:
		return m.Envelope, nil
	}
	if m.Final = strings.TrimSpace(strings.Join(m.said, "")); m.Final == "" && !m.served {
		return parser.Envelope{}, parser.NoCalls("the message holds neither a call nor a text", nil)
	}
	m.HasFinal = true
	return m.Envelope, nil
}

// call adds a call whose arguments are read by a function.
func (m *message) call(v value, id, name string, arguments json.RawMessage,
	read func(json.RawMessage) (json.RawMessage, []string, error)) {
	c := parser.ToolCall{ID: id, Name: name}
	switch {
	case v.twice != "":
		c.Err = fmt.Errorf("key `%s` is given twice", v.twice)
	case strings.TrimSpace(name) == "":
		c.Err = errors.New("the call has no name")
	case (arguments == nil || string(arguments) == "null") && v.otherArguments() != "":
		c.Err = fmt.Errorf("the arguments are under `%s`, where no argument is read, so this call was not run", v.otherArguments())
	default:
		var repairs []string
		if c.Arguments, repairs, c.Err = read(arguments); c.Err != nil {
			c.Arguments = nil
		}
		for _, r := range repairs {
			m.Repairs = append(m.Repairs, fmt.Sprintf("arguments of call %d: %s", len(m.Calls)+1, r))
		}
	}
	m.Calls = append(m.Calls, c)
}

// otherArguments returns the key under which a call without arguments has the arguments of another
// wire, "" if it has none.
func (v value) otherArguments() string {
	for _, key := range []string{"arguments", "args", "input", "parameters", "params", "partialArgs"} {
		if v.has(key) {
			return key
		}
	}
	return ""
}

// cutLast says that the last of some calls was cut off.
func cutLast(calls []parser.ToolCall, reason string) {
	if n := len(calls); n > 0 {
		c := &calls[n-1]
		*c = parser.ToolCall{ID: c.ID, Name: c.Name,
			Err: fmt.Errorf("the message was cut off (%s), so this call was not run", reason)}
	}
}

// needIDs refuses calls that no answer can name. Some servers send an ID that is empty.
func needIDs(calls []parser.ToolCall) {
	for i := range calls {
		if c := &calls[i]; c.ID == "" && c.Err == nil {
			c.Arguments, c.Err = nil, errors.New("the call has no id to answer it by, so it was not run")
		}
	}
}

// objectArguments reads arguments that are an object; missing ones are empty.
func objectArguments(raw json.RawMessage) (json.RawMessage, []string, error) {
	switch {
	case raw == nil || string(raw) == "null":
		return json.RawMessage("{}"), nil, nil
	case raw[0] != '{':
		return nil, nil, fmt.Errorf("the arguments must be an object, got %s", rawjson.Kind(raw))
	}
	return raw, nil, nil
}

// stringArguments reads arguments that are a string, which holds an object; missing and
// blank ones are empty.
func stringArguments(raw json.RawMessage) (json.RawMessage, []string, error) {
	if raw == nil || string(raw) == "null" {
		return json.RawMessage("{}"), nil, nil
	}
	text, ok := rawjson.String(raw)
	if !ok {
		return nil, nil, fmt.Errorf("the arguments must be a JSON string that holds an object, got %s",
			rawjson.Kind(raw))
	}
	return textArguments(text)
}

// textArguments reads the text of an object; a blank one is empty.
func textArguments(text string) (json.RawMessage, []string, error) {
	if strings.Trim(text, rawjson.Space) == "" {
		return json.RawMessage("{}"), nil, nil
	}
	object, repairs, err := rawjson.DecodeOne(text)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the arguments: %w", err)
	case object[0] != '{':
		return nil, nil, fmt.Errorf("the arguments must be an object, got %s", rawjson.Kind(object))
	}
	return object, repairs, nil
}

func (m Media) base64() string { return base64.StdEncoding.EncodeToString(m.Data) }

func (m Media) dataURL() string { return "data:" + m.Type + ";base64," + m.base64() }

// isImage reports whether it is a picture; else it is a PDF.
func (m Media) isImage() bool { return strings.HasPrefix(m.Type, "image/") }

// object is a JSON object that keeps no order of its keys.
type object = map[string]any
