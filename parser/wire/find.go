package wire

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A finder finds calls in a text: the wire that reads them and where they begin, nil for none.
// known reports whether a tool has a name.
type finder struct {
	find  func(text string, known func(name string) bool) (w *Wire, at int)
	begin bool // only at the beginning of a text, behind the thoughts
}

// certain are the finders of what only a call has. Of two at one place, the first counts.
var certain = sync.OnceValue(func() (list []finder) {
	for _, w := range slices.Concat(All, kin) {
		if w.marker != nil {
			list = append(list, finder{find: func(text string, _ func(string) bool) (*Wire, int) {
				if at := w.marker(text); at >= 0 {
					return w, at
				}
				return nil, 0
			}})
		}
	}
	return list
})

// byName are the finders of what is a call only with the name of a tool.
var byName = []finder{
	{find: naming(`<\|python_tag\|>\s*\[?([\w.:-]+)\(`, inCode)},
	{find: naming(`\[([\w.:-]+)\([^\n]`, inCode, "]")},
	{find: naming("\\A\\s*```\\w*\\s*\\[?([\\w.:-]+)\\(", inCode, "```"), begin: true},
	{find: findObjects},
	{find: naming(`<tool_call>\s*<name>\s*([^<>\s]+)\s*</name>`, func(string) *Wire { return objects })},
	{find: naming(`\A\s*([^\n]+)\n\s*\{`, func(string) *Wire { return Functionary }), begin: true},
	{find: naming("(?m)^(?:Thought:.*\n+)?Action:[ \t]*`?([\\w.-]+)`?[ \t]*\n+Action Input:",
		func(string) *Wire { return ReAct })},
	{find: naming(`(?m)^\s*<([A-Za-z][\w.-]*)>\s*<\w`, inOwnTags)},
}

// Find reads a text of a model that knows some tools: the thoughts before it, and the calls in it.
func Find(text string, known func(name string) bool, tools Schemas) Reading {
	r, _ := read(text, slices.Concat(byName[:1], certain(), byName[1:]), known, tools)
	return r
}

// OfText returns the wire of text whose calls begin first in a text, and what comes before them;
// nil if no marker is certain.
func OfText(text string) (w *Wire, before string) {
	r, _ := read(text, certain(), nil, func(string) json.RawMessage { return nil })
	return r.Wire, r.Text
}

// naming finds a pattern whose group is the name of a tool, which alone gives the call away. The
// text must end with one of some tokens, if there are any.
func naming(pattern string, of func(tool string) *Wire, ends ...string) func(string, func(string) bool) (*Wire, int) {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(text string, known func(string) bool) (*Wire, int) {
		end := strings.TrimRight(text, rawjson.Space)
		if len(ends) > 0 && !slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(end, e) }) {
			return nil, 0
		}
		for from, tries := 0, 0; tries < maxNamed; tries++ {
			m := compiled().FindStringSubmatchIndex(text[from:])
			if m == nil {
				break
			}
			if name := text[from+m[2] : from+m[3]]; known(strings.TrimSpace(name)) {
				return of(name), from + m[0]
			}
			from += m[1]
		}
		return nil, 0
	}
}

// maxNamed is how many places of a text are looked at for the name of a tool.
const maxNamed = 1000

// inCode returns the spelling of calls as a program makes them: in a list, in a fence or behind a
// token.
func inCode(string) *Wire {
	return &Wire{family: LFM2, read: func(text string, tools Schemas) (parser.Envelope, error) {
		code := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "<|python_tag|>"))
		if from, to, fenced := rawjson.Fenced(code); fenced {
			code = strings.TrimSpace(code[from:to])
		}
		return lfmCalls.read(lfmCalls.open+code+lfmCalls.end, tools)
	}}
}

// inOwnTags returns the spelling of calls of one tool as a tag of its name, with a tag for each
// argument.
func inOwnTags(tool string) *Wire {
	f := format{open: "<" + tool + ">", end: "</" + tool + ">", closed: true, name: tool, values: inTags,
		tag: tag{open: "<", sep: ">", close: "</KEY>", breaks: true}}
	return &Wire{family: Invoke, format: f.always}
}

// objects are calls without a format, that a text is or ends with.
var objects = &Wire{family: Hermes, read: func(text string, tools Schemas) (e parser.Envelope, _ error) {
	if !strings.HasPrefix(text, "<") { // it has no tag around the name
		_, text, _ = strings.Cut(text, text[:strings.IndexAny(text, "[{")])
	}
	if toolName().MatchString(text) { // as Cohere's models write them
		s := &scanner{text: text, tools: tools, found: map[string]int{}}
		list, err := s.objects()
		if err != nil {
			list = []parser.ToolCall{{Err: err}}
		}
		e.Calls = list
		return e, nil
	}
	e.Calls, _, _ = parser.Calls(text, func(string) bool { return false })
	return e, nil
}}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[?\s*\{\s*"tool_(?:name|call_id)"`) })

// objectBegin matches what an object with a call may begin with, in a fence or not.
var objectBegin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^[ \t]*(?:Action:[ \t]*)?(?:```(?:json)?\\s*)?(\\[?\\s*\\{)\\s*[\"']?(?:name|id|type|function|arguments|parameters|tool|tool_name|tool_call_id|tool_calls)[\"']?\\s*:")
})

// findObjects finds objects of calls that a text ends with. Such an object whose end is not found
// has begun all the same, and nothing in it is a call.
func findObjects(text string, known func(name string) bool) (*Wire, int) {
	for pos, tries := 0, 0; tries < 64; tries++ {
		m := objectBegin().FindStringSubmatchIndex(text[pos:])
		if m == nil {
			break
		}
		begin, at := pos+m[0], pos+m[2]
		pos += m[1]
		name := nameIn(text[at:])
		for {
			_, end, err := rawjson.DecodeAt(text, at, callKeys...)
			if err != nil && known(name) {
				return objects, begin
			}
			if pos = max(pos, end); err != nil {
				break
			}
			rest := strings.TrimLeft(text[end:], rawjson.Space+";,`")
			rest = strings.TrimPrefix(rest, "<|eot_id|>")
			if rest == "" {
				e, _ := objects.read(text[begin:], func(string) json.RawMessage { return nil })
				if slices.ContainsFunc(e.Calls, func(c parser.ToolCall) bool { return known(c.Name) }) {
					return objects, begin
				}
			}
			if rest == "" || rest[0] != '{' {
				break
			}
			at = len(text) - len(rest)
		}
	}
	return nil, 0
}
