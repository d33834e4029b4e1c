package dialect

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// A Reply is the answer to one call or one text.
type Reply struct {
	Tool   string       // the row's name; else the first word of a text command, else ""
	Body   string       // text for the client, also of a failure
	Result skill.Result // nil if the call failed
	Err    error        // a [*Failure], which goes to the model as data; nil if the call succeeded

	Structured []byte  // Body as a JSON object that the tool's Output describes; nil if it has none
	Blocks     []Block // pictures, documents and links

	JSON bool // Body is a JSON document in the client's wire, also of a failure
	// Body is a whole message in the client's wire, also of a failure; without JSON it is text
	Message bool
	Calls   []Reply  // the replies to the calls of a message; Body holds all of them
	Repairs []string // repairs to the syntax of the text, one phrase each
	// how the text was read, a sentence each: repairs, ignored words, arguments that look like slips,
	// and parts that look like commands or calls and did not run
	Notes []string
	Via   string // the part of the fallback that read the text: "rules" or "llm"; else ""

	ran skill.Result // if the call failed although something was done
}

// A Block is a picture or a document in a reply, or a link to a file.
type Block struct {
	Type string // media type, such as "image/png"
	Path string // absolute
	Data []byte // nil if the block is a link
}

// UndoID returns the ID of the change that the call made, or "" if no change is recorded.
// A call that failed may have made a change too.
func (r Reply) UndoID() string {
	if c, ok := r.outcome().(interface{ UndoID() string }); ok {
		return c.UndoID()
	}
	return ""
}

// NotKept says why undo cannot take back the call's change or a part of it. It is "" if undo
// can, or if changes are not recorded.
func (r Reply) NotKept() string {
	if c, ok := r.outcome().(interface{ CannotUndo() string }); ok {
		return c.CannotUndo()
	}
	return ""
}

// Refused returns the hosts that a command tried to reach, may not reach, and that a person can allow.
func (r Reply) Refused() []string {
	if e, ok := r.outcome().(skill.Executed); ok {
		return e.Allowable()
	}
	return nil
}

func (r Reply) outcome() skill.Result {
	if r.Result == nil {
		return r.ran
	}
	return r.Result
}

// keys are members of a reply: names and values in turn. A name that ends in ? is left
// out if its value is empty.
type keys []any

// success formats what a call found.
func success(found ...keys) string {
	return slices.Concat(append([]keys{{"success", true}}, found...)...).String()
}

// String prints the members as an object of JSON.
func (k keys) String() string {
	b := []byte{'{'}
	for i := 0; i < len(k); i += 2 {
		name, optional := strings.CutSuffix(k[i].(string), "?")
		if optional && isEmpty(k[i+1]) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		switch v := k[i+1].(type) { // the usual ones, without a buffer of encoding/json for each
		case bool, int, int64:
			b = appendValue(b, v)
		default:
			b = append(b, rawjson.Encode(v)...)
		}
	}
	return string(append(b, '}'))
}

// MarshalJSON implements [json.Marshaler].
func (k keys) MarshalJSON() ([]byte, error) { return []byte(k.String()), nil }

// isEmpty reports whether a value is what encoding/json leaves out by omitempty.
func isEmpty(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

// object is a JSON object as JSON.stringify prints it: names and values in turn,
// the names in the order given. A value is nil, a string, bool, int, int64 or
// float64, or []byte that is JSON already.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, pairs[i].(string)), ':')
		b = appendValue(b, pairs[i+1])
	}
	return append(b, '}')
}

// withContent returns a document of JSON, which has "content":"", with the content text,
// which is UTF-8. That may be long, so it is copied once.
func withContent(document, text string) string {
	const empty = `"content":""`
	before, after, _ := strings.Cut(document, empty)
	var b strings.Builder
	b.Grow(len(document) + rawjson.TextSize(text))
	b.WriteString(before + strings.TrimSuffix(empty, `"`))
	rawjson.WriteText(&b, text)
	b.WriteString(`"` + after)
	return b.String()
}

// array is a JSON array of values that are JSON already.
func array(items [][]byte) []byte {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return rawjson.AppendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return append(b, rawjson.Number(v)...)
	case []byte:
		return append(b, v...)
	}
	return append(b, "null"...)
}
