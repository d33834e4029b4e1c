package parser

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// callKeys are the keys that may stand without quotes in a call that is JSON.
var callKeys = slices.Concat(EnvelopeKeys, argumentKeys, []string{"tool"})

// argumentKeys are the keys under which a call that is JSON may have its arguments.
var argumentKeys = []string{"arguments", "params", "parameters", "args", "input"}

// callPrefix matches a beginning that only a call has, and captures its name.
var callPrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[\s*)?\{\s*["']?(?:tool_calls|function|(?:tool|name)["']?\s*:\s*["']([\w.-]{1,64})?)`)
})

// bracket reads the JSON value at pos. A value that is not a call is skipped; of
// broken JSON the part before the error is skipped.
func (r *callReader) bracket() (name string, err error) {
	start := r.pos
	r.pos++
	if r.flat || !r.mayHoldCall(start) {
		return "", nil
	}
	value, end, err := rawjson.DecodeAt(r.text, start, callKeys...)
	if err == nil {
		r.pos = end
		switch calls, ok := r.callsOf(value); {
		case ok && r.stands(start) && !r.goesOn() && !r.sampled(start):
			r.add(start, calls...)
		case len(calls) > 0 && ok:
			r.mentioned(calls[0].Name, start, inSentence).weak = true
		case len(calls) > 0:
			r.mentioned(calls[0].Name, start, inList).weak = true
		}
		return "", nil
	}
	if m := callPrefix().FindStringSubmatch(r.text[start:]); m != nil && r.stands(start) {
		return m[1], r.notJSON(err)
	}
	if r.flat = !errors.Is(err, rawjson.ErrSyntax); !r.flat {
		r.pos = max(r.pos, offset(err))
	}
	return "", nil
}

// mayHoldCall reports whether a bracket may begin JSON that is or holds a call: a
// string follows closely, or a key that need not be quoted. It saves decoding every
// bracket of prose.
func (r *callReader) mayHoldCall(at int) bool {
	const closely = 64
	first := strings.TrimLeft(r.text[at:min(len(r.text), at+closely)], "["+rawjson.Space)
	first, object := strings.CutPrefix(first, "{")
	if first = strings.TrimLeft(first, rawjson.Space); first == "" {
		return false
	}
	after := strings.TrimLeftFunc(first, func(c rune) bool { return inWord(c) || c == '-' })
	return isQuote(first[0]) || object && slices.Contains(callKeys, strings.TrimSuffix(first, after))
}

// notJSON turns the error of a decoder of the same text into one of this reader.
func (r *callReader) notJSON(err error) error {
	reason := err.Error()
	if at, ok := errors.AsType[*rawjson.Error](err); ok {
		reason = cmp.Or(at.Reason, at.Err.Error())
	}
	return r.fail(offset(err), "%s", reason)
}

func offset(err error) int {
	if at, ok := errors.AsType[*rawjson.Error](err); ok {
		return at.Offset
	}
	return 0
}

// tag reads the call in tags at pos, or skips a reasoning block, or one character.
func (r *callReader) tag() (name string, err error) {
	size, alone, err := rawjson.Reasoning(r.text[r.pos:])
	if err != nil {
		return "", r.fail(r.pos, "the reasoning block that begins here has no end")
	}
	switch {
	case alone: // all before it was reasoning
		calls := r.calls
		r.calls = nil
		for i := range r.mentions {
			r.mentions[i].Before = 0
		}
		for i, c := range calls {
			r.mentioned(c.Name, r.at[i], inReasoning).weak = true
		}
		r.at = nil
	case size > 0:
		r.pass(size, inReasoning)
	default:
		if size = r.samples.Element(r.text, r.pos) - r.pos; size > 0 {
			r.pass(size, inSample)
		}
	}
	if size > 0 {
		r.pos += size
		r.free = r.pos
		return "", nil
	}
	at, free, quoted, calls := r.pos, r.free, r.quoted(), len(r.calls)
	if !r.skip("<tool_call>") {
		r.pos++
		return "", nil
	}
	inside := r.pos
	r.free = r.pos
	r.space()
	switch {
	case r.peek() == '{':
		name, err = r.tagged()
	case r.skip("<name>"):
		name, err = r.named()
	}
	if !quoted || name == "" && err == nil {
		return name, err
	}
	if err != nil {
		r.pos = inside
	}
	r.calls, r.at, r.free = r.calls[:calls], r.at[:calls], free
	r.mentioned(name, at, inSentence).weak = true
	return "", nil
}

// quoted reports whether the tag at pos is in a quotation, a code span, a fence, a sample, a cell or a sentence.
func (r *callReader) quoted() bool {
	if r.pos < r.fenced || r.sampled(r.pos) {
		return true
	}
	c, _ := utf8.DecodeLastRuneInString(r.text[:r.pos])
	return r.pos > 0 && strings.ContainsRune("`'\"“«„|(", c) || c == ' ' && !r.stands(r.pos)
}

// sampled reports whether a position is in a quotation or an indented sample.
func (r *callReader) sampled(at int) bool {
	line := r.text[max(0, at-maxMarks):at]
	line = strings.ReplaceAll(line[strings.LastIndexByte(line, '\n')+1:], "\t", "    ")
	return strings.HasPrefix(line, "    ") || strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// pass records what looks like a call in the reasoning block or sample of a size at pos.
func (r *callReader) pass(size int, reason string) {
	inside := r.text[:r.pos+size]
	inside = inside[:max(r.pos+1, strings.LastIndex(inside, "</"))]
	inner := &callReader{text: inside, pos: r.pos + 1, known: r.known, samples: Samples{ends: map[int]int{}}}
	inner.free = r.pos + strings.IndexByte(r.text[r.pos:], '>') + 1
	for inner.pos < len(inner.text) {
		start := inner.pos
		if name, err := inner.next(); err != nil {
			inner.add(start, ToolCall{Name: name})
			break
		}
	}
	for i, c := range inner.calls {
		r.mentioned(c.Name, inner.at[i], reason).weak = true
	}
}

func (r *callReader) skip(text string) bool {
	if !strings.HasPrefix(r.text[r.pos:], text) {
		return false
	}
	r.pos += len(text)
	return true
}

// tagged reads {"name":…,"arguments":…}</tool_call>.
func (r *callReader) tagged() (name string, err error) {
	start := r.pos
	value, err := r.json()
	if err != nil {
		return "", err
	}
	call, ok := r.callOf(value)
	if !ok {
		return "", r.fail(start, `want {"name":…,"arguments":{…}} in <tool_call>`)
	}
	return call.Name, r.untag(call)
}

// named reads NAME</name><args>…</args></tool_call>.
func (r *callReader) named() (name string, err error) {
	name, _, ok := strings.Cut(r.text[r.pos:], "</name>")
	if !ok {
		return "", r.fail(r.pos, "<name> has no end")
	}
	r.pos += len(name + "</name>")
	name = trimSpace(name)
	if r.space(); !r.skip("<args>") {
		return name, r.want("<args>")
	}
	call := ToolCall{Name: name, Arguments: json.RawMessage("{}")}
	if r.space(); r.peek() != '<' {
		value, err := r.json()
		if err != nil {
			return name, err
		}
		call.Arguments, call.Err = argumentsOf(value)
	}
	if r.space(); !r.skip("</args>") {
		return name, r.want("</args>")
	}
	return name, r.untag(call)
}

// untag adds a call and skips the end tag, which may be missing at the end of the
// text.
func (r *callReader) untag(call ToolCall) error {
	if r.space(); r.pos < len(r.text) && !r.skip("</tool_call>") {
		return r.want("</tool_call>")
	}
	r.add(r.free, call)
	return nil
}

// json reads the JSON value at pos.
func (r *callReader) json() (json.RawMessage, error) {
	value, end, err := rawjson.DecodeAt(r.text, r.pos, callKeys...)
	if err != nil {
		return nil, r.notJSON(err)
	}
	r.pos = end
	return value, nil
}

// callsOf returns the calls that a JSON value holds: one, or a list of them. ok is
// false for any other value, with the calls that it holds among other things.
func (r *callReader) callsOf(value json.RawMessage) (calls []ToolCall, ok bool) {
	list, mixed := value, false
	if value[0] == '{' {
		members, _, _ := rawjson.Members(value)
		kind, _ := rawjson.String(members["type"])
		if NotModel(members) != nil || slices.Contains([]string{"human", "system", "tool"}, kind) {
			return nil, false
		}
		if list = members["tool_calls"]; list == nil || list[0] != '[' {
			if call, ok := r.callOf(value); ok {
				return []ToolCall{call}, true
			}
			return nil, false
		}
	}
	for e := range rawjson.EachElement(list) {
		call, ok := r.callOf(e)
		if !ok && value[0] == '[' {
			mixed = true
			continue
		}
		if !ok {
			call.Err = errors.New("a call must be an object with name and arguments")
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0 && !mixed
}

// callOf returns the call that an object describes. An object without arguments is a
// call only if its name is known, and not data with a name, such as a package.json; the
// definition of a tool is not a call.
func (r *callReader) callOf(value json.RawMessage) (call ToolCall, ok bool) {
	outer, twice, ok := rawjson.Members(value)
	if !ok {
		return ToolCall{}, false
	}
	call.ID, _ = rawjson.String(outer["id"])
	members := outer
	if inner, again, ok := rawjson.Members(outer["function"]); ok {
		members, twice = inner, cmp.Or(twice, again)
	}
	named := false
	if call.Name, named = rawjson.String(members["tool"]); !named {
		call.Name, ok = rawjson.String(members["name"])
	}
	if !ok || members["description"] != nil {
		return ToolCall{}, false
	}
	var given []string
	for _, key := range argumentKeys {
		if members[key] != nil {
			given = append(given, key)
		}
	}
	switch {
	case twice != "":
		call.Err = fmt.Errorf("key `%s` is given twice", clip(twice))
	case len(given) > 1:
		call.Err = fmt.Errorf("%s are both given", strings.Join(given, " and "))
	case len(given) == 1:
		call.Arguments, call.Err = argumentsOf(members[given[0]])
	default:
		call.Arguments = json.RawMessage("{}")
		surplus := besideName(members)
		if surplus != "" {
			call.Arguments, call.Err = nil,
				fmt.Errorf("`%s` stands beside the name; arguments stand in an object under `arguments`",
					clip(surplus))
		}
		ok = r.known(call.Name) && (named || surplus == "")
	}
	return call, ok
}

// besideName returns the first key of a call without arguments that does not belong to it, "" for none.
func besideName(members map[string]json.RawMessage) string {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		isType := key == "type" && string(members[key]) == `"function"`
		if !isType && !slices.Contains([]string{"id", "name", "tool"}, key) {
			return key
		}
	}
	return ""
}

// argumentsOf returns arguments that are an object, or a string that holds one.
func argumentsOf(value json.RawMessage) (json.RawMessage, error) {
	if value[0] == '{' {
		return value, nil
	}
	if string(value) == "null" {
		return json.RawMessage("{}"), nil
	}
	text, ok := rawjson.String(value)
	if !ok {
		return nil, fmt.Errorf("the arguments must be an object, got %s", rawjson.Kind(value))
	}
	object, _, err := rawjson.DecodeOne(text)
	if err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	if object[0] != '{' {
		return nil, fmt.Errorf("the arguments must be an object, got %s", rawjson.Kind(object))
	}
	return object, nil
}
