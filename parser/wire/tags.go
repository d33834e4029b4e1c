package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"textskill/parser"
)

// Hermes is the format of Hermes and of Qwen: JSON in tags.
var Hermes = &Wire{
	Name:   "hermes",
	Doc:    `<tool_call>{"name":"f","arguments":{}}</tool_call>`,
	marker: matcher(`<tool_call>\s*\{`),
	read:   frame{open: "<tool_call>", end: "</tool_call>", ends: chatML, body: (*scanner).calls}.read,
	text: each("\n", func(a Answer, text string) string {
		return fmt.Sprintf("<tool_response>\n{\"name\": %s, \"content\": %s}\n</tool_response>", escaped(a.Call.Name, qwenTokens), escaped(text, qwenTokens))
	}),
}

var qwenTokens = []string{"<tool_response>", "</tool_response>", "<|im_"}

// chatML are the tokens at the end of a message.
var chatML = []string{"<|im_end|>", "<|endoftext|>"}

// Qwen is the format of Qwen3-Coder: a tag for each argument.
var Qwen = &Wire{
	Name:   "qwen3-coder",
	Doc:    "<tool_call><function=f><parameter=k>v</parameter></function></tool_call>",
	marker: matcher(`<tool_call>\s*<function=|<function=[^<>{}\n]+>\s*<parameter=`),
	read: func(text string, tools Schemas) (parser.Envelope, error) {
		f := frame{open: "<tool_call>", end: "</tool_call>", ends: chatML, body: qwenCall}
		if !strings.Contains(text, f.open) { // the model forgets it at times
			f = frame{open: "<function=", end: "</function>", closed: true, ends: append(chatML, f.end), body: qwenFunction}
		}
		return f.read(text, tools)
	},
	text: each("\n", response, qwenTokens...),
}

func response(_ Answer, text string) string { return "<tool_response>\n" + text + "\n</tool_response>" }

// qwenCall reads <function=NAME>…</function>.
func qwenCall(s *scanner) ([]parser.ToolCall, error) {
	if s.space(); !s.skip("<function=") {
		return nil, errors.New("want <function=NAME> in <tool_call>")
	}
	calls, err := qwenFunction(s)
	if s.space(); err == nil && !s.skip("</function>") {
		err = errors.New("want </function> after the arguments")
	}
	return calls, err
}

// qwenFunction reads NAME>, and the arguments in their tags.
func qwenFunction(s *scanner) ([]parser.ToolCall, error) {
	name, err := s.until(">")
	if err != nil {
		return nil, err
	}
	return s.tagged(name, "<parameter=", func() (string, error) { return s.until(">") }, func() (string, error) {
		text, err := s.value("</parameter>", "<parameter=", "</function>")
		return strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n"), err
	})
}

// tagged reads the arguments of a call in tags, each with open before its key, and returns the
// call.
func (s *scanner) tagged(name, open string, key, value func() (string, error)) ([]parser.ToolCall, error) {
	var list []written
	for s.space(); s.skip(open); s.space() {
		k, err := key()
		var text string
		if err == nil {
			text, err = value()
		}
		if err != nil {
			return []parser.ToolCall{{Name: name}}, err
		}
		list = append(list, written{k, text})
	}
	return s.written(name, list)
}

// written returns a call whose arguments are written without types.
func (s *scanner) written(name string, list []written) ([]parser.ToolCall, error) {
	c := parser.ToolCall{Name: name}
	if c.Name == "" {
		return []parser.ToolCall{c}, errors.New("the call has no name")
	}
	c.Arguments, c.Err = s.object(name, list)
	return []parser.ToolCall{c}, nil
}

// GLM is the format of GLM-4.5: the name, then pairs of keys and values.
var GLM = &Wire{
	Name:   "glm",
	Doc:    "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
	marker: matcher(`<tool_call>\s*[\w.-]+\s*(?:<arg_key>|</tool_call>)`),
	read: frame{open: "<tool_call>", end: "</tool_call>", closed: true, ends: []string{"<|observation|>", "<|user|>", "<|endoftext|>"},
		body: func(s *scanner) ([]parser.ToolCall, error) {
			name := glmName().FindString(s.text[s.pos:min(len(s.text), s.pos+2*maxName)])
			if s.pos += len(name); strings.TrimSpace(name) == "" {
				return nil, errors.New("want the name of a tool in <tool_call>")
			}
			name = strings.TrimSpace(name)
			return s.tagged(name, "<arg_key>", func() (string, error) {
				key, err := s.until("</arg_key>")
				if s.space(); err == nil && !s.skip("<arg_value>") {
					err = errors.New("want <arg_value> after " + key)
				}
				return key, err
			}, func() (string, error) { return s.value("</arg_value>", "<arg_key>", "</tool_call>") })
		}}.read,
	text: func(answers []Answer) string {
		return "<|observation|>\n" + each("\n", response, "<tool_response>", "</tool_response>", "<|observation|>", "<|user|>", "<|assistant|>", "<|system|>")(answers)
	},
}

var glmName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[\w.-]{1,256}`) })

// Invoke is the format of Anthropic's models in text.
var Invoke = &Wire{
	Name:   "invoke",
	Doc:    `<function_calls><invoke name="f"><parameter name="k">v</parameter></invoke></function_calls>`,
	marker: matcher(`<function_calls>\s*<invoke name=`),
	read: frame{open: "<invoke ", end: "</invoke>", closed: true, ends: []string{"<function_calls>", "</function_calls>"},
		body: func(s *scanner) ([]parser.ToolCall, error) {
			if !s.skip(`name="`) {
				return nil, errors.New(`want <invoke name="NAME">`)
			}
			name, err := s.until(`">`)
			if err != nil {
				return nil, err
			}
			return s.tagged(name, `<parameter name="`, func() (string, error) { return s.until(`">`) }, func() (string, error) {
				return s.value("</parameter>", "<parameter ", "</invoke>")
			})
		}}.read,
	text: func(answers []Answer) string {
		return "<function_results>\n" + each("\n", func(a Answer, text string) string {
			tag := "stdout"
			if a.Failed {
				tag = "error"
			}
			return fmt.Sprintf("<result>\n<tool_name>%s</tool_name>\n<%s>\n%s\n</%s>\n</result>", a.Call.Name, tag, text, tag)
		}, "</stdout>", "</error>", "</result>", "</function_results>")(answers) + "\n</function_results>"
	},
}

// matcher returns a function that finds where a pattern is first in a text, -1 if it is not.
func matcher(pattern string) func(text string) int {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(text string) int {
		if at := compiled().FindStringIndex(text); at != nil {
			return at[0]
		}
		return -1
	}
}
