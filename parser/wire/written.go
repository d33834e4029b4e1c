package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	rawjson "textskill/parser/json"
)

// A written argument has no type of its own: its text means what the schema says.
type written struct {
	key, text      string
	isText, isJSON bool // the format says so itself
}

// object makes the arguments of a call that is written without types: strings are as
// written, and other values are JSON. Other text stays a string, for the tool to
// refuse.
func (s *scanner) object(name string, list []written) (json.RawMessage, error) {
	properties := split(s.tools(name)).get("properties")
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
		value := rawjson.AppendString(nil, w.text)
		if kind := cmp.Or(properties.get(w.key).str("type"), "string"); !w.isText &&
			(w.isJSON || kind != "string") {
			if v, _, err := rawjson.DecodeOne(strings.Trim(w.text, rawjson.Space)); err == nil {
				value = v
			}
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, w.key), ':'), value...)
	}
	return append(out, '}'), nil
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
		if strings.Contains(s.text[start:at], s.end) {
			return "", fmt.Errorf("a value holds %s, which cannot be told from the end of the call; write it with another tool, or in parts", s.end)
		}
		return s.text[start:at], nil
	}
}

// lostEnd returns where the value at pos ends although its end tag is missing, -1 if that is
// not certain: before the tag of an argument that the tool has and that was not given, if
// that begins a line and the value is not closed before; or before the end of the call, if no
// value is closed after it.
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
	if end := s.find(after); closed == len(s.text) && end < closed &&
		!strings.Contains(s.text[end+len(after):], after) {
		return end
	}
	return -1
}
