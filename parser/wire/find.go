package wire

import (
	"regexp"
	"strings"
	"sync"

	"textskill/parser"
	rawjson "textskill/parser/json"
)

// A finder finds calls in a text: the wire that reads them and where they begin, nil for none.
// known reports whether a tool has a name.
type finder func(text string, known func(name string) bool) (w *Wire, at int)

// finders are tried in their order.
var finders = []finder{
	naming(`\A\s*(?:<\|python_tag\|>\s*\[?|\[)([\w.:-]+)\(`, inCode),
	certain, alike,
	naming("(?s)\\A\\s*```\\w*\\s*\\[?([\\w.:-]+)\\(.*```\\s*\\z", inCode),
	func(text string, _ func(string) bool) (*Wire, int) {
		if at := objectsAt(text); at >= 0 {
			return objects, at
		}
		return nil, 0
	},
	naming(`\A\s*([^\n]+)\n\s*\{`, func(string) *Wire { return Functionary }),
	naming("(?m)^(?:Thought:.*\n+)?Action:[ \t]*`?([\\w.-]+)`?[ \t]*\n+Action Input:",
		func(string) *Wire { return ReAct }),
	naming(`(?m)^\s*<([A-Za-z][\w.-]*)>\s*<\w`, inOwnTags),
}

// Find returns the wire of the calls in a text of a model that knows some tools, and where they
// begin; nil for none.
func Find(text string, known func(name string) bool) (*Wire, int) {
	for _, find := range finders {
		if w, at := find(text, known); w != nil {
			return w, at
		}
	}
	return nil, 0
}

// OfText returns the wire of text whose calls begin first in a text, and where; nil if
// no marker is certain.
func OfText(text string) (*Wire, int) {
	if w, at := certain(text, nil); w != nil {
		return w, at
	}
	return alike(text, nil)
}

var (
	certain = marked(func() []*Wire { return All })
	alike   = marked(func() []*Wire { return kin })
)

// marked finds the first marker of some wires.
func marked(list func() []*Wire) finder {
	return func(text string, _ func(string) bool) (first *Wire, at int) {
		for _, w := range list() {
			if w.marker == nil {
				continue
			}
			if i := w.marker(text); i >= 0 && (first == nil || i < at) {
				first, at = w, i
			}
		}
		return first, at
	}
}

// naming finds a pattern whose group is the name of a tool, which alone gives the call away.
func naming(pattern string, of func(tool string) *Wire) finder {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(text string, known func(string) bool) (*Wire, int) {
		m := compiled().FindStringSubmatchIndex(text)
		if m == nil || !known(strings.TrimSpace(text[m[2]:m[3]])) {
			return nil, 0
		}
		return of(text[m[2]:m[3]]), m[0]
	}
}

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
		tag: tag{open: "<", sep: ">"}}
	return &Wire{family: Invoke, read: f.read}
}

// objects are calls without a format: in tags, as all of the text, or in a fence at its end.
var objects = &Wire{family: Hermes, read: func(text string, _ Schemas) (e parser.Envelope, _ error) {
	e.Calls, _, _ = parser.Calls(text[max(objectsAt(text), 0):], func(string) bool { return false })
	return e, nil
}}

// objectsAt returns where objects that may be calls are in a text, -1 for nowhere.
func objectsAt(text string) int {
	body := strings.TrimSpace(text)
	if from, to, fenced := rawjson.Fenced(body); fenced {
		body = strings.TrimSpace(body[from:to])
	}
	if tag := strings.Index(text, "<tool_call"); tag >= 0 {
		return tag
	}
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		return 0
	}
	return lastFence(text)
}

// lastFence finds a call in a code fence, after words and at the end of a text.
var lastFence = matcher("(?s)```(?:json)?\\s*\\{\\s*\"name\":[^`]*\"(?:arguments|parameters)\":[^`]*```\\s*$")
