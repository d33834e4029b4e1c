package agent

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/parser/wire"
)

// read finds in an answer what models write into its text: thoughts in tags, and calls that
// they do not make as calls.
func (t *task) read(a *Answer) {
	thought, text := cutThought(a.Text)
	if a.Text = text; a.Thinking.Text == "" {
		a.Thinking.Text = thought
	}
	if len(a.Calls) == 0 && !a.Cut {
		a.Text, a.Calls = t.writtenCalls(a.Text)
	}
}

// thoughtTags are around what models write of their thoughts into a text.
var thoughtTags = [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}, {"<|START_THINKING|>", "<|END_THINKING|>"}}

// cutThought parts a text from the blocks of thought that it begins with. Of a block there may
// be the end tag only.
func cutThought(text string) (thought, rest string) {
	rest = text
	for i := 0; i < len(thoughtTags); i++ {
		first, last := thoughtTags[i][0], thoughtTags[i][1]
		at := strings.Index(rest, last)
		if at < 0 || at > 0 && strings.ContainsRune("`'\"", rune(rest[at-1])) {
			continue
		}
		inside, opened := strings.CutPrefix(strings.TrimSpace(rest[:at]), first)
		if !opened && strings.Contains(inside, first) { // within the text, not at its beginning
			continue
		}
		thought += strings.TrimSpace(inside)
		rest = strings.TrimLeft(rest[at+len(last):], rawjson.Space)
		i = -1
	}
	return thought, rest
}

// writtenCalls returns the calls that a model wrote into its text instead of making them, and
// the text before them. A text none of whose calls names a tool is only a text.
func (t *task) writtenCalls(text string) (rest string, calls []Call) {
	list, at := t.callsIn(text)
	known := false
	for _, c := range list {
		known = known || t.named(c.Name) != nil
		calls = append(calls, Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments), Err: c.Err})
	}
	if !known {
		return text, nil
	}
	return strings.TrimSpace(text[:at]), calls
}

// callsIn reads the calls in a text: in a format of a model, as JSON that is all of the text,
// or in one of the formats that only the name of a tool gives away.
func (t *task) callsIn(text string) (calls []parser.ToolCall, at int) {
	schema := func(name string) json.RawMessage {
		if tool := t.named(name); tool != nil {
			return tool.Schema
		}
		return nil
	}
	w, at := wire.OfText(text)
	body := strings.TrimSpace(text)
	if from, to, ok := rawjson.Fenced(body); ok && w == nil {
		body = strings.TrimSpace(body[from:to])
	}
	first, _, _ := strings.Cut(body, "\n")
	called, _, _ := strings.Cut(strings.TrimPrefix(body, "["), "(")
	action := reactAction().FindStringSubmatchIndex(text)
	switch {
	case w != nil:
	case strings.Contains(body, "<tool_call"):
		calls, _, _ = parser.Calls(text, func(string) bool { return false })
		return calls, strings.Index(text, "<tool_call")
	case strings.HasPrefix(body, "[") && t.named(called) != nil:
		w, text = wire.LFM2, "<|tool_call_start|>"+body+"<|tool_call_end|>"
	case strings.HasPrefix(body, "{") || strings.HasPrefix(body, "["):
		calls, _, _ = parser.Calls(text, func(string) bool { return false })
		return calls, 0
	case t.named(first) != nil && strings.HasPrefix(strings.TrimSpace(body[len(first):]), "{"):
		w, text = wire.Functionary, body
	case action != nil && t.named(text[action[2]:action[3]]) != nil:
		w, at = wire.ReAct, action[0]
	default:
		return nil, 0
	}
	e, err := w.Read(text, schema)
	if err != nil {
		return nil, 0
	}
	return e.Calls, max(at, 0)
}

var reactAction = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^(?:Thought:.*\n+)?Action:[ \t]*`?([\\w.-]+)`?[ \t]*\n+Action Input:")
})

// named returns the tool that a model means by a name: the tool with that name, or the one
// that is left without what models write around names, whatever the case of its letters.
func (t *task) named(name string) *tool {
	if tool := t.tool(name); tool != nil {
		return tool
	}
	name, _, _ = strings.Cut(name, "<|")
	name = strings.TrimSpace(name)
	for _, prefix := range []string{"functions", "default_api", "tools", "tool"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.IndexAny(rest, ".:") == 0 {
			name = rest[1:]
		}
	}
	if tool := t.tool(name); tool != nil || name == "" {
		return tool
	}
	var found *tool
	for _, s := range t.skills {
		for i := range s.tools {
			switch own := &s.tools[i]; {
			case !strings.EqualFold(own.Name, name):
			case found != nil && found.Name != own.Name:
				return nil
			case found == nil:
				found = own
			}
		}
	}
	return found
}

// readArguments reads the arguments of a call. They may be encoded twice.
func readArguments(text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	args, _, err := rawjson.Decode(text)
	if err != nil {
		return nil, err
	}
	if inner, ok := rawjson.String(args); ok {
		if again, _, err := rawjson.Decode(inner); err == nil && again[0] == '{' {
			return again, nil
		}
	}
	return args, nil
}
