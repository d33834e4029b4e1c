package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/parser/wire"
)

// read finds in an answer what models write into its text: thoughts in tags, and calls that they do
// not make as calls. The text of a model that has made a call as one is not searched for calls.
func (b *toolbox) read(a *Answer) {
	if b.makesCalls = b.makesCalls || len(a.Calls) > 0; !a.Apart {
		b.readText(a)
	}
	a.Calls = apart(a.Calls)
}

// readText reads the text of an answer whose protocol does not keep it apart from all else.
func (b *toolbox) readText(a *Answer) {
	r := b.find(frame().ReplaceAllString(a.Text, ""))
	if a.Thinking.Text == "" {
		a.Thinking.Text, a.Text = r.Thought, r.Rest
	}
	a.Text = frame().ReplaceAllString(a.Text, "")
	switch {
	case len(a.Calls) > 0 || a.Cut || b.makesCalls:
		return
	case strings.TrimSpace(r.Rest) == "": // some models do not come out of their thoughts
		if r = b.find(a.Thinking.Text); r.Wire == nil {
			return
		}
	case r.Wire != nil:
		a.Text = strings.TrimSpace(r.Text)
	}
	for _, c := range r.Calls {
		a.Calls = append(a.Calls, Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments), Err: c.Err})
	}
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

// find reads a text. A text none of whose calls names a tool is only a text.
func (b *toolbox) find(text string) wire.Reading {
	r := wire.Find(text, func(name string) bool { return b.named(name) != nil },
		func(name string) json.RawMessage {
			if tool := b.named(name); tool != nil {
				return tool.Schema
			}
			return nil
		})
	if !slices.ContainsFunc(r.Calls, func(c parser.ToolCall) bool { return b.named(c.Name) != nil }) {
		r.Wire, r.Calls = nil, nil
	}
	return r
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
