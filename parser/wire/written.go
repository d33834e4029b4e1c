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
type written struct{ key, text string }

// object makes the arguments of a call that is written without types: a string is what is
// written, and other values are JSON. What is not JSON stays a string, for the tool to
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
		if kind := cmp.Or(properties.get(w.key).str("type"), "string"); kind != "string" {
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

// value reads up to an end tag, which counts only where one of the tokens follows: what is
// written may hold that tag.
func (s *scanner) value(end string, next ...string) (string, error) {
	start := s.pos
	for {
		at := s.find(end)
		if at == len(s.text) {
			s.pos = start
			delete(s.found, end) // those that were passed over are still there
			return "", fmt.Errorf("the value that is written here has no %s", end)
		}
		s.pos = at + len(end)
		after := strings.TrimLeft(s.text[s.pos:], rawjson.Space)
		if after != "" && !slices.ContainsFunc(next, func(token string) bool { return strings.HasPrefix(after, token) }) {
			continue
		}
		if strings.Contains(s.text[start:at], s.end) { // or an end tag is missing, and it is the end of the call
			return "", fmt.Errorf("a value holds %s, which cannot be told from the end of the call; write it with another tool, or in parts", s.end)
		}
		return s.text[start:at], nil
	}
}
