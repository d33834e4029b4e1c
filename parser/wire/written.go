package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// A written argument has no type of its own: its text means what the schema says.
type written struct {
	key, text      string
	isText, isJSON bool // the format says so itself
	nests          bool // lists and objects are in tags
}

// object makes the arguments of a call that is written without types, as the tool's schema has them.
func (s *scanner) object(name string, list []written) (json.RawMessage, error) {
	tool := split(s.tools(name))
	properties := tool.get("properties")
	// a line break after and before the tag is not part of the value
	lines := s.tag.breaks && (!s.exact || !slices.ContainsFunc(list, func(w written) bool {
		return len(w.text) < 2 || w.text[0] != '\n' || !strings.HasSuffix(w.text, "\n")
	}))
	out := []byte{'{'}
	seen := map[string]bool{}
	for i, w := range list {
		switch {
		case seen[w.key]:
			return nil, fmt.Errorf("%s is given twice", w.key)
		case !utf8.ValidString(w.key + w.text):
			return nil, fmt.Errorf("%s is not UTF-8", w.key)
		}
		seen[w.key] = true
		if lines {
			w.text = strings.TrimSuffix(strings.TrimPrefix(w.text, "\n"), "\n")
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, w.key), ':'), w.value(tool, properties.get(w.key))...)
	}
	return append(out, '}'), nil
}

// value returns the value that a text means under a schema of a tool's arguments. A text that can be
// a string is one, unless it says null where null may stand. Any other is what it is as JSON, or a
// string for the tool to refuse.
func (w written) value(tool, schema value) json.RawMessage {
	text := rawjson.AppendString(nil, w.text)
	switch {
	case w.isText:
		return text
	case w.nests && strings.HasPrefix(w.text, m3+"<"):
		if v := nested(tool, schema, w.text); admits(tool, schema, v, new(int)) {
			return v
		}
	}
	v, _, err := rawjson.DecodeOne(strings.Trim(w.text, rawjson.Space))
	switch {
	case err != nil:
		return text
	case w.isJSON || !admits(tool, schema, text, new(int)):
		return v
	case string(v) == "null" && schema.raw != nil && admits(tool, schema, v, new(int)) &&
		!admits(tool, schema, []byte("[]"), new(int)):
		return v
	}
	return text
}

// nested returns the list or the object that MiniMax M3 writes in tags.
func nested(tool, schema value, text string) json.RawMessage {
	list, members := []json.RawMessage{}, object{}
	for text != "" && len(text) < rawjson.MaxBytes {
		key, rest, _ := strings.Cut(strings.TrimPrefix(text, m3+"<"), ">")
		inside, after, _ := strings.Cut(rest, m3+"</"+key+">")
		for strings.Count(inside, m3+"<"+key+">") > strings.Count(inside, m3+"</"+key+">") && after != "" {
			more, rest, _ := strings.Cut(after, m3+"</"+key+">")
			inside, after = inside+m3+"</"+key+">"+more, rest
		}
		under := schema.get("properties", key)
		if key == "item" {
			under = schema.get("items")
		}
		v := written{key: key, text: inside, nests: true}.value(tool, under)
		list, members[key] = append(list, v), v
		if text = strings.TrimLeft(after, rawjson.Space); !strings.HasPrefix(text, m3+"<") {
			break
		}
	}
	if members["item"] != nil && len(members) == 1 {
		return rawjson.Encode(list)
	}
	return rawjson.Encode(members)
}

// maxSchemas is how many schemas, within each other or by reference, are asked about a value.
const maxSchemas = 1000

// admits reports whether a value may stand where a schema of a tool's arguments is: by its type, and
// among the values that the schema lists. A property without a schema takes any.
func admits(tool, schema value, v json.RawMessage, asked *int) bool {
	if *asked++; *asked > maxSchemas {
		return true
	}
	if ref, ok := strings.CutPrefix(schema.str("$ref"), "#/"); ok {
		return admits(tool, tool.get(strings.Split(ref, "/")...), v, asked)
	}
	inner := func(e json.RawMessage) bool { return admits(tool, split(e), v, asked) }
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := schema.get(key).elements; len(list) > 0 && !slices.ContainsFunc(list, inner) {
			return false
		}
	}
	for _, e := range schema.get("allOf").elements {
		if !inner(e) {
			return false
		}
	}
	same := func(e json.RawMessage) bool { return string(e) == string(v) }
	if list := schema.get("enum").elements; len(list) > 0 && !slices.ContainsFunc(list, same) ||
		schema.members["const"] != nil && !same(schema.members["const"]) {
		return false
	}
	types := schema.get("type").elements
	if kind := schema.members["type"]; types == nil && kind != nil {
		types = []json.RawMessage{kind}
	}
	if string(v) == "null" && string(schema.members["nullable"]) == "true" || len(types) == 0 {
		return true
	}
	return slices.ContainsFunc(types, func(e json.RawMessage) bool {
		kind, _ := rawjson.String(e)
		return strings.EqualFold(kind, typeOf(v)) || strings.EqualFold(kind, "number") && typeOf(v) == "integer"
	})
}

// typeOf returns the type of a value as schemas name it.
func typeOf(v json.RawMessage) string {
	_, kind, _ := strings.Cut(" "+rawjson.Kind(v), " ")
	if kind = kind[strings.LastIndexByte(kind, ' ')+1:]; kind == "number" && !strings.ContainsAny(string(v), ".eE") {
		return "integer"
	}
	return kind
}

// value reads the last of some arguments, up to the end of its tag. That counts only where
// another tag or the end of the call follows: a value may hold it. A value whose end tag is
// missing ends before the next tag of an argument that the tool has, or before the end of the
// call.
func (s *scanner) value(name string, list []written) (string, error) {
	start, after := s.pos, cmp.Or(s.last, s.end)
	lost := s.lostEnd(name, list, after)
	for {
		at := s.find(s.tag.close)
		if lost >= 0 && lost <= at {
			s.pos = lost
			clear(s.found) // tokens that were passed over are still there
			return s.text[start:lost], nil
		}
		if at == len(s.text) {
			s.pos = start
			clear(s.found)
			return "", fmt.Errorf("the value that is written here has no %s", s.tag.close)
		}
		s.pos = at + len(s.tag.close)
		next := strings.TrimLeft(s.text[s.pos:], rawjson.Space)
		if next != "" && !strings.HasPrefix(next, s.tag.open) && !strings.HasPrefix(next, after) {
			continue
		}
		// or an end tag is missing, and it is the end of the call
		value := s.text[start:at]
		ends := strings.Contains(value, s.end)
		if ends && !s.inDoubt() || s.inDoubt() && strings.Contains(value, s.open) && s.events(start, at).open > 0 {
			return "", s.errEnd()
		}
		s.doubt = s.doubt || ends
		return value, nil
	}
}

// lostEnd returns where the value at pos ends although its end tag is missing, -1 if that is
// not certain: before the tag of an argument that the tool has and that was not given, if
// that begins a line and the value is not closed before; or before the end of the call, if that
// ends the text.
func (s *scanner) lostEnd(name string, list []written, after string) int {
	open := "\n" + s.tag.open
	closed := s.find(s.tag.close)
	if next := s.find(open); next < closed {
		properties := split(s.tools(name)).get("properties")
		for at := next; at >= 0 && at < closed; {
			key, _, ok := strings.Cut(s.text[at+len(open):min(len(s.text), at+len(open)+maxName)], s.tag.sep)
			given := slices.ContainsFunc(list, func(w written) bool { return w.key == key })
			if ok && !given && properties.members[key] != nil {
				return at
			}
			more := strings.Index(s.text[min(at+len(open), closed):closed], open)
			at += max(more, 0) + len(open)
			if more < 0 {
				break
			}
		}
	}
	end := s.find(after)
	if closed < len(s.text) || end == closed || strings.Contains(s.text[s.pos:end], s.open) {
		return -1
	}
	rest := strings.TrimPrefix(strings.TrimSpace(s.text[end+len(after):]), s.end)
	if s.trimLeft(rest) != "" { // of a value that is cut off
		return -1
	}
	return end
}
