package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"textskill/parser"
	rawjson "textskill/parser/json"
)

// Mistral is the format of Mistral's models up to version 7 of their tokenizer: a list of
// calls.
var Mistral = &Wire{
	Name:   "mistral",
	Doc:    `[TOOL_CALLS] [{"name":"f","arguments":{},"id":"123456789"}]`,
	marker: matcher(`\[TOOL_CALLS\]\s*\[`),
	read:   frame{open: "[TOOL_CALLS]", ends: []string{"</s>"}, body: (*scanner).calls}.read,
	text: each("", func(a Answer, text string) string {
		content := escaped(text, mistralTokens)
		if a.Call.ID == "" { // as version 2 has it
			return fmt.Sprintf(`[TOOL_RESULTS] [{"name": %s, "content": %s}][/TOOL_RESULTS]`, escaped(a.Call.Name, mistralTokens), content)
		}
		return fmt.Sprintf(`[TOOL_RESULTS] {"content": %s, "call_id": %s}[/TOOL_RESULTS]`, content, escaped(a.Call.ID, mistralTokens))
	}),
}

var mistralTokens = []string{"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[TOOL_CALLS]", "[INST]", "</s>"}

// Mistral11 is the format of Mistral's models from version 11 of their tokenizer on: a
// name, an id in some, and arguments.
var Mistral11 = &Wire{
	Name:   "mistral-v11",
	family: Mistral,
	Doc:    `[TOOL_CALLS]f[ARGS]{}`,
	marker: matcher(`\[TOOL_CALLS\]\s*[\w.-]+\s*(?:\[ARGS\]|\[CALL_ID\]|\{)`),
	read: frame{open: "[TOOL_CALLS]", ends: []string{"</s>"}, body: func(s *scanner) ([]parser.ToolCall, error) {
		before, _, ok := strings.Cut(s.text[s.pos:min(len(s.text), s.pos+2*maxName)], "{")
		name, _, _ := strings.Cut(before, "[ARGS]")
		name, id, _ := strings.Cut(name, "[CALL_ID]")
		c := parser.ToolCall{ID: strings.TrimSpace(id), Name: strings.TrimSpace(name)}
		if !ok || !isName(c.Name) || !isName(c.ID) {
			return nil, errors.New("want NAME[ARGS]{…}")
		}
		s.pos += len(before)
		return s.arguments(c)
	}}.read,
	text: each("", func(a Answer, text string) string {
		if a.Call.ID != "" {
			text = a.Call.ID + "[TOOL_CONTENT]" + text
		}
		return "[TOOL_RESULTS]" + text + "[/TOOL_RESULTS]"
	}, mistralTokens...),
}

// DeepSeek is the format of DeepSeek V3 and R1: arguments in a code fence.
var DeepSeek = &Wire{
	Name:   "deepseek",
	Doc:    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\\n```json\\n{}\\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	marker: matcher("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"),
	read:   deepSeek(deepSeekFence).read,
	text: func(answers []Answer) string {
		return "<｜tool▁outputs▁begin｜>" + each("\n", deepSeekOutput, "<｜")(answers) + "<｜tool▁outputs▁end｜>"
	},
}

// DeepSeek31 is the format of DeepSeek V3.1.
var DeepSeek31 = &Wire{
	Name:   "deepseek-v3.1",
	family: DeepSeek,
	Doc:    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	marker: matcher("<｜tool▁call▁begin｜>"),
	read: deepSeek(func(s *scanner) ([]parser.ToolCall, error) {
		name, err := s.until("<｜tool▁sep｜>")
		if err != nil {
			return nil, err
		}
		return s.arguments(parser.ToolCall{Name: name})
	}).read,
	text: each("", deepSeekOutput, "<｜"),
}

func deepSeek(body func(s *scanner) ([]parser.ToolCall, error)) frame {
	return frame{open: "<｜tool▁call▁begin｜>", end: "<｜tool▁call▁end｜>", ends: []string{"<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"}, body: body}
}

// deepSeekFence reads function<｜tool▁sep｜>NAME, and the arguments in a code fence.
func deepSeekFence(s *scanner) ([]parser.ToolCall, error) {
	if _, err := s.until("<｜tool▁sep｜>"); err != nil {
		return nil, err
	}
	name, err := s.until("\n")
	if err != nil {
		return nil, err
	}
	s.space()
	fenced := s.skip("```json") || s.skip("```")
	calls, err := s.arguments(parser.ToolCall{Name: name})
	if s.space(); err == nil && fenced && !s.skip("```") {
		err = errors.New("want ``` after the arguments")
	}
	return calls, err
}

func deepSeekOutput(_ Answer, text string) string {
	return "<｜tool▁output▁begin｜>" + text + "<｜tool▁output▁end｜>"
}

// Kimi is the format of Kimi K2. Its ids hold the name.
var Kimi = &Wire{
	Name:   "kimi",
	Doc:    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
	marker: matcher(`<\|tool_call_begin\|>`),
	read: frame{open: "<|tool_call_begin|>", end: "<|tool_call_end|>", ends: []string{"<|tool_calls_section_end|>", "<|im_end|>"},
		body: func(s *scanner) ([]parser.ToolCall, error) {
			id, err := s.until("<|tool_call_argument_begin|>")
			if err != nil {
				return nil, err
			}
			name := strings.TrimPrefix(id, "functions.")
			if i := strings.LastIndexByte(name, ':'); i >= 0 {
				name = name[:i]
			}
			return s.arguments(parser.ToolCall{ID: id, Name: name})
		}}.read,
	text: each("", func(a Answer, text string) string {
		return "<|im_system|>tool<|im_middle|>## Return of " + a.Call.ID + "\n" + text + "<|im_end|>"
	}, "<|im_", "<|tool_call"),
}

// Granite is the format of Granite 3: a list of calls after a token.
var Granite = &Wire{
	Name:   "granite",
	Doc:    `<|tool_call|>[{"name":"f","arguments":{}}]`,
	marker: matcher(`<\|tool_call\|>`),
	read: frame{open: "<|tool_call|>", ends: []string{"<|end_of_text|>"}, body: func(s *scanner) ([]parser.ToolCall, error) {
		s.space()
		s.skip("<tool_call>")
		return s.calls()
	}}.read,
	text: each("\n", func(_ Answer, text string) string {
		return "<|start_of_role|>tool_response<|end_of_role|>" + text + "<|end_of_text|>"
	}, "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>"),
}

// Llama is the format of Llama 3: JSON after a token, or in a tag with the name.
var Llama = &Wire{
	Name:   "llama",
	Doc:    `<|python_tag|>{"name":"f","parameters":{}} or <function=f>{}</function>`,
	marker: matcher(`<\|python_tag\|>|<function=[^<>{}\n]+>\s*\{`),
	read:   readLlama,
	text: each("", func(_ Answer, text string) string {
		return "<|start_header_id|>ipython<|end_header_id|>\n\n" + text + "<|eot_id|>"
	}, "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"),
}

const pythonTag, functionTag = "<|python_tag|>", "<function="

// readLlama reads the calls of the form that comes first; one of the other form after
// them is an error. Some models leave out the token before an object.
func readLlama(text string, tools Schemas) (parser.Envelope, error) {
	ends := []string{"<|eom_id|>", "<|eot_id|>"}
	object := frame{open: pythonTag, ends: ends, body: llamaObjects}
	tagged := frame{open: functionTag, end: "</function>", ends: ends, body: func(s *scanner) ([]parser.ToolCall, error) {
		name, err := s.until(">")
		if err != nil {
			return nil, err
		}
		return s.arguments(parser.ToolCall{Name: name})
	}}
	if bare := strings.TrimLeft(text, rawjson.Space); strings.HasPrefix(bare, "{") || strings.HasPrefix(bare, "[") {
		text = pythonTag + text
	}
	first, other := object, tagged
	if tag := strings.Index(text, functionTag); tag >= 0 && !strings.Contains(text[:tag], pythonTag) {
		first, other = tagged, object
	}
	s, err := first.scan(text, tools)
	if err != nil {
		return parser.Envelope{}, err
	}
	if strings.Contains(s.text[min(s.pos, len(s.text)):], other.open) {
		s.Calls = append(s.Calls, parser.ToolCall{Err: fmt.Errorf("%s stands after %s, where calls of one form are wanted, so it was not run", other.open, first.open)})
	}
	return s.Envelope, nil
}

// llamaObjects reads objects with semicolons between them.
func llamaObjects(s *scanner) (calls []parser.ToolCall, err error) {
	for {
		list, err := s.calls()
		if err != nil && len(calls) > 0 { // those before are whole
			list = append(list, parser.ToolCall{})[:1]
			list[0].Err = err
			return append(calls, list...), nil
		}
		if calls = append(calls, list...); err != nil {
			return calls, err
		}
		if s.space(); !s.skip(";") {
			return calls, nil
		}
		if s.space(); s.pos == len(s.text) || slices.ContainsFunc(s.ends, s.skip) {
			return calls, nil
		}
	}
}
