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
func (b *toolbox) read(a *Answer) {
	thought, text := cutThought(a.Text)
	if a.Text = frame().ReplaceAllString(text, ""); a.Thinking.Text == "" {
		a.Thinking.Text = thought
	}
	if len(a.Calls) == 0 && !a.Cut {
		a.Text, a.Calls = b.writtenCalls(a.Text)
	}
	// some models do not come out of their thoughts
	if len(a.Calls) == 0 && !a.Cut && strings.TrimSpace(a.Text) == "" {
		_, a.Calls = b.writtenCalls(a.Thinking.Text)
	}
	a.Calls = apart(a.Calls)
}

// frame matches the tokens of templates around a text, which some servers leave there.
var frame = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|` +
		`(?:<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|END_OF_TURN_TOKEN)\|>|<end_of_turn>|<｜end▁of▁sentence｜>)\s*$`)
})

// apart returns calls with those in it that some models put into one of a tool that they make
// up.
func apart(calls []Call) (list []Call) {
	for _, c := range calls {
		var one struct {
			Uses []struct {
				Name       string          `json:"recipient_name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"tool_uses"`
		}
		if strings.HasSuffix(c.Name, "multi_tool_use.parallel") {
			json.Unmarshal([]byte(c.Arguments), &one)
		}
		if len(one.Uses) == 0 {
			list = append(list, c)
		}
		for _, u := range one.Uses {
			list = append(list, Call{Name: u.Name, Arguments: string(u.Parameters)})
		}
	}
	return list
}

// thoughtTags are around what models write of their thoughts into a text. Of some, templates
// write the first, so that it may be missing.
var thoughtTags = []struct {
	first, last string
	lone        bool // the last may be there alone
}{
	{"<think>", "</think>", true}, {"<thinking>", "</thinking>", true}, {"[THINK]", "[/THINK]", true},
	{"<|START_THINKING|>", "<|END_THINKING|>", true}, {"<seed:think>", "</seed:think>", true},
	{"◁think▷", "◁/think▷", true},
	{"<thought>", "</thought>", false}, {"<reasoning>", "</reasoning>", false},
	{"<|channel>thought", "<channel|>", false},
	{"<|channel|>analysis<|message|>", "<|end|>", false},
}

// cutThought parts a text from the blocks of thought that it begins with. A block that does
// not end is all of the text.
func cutThought(text string) (thought, rest string) {
	rest = text
	for i := 0; i < len(thoughtTags); i++ {
		tag := thoughtTags[i]
		at := strings.Index(rest, tag.last)
		if strings.HasPrefix(strings.TrimSpace(rest), tag.first) && at < 0 {
			at, rest = len(rest), rest+tag.last
		}
		if at < 0 || at > 0 && strings.ContainsRune("`'\"", rune(rest[at-1])) {
			continue
		}
		inside, opened := strings.CutPrefix(strings.TrimSpace(rest[:at]), tag.first)
		// within the text, not at its beginning
		if !opened && (!tag.lone || strings.Contains(inside, tag.first)) {
			continue
		}
		thought += strings.TrimSpace(inside)
		rest = strings.TrimLeft(rest[at+len(tag.last):], rawjson.Space)
		i = -1
	}
	return thought, rest
}

// writtenCalls returns the calls that a model wrote into its text instead of making them, and
// the text before them. A text none of whose calls names a tool is only a text.
func (b *toolbox) writtenCalls(text string) (rest string, calls []Call) {
	list, at := b.callsIn(text)
	known := false
	for _, c := range list {
		known = known || b.named(c.Name) != nil
		calls = append(calls, Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments), Err: c.Err})
	}
	if !known {
		return text, nil
	}
	return strings.TrimSpace(text[:at]), calls
}

// callsIn reads the calls in a text.
func (b *toolbox) callsIn(text string) (calls []parser.ToolCall, at int) {
	w, at := wire.Find(text, func(name string) bool { return b.named(name) != nil })
	if w == nil {
		return nil, 0
	}
	e, err := w.Read(text, func(name string) json.RawMessage {
		if tool := b.named(name); tool != nil {
			return tool.Schema
		}
		return nil
	})
	if err != nil {
		return nil, 0
	}
	return e.Calls, at
}

// named returns the tool that a model means by a name: the tool with that name, or the one
// that is left without what models write around names, whatever the case of its letters.
func (b *toolbox) named(name string) *tool {
	if tool := b.tool(name); tool != nil {
		return tool
	}
	name, _, _ = strings.Cut(name, "<")
	name = strings.Trim(name, "\"'`() \t\r\n")
	for _, prefix := range []string{"functions", "default_api", "tools", "tool"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.IndexAny(rest, ".:_") == 0 {
			name = rest[1:]
		}
	}
	name = nameEnd().ReplaceAllString(name, "")
	if tool := b.tool(name); tool != nil || name == "" {
		return tool
	}
	if at := strings.LastIndex(name, "__"); at >= 0 { // behind the name of a server
		name = name[at+2:]
	}
	var found *tool
	for _, s := range b.skills {
		for i := range s.tools {
			switch own := &s.tools[i]; {
			case !strings.EqualFold(unscored.Replace(own.Name), unscored.Replace(name)):
			case found != nil && found.Name != own.Name:
				return nil
			case found == nil:
				found = own
			}
		}
	}
	return found
}

// nameEnd matches what some models write after the name of a tool.
var nameEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\d+$|\.call$`) })

// unscored takes out what parts the words of a name.
var unscored = strings.NewReplacer("_", "", "-", "")

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
