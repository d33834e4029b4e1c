package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// maxCalls is the most calls of a text; a text with more is refused whole.
const maxCalls = 10_000

// A scanner reads a text from left to right.
type scanner struct {
	format
	text  string
	pos   int
	tools Schemas
	found map[string]int // where each token that was searched for is next; len(text) if it is not

	parser.Envelope
	clean bool // all that follows is whole frames

	passed  *stretches
	first   int    // where the first frame begins
	doubt   bool   // an end tag seems to be part of a value
	failed  bool   // a frame could not be read
	marks   []mark // where calls begin and end; nil as long as nobody asked
	thought int    // where the thought ends that has all that was read; 0 if it was none
}

// read reads the calls of a text in their order. The text between them is prose, where thoughts and
// code fences are passed over.
//
// A call that cannot be read is answered in its place. Text after its frame is read only
// if the rest of the text is frames and nothing else: otherwise it may be a part of that
// call, such as a file with calls in it.
func (f format) read(text string, tools Schemas) (parser.Envelope, error) {
	s, err := f.scan(text, tools)
	return s.Envelope, err
}

// scan is read, with the scanner where it stopped.
func (f format) scan(text string, tools Schemas) (*scanner, error) {
	if len(text) > rawjson.MaxBytes {
		return &scanner{}, &rawjson.Error{Offset: rawjson.MaxBytes, Err: rawjson.ErrTooLarge}
	}
	s := &scanner{format: f, text: f.trim(text), tools: tools, found: map[string]int{}, first: -1}
	s.passed = &stretches{text: s.text, endless: map[string]bool{}}
	for s.next() {
		if len(s.Calls) > maxCalls {
			return &scanner{}, &rawjson.Error{Offset: s.pos, Reason: fmt.Sprintf("more than %d calls", maxCalls),
				Err: rawjson.ErrTooLarge}
		}
	}
	if s.inDoubt() && s.thought == 0 && (s.doubt || s.failed) {
		s.resolve(s.first)
	}
	switch {
	case s.thought > 0:
		return &scanner{}, errThought(s.thought)
	case len(s.Calls) == 0:
		return &scanner{}, parser.NoCalls("a call begins with "+f.open, nil)
	}
	return s, nil
}

// trim removes tokens and white space at the end of a text.
func (f format) trim(text string) string {
	for {
		text = strings.TrimRight(text, rawjson.Space)
		i := slices.IndexFunc(f.ends, func(token string) bool { return strings.HasSuffix(text, token) })
		if i < 0 {
			return text
		}
		text = strings.TrimSuffix(text, f.ends[i])
	}
}

// next reads the next frame. It returns false at the end, and where a thought turns out to end.
func (s *scanner) next() bool {
	from := s.pos
	open := s.opening()
	switch {
	case s.first < 0:
		s.first = open
	case s.inDoubt() && s.thought == 0 && strings.Contains(s.text[from:open], s.tag.close):
		s.doubt = true
	}
	if s.thought > 0 || open == len(s.text) {
		return false
	}
	s.pos = open + len(s.open)
	calls, err := s.call()
	if err == nil && !s.close() {
		err = fmt.Errorf("want %s after the call", s.end)
	}
	if err == nil {
		s.Calls = append(s.Calls, calls...)
		return true
	}
	s.failed = true
	bad := parser.ToolCall{}
	if len(calls) > 0 {
		bad = calls[0]
	}
	bad.Arguments, bad.Err = nil, err
	s.Calls = append(s.Calls, bad)
	return s.recover(open, len(calls) > 0)
}

// inDoubt reports whether the values of the format may hold their own end tags.
func (s *scanner) inDoubt() bool { return s.values == inTags && !strings.Contains(s.tag.close, "KEY") }

// opening returns where the next frame begins, the end of the text for none. It passes over thoughts
// and code fences.
func (s *scanner) opening() (at int) {
	from := len(s.text) - len(s.trimLeft(s.text[s.pos:]))
	at, s.thought = s.passed.opening(from, s.format, s.tools, func(from int) int {
		s.pos = from
		return s.find(s.open)
	})
	return at
}

// close skips the end of a frame and reports whether it is there.
func (s *scanner) close() bool {
	if s.end == "" {
		return true
	}
	s.space()
	return s.skip(s.end) || s.pos == len(s.text) && !s.closed
}

// recover goes to what is after a frame that cannot be read, if that is certain. began
// says that the frame began as a call does.
func (s *scanner) recover(open int, began bool) bool {
	s.pos = open + len(s.open)
	after := s.find(s.open)
	if after == len(s.text) {
		return false
	}
	if s.end != "" {
		end := s.find(s.end)
		switch {
		case after < end && !began && s.frames(after): // the token was only mentioned
			s.pos = after
			return true
		case end < after && s.frames(end+len(s.end)):
			s.pos = end + len(s.end)
			return true
		}
	} else if rest := (&scanner{format: s.format, text: s.text, pos: after, tools: s.tools,
		found: map[string]int{}}); s.trimLeft(s.text[rest.wholeFrames():]) == "" {
		s.Calls = append(s.Calls, rest.Calls...)
		return false
	}
	last := &s.Calls[len(s.Calls)-1]
	last.Err = fmt.Errorf("%w; nothing from there on was read", last.Err)
	return false
}

// frames reports whether a text is frames and nothing else from a position on.
func (s *scanner) frames(at int) bool {
	for rest := s.text[at:]; !s.clean; {
		rest = s.trimLeft(rest)
		if rest == "" {
			s.clean = true
			break
		}
		inside, ok := strings.CutPrefix(rest, s.open)
		frame, after, closed := strings.Cut(inside, s.end)
		if !ok || !closed || strings.Contains(frame, s.open) {
			return false
		}
		rest = after
	}
	return true
}

// wholeFrames reads the frames from pos on that directly follow each other, and returns where the last
// ends; 0 for none.
func (s *scanner) wholeFrames() (end int) {
	for len(s.Calls) <= maxCalls && s.skip(s.open) {
		calls, err := s.call()
		if err != nil || !s.close() {
			break
		}
		s.Calls, end = append(s.Calls, calls...), s.pos
		s.pos = len(s.text) - len(s.trimLeft(s.text[end:]))
	}
	return end
}

// trimLeft removes white space and tokens that may stand between calls.
func (f format) trimLeft(text string) string {
	for {
		text = strings.TrimLeft(text, rawjson.Space)
		i := slices.IndexFunc(f.ends, func(token string) bool { return strings.HasPrefix(text, token) })
		if i < 0 {
			return text
		}
		text = text[len(f.ends[i]):]
	}
}

// find returns where a token is next, len(text) if it is not. Each part of the text is
// searched once for each token.
func (s *scanner) find(token string) int {
	if at, ok := s.found[token]; ok && at >= s.pos {
		return at
	}
	at := strings.Index(s.text[s.pos:], token)
	if at < 0 {
		at = len(s.text) - s.pos
	}
	s.found[token] = s.pos + at
	return s.pos + at
}

func (s *scanner) space() {
	s.pos = len(s.text) - len(strings.TrimLeft(s.text[s.pos:], rawjson.Space))
}

func (s *scanner) skip(token string) bool {
	if !strings.HasPrefix(s.text[s.pos:], token) {
		return false
	}
	s.pos += len(token)
	return true
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// maxName is how many bytes the name of a tool may have. It bounds the search for the
// token after a name.
const maxName = 256

// until reads a name and the token after it.
func (s *scanner) until(token string) (name string, err error) {
	name, _, ok := strings.Cut(s.text[s.pos:min(len(s.text), s.pos+maxName+len(token))], token)
	if trimmed := strings.Trim(name, rawjson.Space); ok && isName(trimmed) {
		s.pos += len(name) + len(token)
		return trimmed, nil
	}
	return "", fmt.Errorf("want a name and %q after it", token)
}

// isName reports whether a text may be a name or an ID, and not a part of the format.
func isName(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\n<>{}[]\"")
}

// callKeys are the keys that need no quotes.
var callKeys = []string{"name", "arguments", "parameters", "id"}

// json reads the JSON value at pos.
func (s *scanner) json() (json.RawMessage, error) {
	s.space()
	v, end, err := rawjson.DecodeAt(s.text, s.pos, callKeys...)
	if err == nil {
		s.pos = end
	}
	return v, err
}

// arguments reads the object at pos; a missing one is empty, unless the text ends there.
func (s *scanner) arguments(c parser.ToolCall) ([]parser.ToolCall, error) {
	if c.Name == "" {
		return []parser.ToolCall{c}, errors.New("the call has no name")
	}
	if s.space(); s.pos == len(s.text) {
		return []parser.ToolCall{c}, errors.New("the text ends where the arguments begin")
	}
	c.Arguments = json.RawMessage("{}")
	if s.end == "" || !strings.HasPrefix(s.text[s.pos:], s.end) {
		v, err := s.json()
		if err == nil {
			c.Arguments, _, err = eitherArguments(v)
		}
		if err != nil {
			return []parser.ToolCall{c}, err
		}
	}
	return []parser.ToolCall{c}, nil
}

// listed reads an object with a name and arguments, or an array of them. Objects with a
// semicolon or a line break between them follow each other.
func (s *scanner) listed() (calls []parser.ToolCall, err error) {
	for {
		list, err := s.objects()
		if err != nil && len(calls) > 0 { // those before are whole
			list = append(list, parser.ToolCall{})[:1]
			list[0].Err = err
			return append(calls, list...), nil
		}
		if calls = append(calls, list...); err != nil {
			return calls, err
		}
		if s.space(); !s.skip(";") && s.peek() != '{' {
			return calls, nil
		}
		if s.space(); s.pos == len(s.text) || slices.ContainsFunc(s.ends, s.skip) {
			return calls, nil
		}
	}
}

// objects reads an object with a name and arguments, or an array of them.
func (s *scanner) objects() ([]parser.ToolCall, error) {
	s.space()
	start := s.pos
	if c := s.peek(); c != '{' && c != '[' {
		return nil, errors.New(`want {"name":…,"arguments":{…}}`)
	}
	raw, err := s.json()
	if err != nil {
		return []parser.ToolCall{{Name: nameIn(s.text[start:])}}, err
	}
	v := split(raw)
	if v.members != nil {
		v = v.alone()
	}
	if len(v.elements) == 0 {
		return []parser.ToolCall{{}}, errors.New("the list of calls is empty")
	}
	var m message
	for _, e := range v.elements {
		c, arguments := calledIn(e)
		if s.keyed && len(c.members) == 1 {
			for name, arguments := range c.members {
				m.call(c, "", name, arguments, eitherArguments)
			}
			continue
		}
		id, name := cmp.Or(c.str("id"), c.str("tool_call_id")),
			cmp.Or(c.str("name"), c.str("tool_name"), c.str("function"), c.str("tool"))
		var wrong error
		switch key := c.surplus("name", "type", "tool_name", "tool_call_id", "function", "tool"); {
		case c.members == nil:
			wrong = fmt.Errorf("a call must be an object, got %s", rawjson.Kind(e))
		case c.has("arguments") && c.has("parameters"):
			wrong = errors.New("arguments and parameters are both given")
		case arguments == nil && key != "":
			wrong = fmt.Errorf("`%s` stands beside the name; arguments stand in an object under `arguments`", key)
		}
		if wrong != nil {
			m.Calls = append(m.Calls, parser.ToolCall{ID: id, Name: name, Err: wrong})
			continue
		}
		m.call(c, id, name, arguments, eitherArguments)
	}
	return m.Calls, nil
}

// calledIn returns the object that has the name of a call, and the arguments in it.
func calledIn(e json.RawMessage) (c value, arguments json.RawMessage) {
	c = split(e)
	if inner := c.get("function"); inner.members != nil { // as requests have it
		c = inner
	}
	arguments = c.members["arguments"]
	for _, other := range []string{"parameters", "args"} {
		if arguments == nil || c.has(other) && !c.has("arguments") {
			arguments = c.members[other]
		}
	}
	return c, arguments
}

// nameIn returns the name in an object that is broken, "" if none is near its beginning.
func nameIn(text string) string {
	_, after, ok := strings.Cut(text[:min(len(text), maxName)], `name"`)
	after = strings.TrimLeft(after, rawjson.Space+":")
	if !ok || !strings.HasPrefix(after, `"`) {
		return ""
	}
	name, _, _ := strings.Cut(after[1:], `"`)
	return strings.ToValidUTF8(name, "")
}
