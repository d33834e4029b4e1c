package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/parser/wire"
	"textskill/skill"
)

// Stack is the dialect of Stack 2.9: calls like read(path: 'a.txt', limit: 100),
// each answered by one JSON object whose first key is success.
var Stack = &Dialect{
	Name:         "stack",
	Doc:          "Stack 2.9 calls: read(path: 'a.txt', limit: 100)",
	noSurrogates: true,
	decode:       func(t *Tool, raw json.RawMessage) (values, error) { return decodeCoerced(t, raw, false) },
	fail:         stackFail,
	Prompt:       &Prompt{own: wire.Hermes, answer: answerStack},
	Tools:        slices.Concat(stackFiles, stackGit, stackRun, stackWeb, stackMemory, stackTasks),
}

// answerStack carries out the calls of a text, one after the other. A call of an unknown
// tool is answered in its place, and what else looks like a call is named in the first
// reply.
func answerStack(ctx context.Context, d *Dialect, x *skill.Executor, s *skill.Session, in Input, yield func(Reply) bool) {
	calls, mentions, err := parser.Calls(in.Text, func(name string) bool { return d.Lookup(name) != nil })
	if err != nil {
		r := failureReply(&Failure{Message: err.Error(), Cause: err})
		none, ok := errors.AsType[*parser.SyntaxError](err)
		if ok && none.Name != "" {
			r = failureReply(&Failure{Message: d.Do(ctx, x, s, parser.ToolCall{Name: none.Name}).Err.Error()})
		}
		mentions = slices.DeleteFunc(mentions, func(m parser.Mention) bool { // the error names it
			return ok && none.Name == m.Name || strings.HasPrefix(err.Error(), m.String())
		})
		r.Ignored = each(mentions, parser.Mention.String)
		if in.UndoKeys {
			r.JSON, r.Body = true, keys{"success", false, "error", r.Err.Error()}.String()
		}
		yield(r)
		return
	}
	wrong := func(m parser.Mention) bool { // a call of an unknown tool, not code that stands in the text
		return m.Reason == "" && (m.Keyed || d.Lookup(strings.ToLower(m.Name)) != nil)
	}
	for _, m := range slices.Backward(mentions) {
		if wrong(m) {
			calls = slices.Insert(calls, m.Before, parser.ToolCall{Name: m.Name})
		}
	}
	mentions = slices.DeleteFunc(mentions, wrong)
	for i, sent := range calls {
		r := d.Do(ctx, x, s, sent)
		r.JSON = true
		if i == 0 {
			r.Ignored = each(mentions, parser.Mention.String)
		}
		if in.UndoKeys {
			r.Body = withUndoKeys(r)
		}
		if !yield(r) {
			return
		}
	}
}

// withUndoKeys returns the object that answers a call, with the ID of its change, or
// why the change cannot be undone. The object may say either by itself.
func withUndoKeys(r Reply) string {
	var has map[string]json.RawMessage
	if r.UndoID() == "" && r.NotKept() == "" || json.Unmarshal([]byte(r.Body), &has) != nil {
		return r.Body
	}
	var more keys
	if has["undo"] == nil {
		more = append(more, "undo?", r.UndoID())
	}
	if has["not_kept"] == nil && has["not_undoable"] == nil {
		more = append(more, "not_kept?", r.NotKept())
	}
	if added := more.String(); added != "{}" {
		return strings.TrimSuffix(r.Body, "}") + "," + added[1:]
	}
	return r.Body
}

// decodeCoerced reads the arguments of a call. One that the row does not name is refused,
// unless the row accepts any. With own, as in this program's own dialect, a list may be a text
// that holds it, and one argument under two names with two values is refused.
func decodeCoerced(t *Tool, raw json.RawMessage, own bool) (values, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	members, twice, ok := rawjson.Members(raw)
	switch {
	case !ok:
		return nil, errors.New("the arguments are not a JSON object")
	case twice != "":
		return nil, fmt.Errorf("%s is given twice", twice)
	}
	coerce := (*Param).coerced
	if own {
		if err := checkAliases(t, members); err != nil {
			return nil, err
		}
		coerce = (*Param).unpacked
	}
	given, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		switch p := t.param(key); {
		case p == nil && !t.More:
			return nil, fmt.Errorf("there is no argument %s; %s", key, t.argumentNames())
		case p != nil:
			given[key] = coerce(p, given[key])
		}
	}
	in, err := t.check(given)
	if err != nil {
		return nil, err
	}
	for key, v := range given {
		if t.param(key) == nil {
			in[key] = v
		}
	}
	return in, nil
}

// int returns an integer argument, 0 if it is missing; the largest are cut to 32 bits.
func (in values) int(name string) int {
	n, _ := pyInt(in[name])
	return n
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
		if isText && p.Of == "string" && p.Aliases != nil { // one name in place of several
			return []any{v}
		}
		if list, ok := v.([]any); ok && p.Of == "string" {
			element := Param{Type: p.Of}
			for i := range list {
				list[i] = element.coerced(list[i])
			}
		}
	}
	return v
}

// numeral matches a number as JSON has it, without an exponent.
var numeral = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9]\d{0,14})(\.\d+)?$`) })

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
	if len(t.Params) == 0 {
		return t.Name + " takes none"
	}
	return t.Name + " takes " + namesOf(t.Params)
}

// namesOf lists parameters, each with the fields of what it is a list of.
func namesOf(params []Param) string {
	return strings.Join(each(params, func(p Param) string {
		if p.Fields == nil {
			return p.Name
		}
		return p.Name + " (each with " + namesOf(p.Fields) + ")"
	}), ", ")
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

// stackFail formats an error as an object: success, error, and the keys of a
// [Failure]. A message of the manual is used alone; others begin with the tool's name.
func stackFail(in *call, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err), Message: plainMessage(err)}
	own, worded := errors.AsType[*Failure](err)
	switch {
	case in.tool == nil && errors.Is(err, errUnknown):
		f.Message = in.unknown()
	case worded && own.Message != "":
		f.Message = own.Message
	case in.sent != "":
		f.Message = in.sent + ": " + f.Message
	}
	body := keys{"success", false, "error", f.Message}
	if worded {
		body = append(body, own.keys...)
	}
	return Reply{Body: body.String(), Err: f}
}

// plainMessage formats a file system error without the name of its system call.
func plainMessage(err error) string {
	var pe *fs.PathError
	var le *os.LinkError
	text := err.Error()
	switch {
	case errors.Is(err, syscall.EBUSY):
		return "the workspace itself stays; name something in it"
	case errors.As(err, &pe) && pe.Error() == text:
		return pe.Path + ": " + pe.Err.Error()
	case errors.As(err, &le) && le.Error() == text:
		return le.Old + " to " + le.New + ": " + le.Err.Error()
	}
	return text
}

// Nearest returns the name of that tool of the dialects which an unknown name may mean: one
// that is nearly the same, or that the name begins with; "" if there is none.
func Nearest(name string, list ...*Dialect) (best string) {
	const longest = 32 // bytes
	name, least := strings.ToLower(name), min(3, (len(name)+1)/2)
	if len(name) > longest {
		return ""
	}
	for _, d := range list {
		for _, t := range d.Tools {
			own := strings.ToLower(t.Name)
			n := skill.Distance(name, own)
			if strings.HasPrefix(name, own) {
				n = min(n, 2)
			}
			if n < least {
				best, least = t.Name, n
			}
		}
	}
	return best
}

// unknown says that the dialect has no tool of the name, and what to try.
func (in *call) unknown() string {
	if best := Nearest(in.sent, in.dialect); best != "" {
		return fmt.Sprintf("there is no tool %s; is it %s?", in.sent, best)
	}
	return fmt.Sprintf("there is no tool %s; \"%s tools --tools %s\" lists them", in.sent, in.x.Program(), in.dialect.Name)
}
