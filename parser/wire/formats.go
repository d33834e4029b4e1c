package wire

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A format is how the chat templates of some models write calls as text. An empty token is
// not part of the format.
type format struct {
	open, end string   // around a call, or around a list of calls
	closed    bool     // end must not be missing at the end of the text: without it arguments may be missing
	ends      []string // tokens that may be at the end of the text or between calls

	maybe  []string // tokens that may follow open
	before string   // stands before the name
	after  string   // stands after the name
	keep   bool     // after belongs to the arguments
	values values   // how the arguments are written
	tag    tag      // of an argument, with values of inTags
	quote  string   // around a text, with values of inBraces
	last   string   // stands after the arguments

	exact bool // values of inTags have no line breaks around them, unless all of a call have

	keyed bool   // objects inList have the name as their one key
	attr  string // stands after attributes, which are behind the name
	whole string // stands before an object that has all arguments, in place of tags

	name string // of the call, where open holds it
	// finds the name and the ID in what stands before the arguments; may be nil
	rename func(c *parser.ToolCall)
}

// always returns the format, whatever a text is.
func (f format) always(string) format { return f }

// values is how a format writes the arguments of a call.
type values int

const (
	inList     values = iota // {"name":…,"arguments":{…}}, or a list of such objects
	inObject                 // the name, then {"key":value}
	inTags                   // the name, then a tag for each argument
	inBrackets               // name(key="value"), or a list of such calls
	inBraces                 // the name, then {key:value} with a quote of the format's own
)

// A tag writes an argument: OPEN key SEP attributes END value CLOSE. An attribute says whether
// the value is a text: string="true". In CLOSE, KEY stands for the key.
type tag struct {
	open, sep, end, close string
	breaks                bool // line breaks around the value are not part of it
	nests                 bool // a value may be a list or an object in tags
}

var (
	chatML       = []string{"<|im_end|>", "<|endoftext|>"}
	parameterTag = tag{open: "<parameter=", sep: ">", close: "</parameter>", breaks: true}
)

// The formats. A row that several models share has the name of the first.
var (
	hermesCalls = format{open: "<tool_call>", end: "</tool_call>", ends: chatML}
	qwenCalls   = format{open: "<tool_call>", end: "</tool_call>", ends: chatML, before: "<function=",
		after: ">", values: inTags, tag: parameterTag, last: "</function>"}
	qwenBare = format{open: "<function=", end: "</function>", closed: true,
		ends: append(chatML, "</tool_call>"), after: ">", values: inTags, tag: parameterTag}
	seedCalls = format{open: "<seed:tool_call>", end: "</seed:tool_call>", ends: []string{"<seed:eos>"},
		before: "<function=", after: ">", exact: true, values: inTags, tag: parameterTag, last: "</function>"}
	glmCalls = format{open: "<tool_call>", end: "</tool_call>", closed: true,
		ends: []string{"<|observation|>", "<|user|>", "<|endoftext|>"}, after: "<", keep: true,
		values: inTags, tag: tag{open: "<arg_key>", sep: "</arg_key>", end: "<arg_value>",
			close: "</arg_value>"}}
	// GLM's, with a word in the tags
	hunyuanCalls = worded(glmCalls, ">", ":WORD>")
	horizonCalls = worded(glmCalls, "<", "<ifm|")
	lagunaCalls  = format{open: "<tool_call>", end: "</tool_call>", after: "{", keep: true, values: inObject}
	solarCalls   = format{open: "<|tool_call:start|>", end: "<|tool_call:end|>", closed: true, after: "\n",
		values: inTags, tag: tag{open: "<|tool_arg:start|>", sep: "<|tool_arg:value|>", close: "<|tool_arg:end|>"}}
	miniCPM = format{open: "<function ", end: "</function>", closed: true, before: `name="`, after: `">`,
		values: inTags, tag: tag{open: `<param name="`, sep: `"`, end: ">", close: "</param>"}}
	miniMax3 = format{open: m3 + `<invoke name="`, end: m3 + "</invoke>", closed: true, after: `">`,
		ends: []string{m3 + "</tool_call>"}, values: inTags,
		tag: tag{open: m3 + "<", sep: ">", close: m3 + "</KEY>", nests: true}}
	kimi3 = format{open: "<|open|>call ", end: "<|close|>call<|sep|>", closed: true, before: `tool="`, after: `"`,
		attr: "<|sep|>", whole: `<|open|>json type="object"<|sep|>`, values: inTags,
		tag: tag{open: `<|open|>argument key="`, sep: `"`, end: "<|sep|>", close: "<|close|>argument<|sep|>"}}
	apertusCalls   = format{open: "<|tools_prefix|>", end: "<|tools_suffix|>", keyed: true}
	giga31Calls    = format{open: "<|function_call|>", ends: []string{"<|message_sep|>", "</s>"}}
	mistralCalls   = format{open: "[TOOL_CALLS]", ends: []string{"</s>"}}
	mistral11Calls = format{open: "[TOOL_CALLS]", ends: []string{"</s>"}, after: "{", keep: true,
		values: inObject, rename: mistralName}
	deepSeekCalls = format{open: "<｜tool▁call▁begin｜>", end: "<｜tool▁call▁end｜>", ends: deepSeekEnds,
		before: "function<｜tool▁sep｜>", after: "\n", values: inObject}
	deepSeek31 = format{open: "<｜tool▁call▁begin｜>", end: "<｜tool▁call▁end｜>", ends: deepSeekEnds,
		after: "<｜tool▁sep｜>", values: inObject}
	kimiCalls = format{open: "<|tool_call_begin|>", end: "<|tool_call_end|>",
		ends: []string{"<|tool_calls_section_end|>", "<|im_end|>"}, after: "<|tool_call_argument_begin|>",
		values: inObject, rename: kimiName}
	graniteCalls = format{open: "<|tool_call|>",
		ends: []string{"<|end_of_text|>", "<|/tool_call|>", "<|end|>"}, maybe: []string{"<tool_call>"}}
	llamaObjects = format{open: "<|python_tag|>", ends: llamaEnds}
	llamaTagged  = format{open: "<function=", end: "</function>", ends: llamaEnds, after: ">",
		values: inObject}
	nemotronCalls = format{open: "<TOOLCALL>", end: "</TOOLCALL>"}
	jambaCalls    = format{open: "<tool_calls>", end: "</tool_calls>"}
	internCalls   = format{open: "<|action_start|>", end: "<|action_end|>", ends: chatML,
		maybe: []string{"<|plugin|>"}}
	commandCalls = format{open: "<|START_ACTION|>", end: "<|END_ACTION|>",
		ends: []string{"<|END_OF_TURN_TOKEN|>"}}
	functoolsCalls = format{open: "functools", ends: []string{"<|end|>", "<|im_end|>"}}
	functionary    = format{open: ">>>", ends: []string{"<|eot_id|>"}, after: "\n", values: inObject}
	functionary2   = format{open: "<|recipient|>", ends: []string{"<|stop|>", "<|from|>assistant"},
		after: "\n<|content|>", values: inObject}
	functionaryLlama = format{open: "<|reserved_special_token_249|>", ends: []string{"<|eot_id|>"}, after: "\n",
		values: inObject}
	lfmCalls = format{open: "<|tool_call_start|>", end: "<|tool_call_end|>", ends: chatML,
		values: inBrackets}
	gemmaCalls = format{open: "<|tool_call>call:", end: "<tool_call|>", after: "{", keep: true,
		values: inBraces, quote: `<|"|>`}
	functionGemma = format{open: "<start_function_call>call:", end: "<end_function_call>", after: "{",
		keep: true, values: inBraces, quote: "<escape>"}
	pythonStart = format{open: "<|python_start|>", end: "<|python_end|>", ends: llamaEnds, values: inBrackets}
	olmoCalls   = format{open: "<function_calls>", end: "</function_calls>", ends: chatML, values: inBrackets}
	gigaChat    = format{open: "function call<|role_sep|>", ends: []string{"<|message_sep|>", "</s>"}}
	toolCode    = format{open: "```tool_code", end: "```", maybe: []string{"print("}, values: inBrackets}

	deepSeekEnds = []string{"<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"}
	llamaEnds    = []string{"<|eom_id|>", "<|eot_id|>"}
)

// invoked returns the format of invoke tags whose names begin with a prefix.
func invoked(prefix, quote string) format {
	var ends []string
	for _, w := range []string{prefix + "function_calls", prefix + "tool_calls", prefix + "tool_call",
		"minimax:tool_call", "function_calls", "tool_calls"} {
		ends = append(ends, "<"+w+">", "</"+w+">")
	}
	return format{
		open: "<" + prefix + "invoke ", end: "</" + prefix + "invoke>", closed: true, ends: ends,
		before: "name=" + quote, after: quote + ">", values: inTags,
		tag: tag{open: "<" + prefix + "parameter name=" + quote, sep: quote, end: ">",
			close: "</" + prefix + "parameter>"},
	}
}

// m3 stands before the tags of MiniMax M3, and cdata before values of MiniCPM5.
const m3, cdata = "]<]minimax[>[", "<![CDATA["

// worded returns a format with another mark in its tags.
func worded(f format, mark, other string) format {
	for _, token := range []*string{&f.open, &f.end, &f.tag.open, &f.tag.sep, &f.tag.end, &f.tag.close} {
		*token = strings.ReplaceAll(strings.ReplaceAll(*token, mark, other), "<ifm|/", "</ifm|")
	}
	return f
}

// call reads what is in a frame, at s.pos. Along with an error it returns the ID and name of
// the call, or no call if the frame does not begin as a call.
func (s *scanner) call() ([]parser.ToolCall, error) {
	s.space()
	for _, token := range s.maybe {
		s.skip(token)
		s.space()
	}
	switch s.values {
	case inList:
		return s.listed()
	case inBrackets:
		return s.bracketed()
	}
	c, err := s.head()
	if err != nil {
		return nil, err
	}
	calls, err := s.given(c)
	if s.space(); err == nil && !s.skip(s.last) {
		err = fmt.Errorf("want %s after the arguments", s.last)
	}
	return calls, err
}

// head reads a call up to its arguments.
func (s *scanner) head() (c parser.ToolCall, err error) {
	s.space()
	if !s.skip(s.before) {
		return c, fmt.Errorf("want %sNAME", s.before)
	}
	if c, err = s.named(); err == nil && s.keep {
		s.pos -= len(s.after)
	}
	if at := s.find(s.attr); err == nil && s.attr != "" {
		s.pos, c.Name = min(at+len(s.attr), len(s.text)), html.UnescapeString(c.Name)
	}
	return c, err
}

// named reads the name of a call, its ID if the format has one there, and the token after it.
func (s *scanner) named() (c parser.ToolCall, err error) {
	if s.name != "" {
		return parser.ToolCall{Name: s.name}, nil
	}
	if s.rename == nil {
		c.Name, err = s.until(s.after)
		return c, err
	}
	before, _, ok := strings.Cut(s.text[s.pos:min(len(s.text), s.pos+2*maxName)], s.after)
	c.Name = strings.Trim(before, rawjson.Space)
	if s.rename(&c); !ok || !isName(c.Name) || !isName(c.ID) {
		return c, fmt.Errorf("want a name and %q after it", s.after)
	}
	s.pos += len(before) + len(s.after)
	return c, nil
}

// given reads the arguments of a call.
func (s *scanner) given(c parser.ToolCall) ([]parser.ToolCall, error) {
	switch s.values {
	case inTags:
		return s.tagged(c)
	case inBraces:
		return s.braced(c)
	}
	s.space()
	fenced := s.skip("```json") || s.skip("```")
	calls, err := s.arguments(c)
	if s.space(); err == nil && fenced && !s.skip("```") {
		err = errors.New("want ``` after the arguments")
	}
	return calls, err
}

// tagged reads arguments in tags.
func (s *scanner) tagged(c parser.ToolCall) ([]parser.ToolCall, error) {
	if c.Name == "" {
		return []parser.ToolCall{c}, errors.New("the call has no name")
	}
	if s.whole != "" && s.skip(s.whole) {
		v, err := s.json()
		if err == nil {
			c.Arguments, _, err = objectArguments(v)
		}
		s.skip("<|close|>json<|sep|>")
		return []parser.ToolCall{c}, err
	}
	var list []written
	for s.space(); !strings.HasPrefix(s.text[s.pos:], cmp.Or(s.end, s.open)) && s.skip(s.tag.open); s.space() {
		w, err := s.argument(c.Name, list)
		if err != nil {
			return []parser.ToolCall{c}, err
		}
		list = append(list, w)
	}
	c.Arguments, c.Err = s.object(c.Name, list)
	return []parser.ToolCall{c}, nil
}

// argument reads one argument after the beginning of its tag.
func (s *scanner) argument(name string, before []written) (w written, err error) {
	if w, err = s.key(); err != nil {
		return w, err
	}
	if shut := s.tag.close; strings.Contains(shut, "KEY") {
		s.tag.close = strings.Replace(shut, "KEY", w.key, 1)
		defer func() { s.tag.close = shut }()
	}
	if rest, ok := strings.CutPrefix(s.text[s.pos:], cdata); ok {
		end := "]]>" + s.tag.close
		if w.text, _, ok = strings.Cut(rest, end); !ok {
			return w, fmt.Errorf("the value has no %s", end)
		}
		s.pos += len(cdata) + len(w.text) + len(end)
		w.text = strings.ReplaceAll(w.text, "]]]]>"+cdata+">", "]]>")
		return w, nil
	}
	w.text, err = s.value(name, append(before, w))
	return w, err
}

// key reads the key of an argument, and what its tag says of it.
func (s *scanner) key() (w written, err error) {
	if w.key, err = s.until(s.tag.sep); err != nil {
		return w, err
	}
	attributes, _, ok := strings.Cut(s.text[s.pos:min(len(s.text), s.pos+maxName)], s.tag.end)
	kind, typed := strings.CutPrefix(attributes, "<ifm|arg_type>")
	if !ok || strings.ContainsAny(attributes, "<>") && !typed {
		return w, fmt.Errorf("want %s after %s", s.tag.end, w.key)
	}
	s.pos += len(attributes) + len(s.tag.end)
	w.key, w.nests = html.UnescapeString(w.key), s.tag.nests
	w.isText = strings.Contains(attributes, `string="true"`) || strings.Contains(attributes, `type="string"`) ||
		strings.HasPrefix(kind, "string<")
	w.isJSON = !w.isText && (typed || strings.Contains(attributes, `string="false"`) || strings.Contains(attributes, `type="`))
	return w, nil
}

// bracketed reads name(key="value"), or a list of such calls.
func (s *scanner) bracketed() (calls []parser.ToolCall, err error) {
	list := s.skip("[")
	for s.space(); s.peek() != 0 && s.peek() != ']' && !strings.HasPrefix(s.text[s.pos:], s.end); s.space() {
		c, end, err := parser.CallAt(s.text, s.pos)
		switch {
		case err != nil && len(calls) > 0: // those before are whole
			c.Err, s.pos = err, s.find(s.end)
			return append(calls, c), nil
		case err != nil && c.Name == "":
			return nil, err
		case err != nil:
			return []parser.ToolCall{c}, err
		}
		calls, s.pos = append(calls, c), end
		if !list && slices.Contains(s.maybe, "print(") {
			s.skip(")")
		}
		if s.space(); !s.skip(",") && !s.skip(";") && list {
			break
		}
	}
	switch {
	case len(calls) == 0:
		return nil, errors.New(`want name(key="value")`)
	case list && !s.skip("]"):
		return calls[:1], errors.New("want ] after the calls")
	}
	return calls, nil
}

// braced reads {key:value}, where the format's own quotes are around texts.
func (s *scanner) braced(c parser.ToolCall) ([]parser.ToolCall, error) {
	end := s.find(s.end)
	var plain strings.Builder
	for i, part := range strings.Split(s.text[s.pos:end], s.quote) {
		if i%2 == 0 {
			plain.WriteString(strings.ReplaceAll(part, "<nil>", "null"))
		} else {
			plain.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(part) + `"`)
		}
	}
	read, size, err := parser.CallAt(c.Name+plain.String(), 0)
	if err == nil && strings.TrimSpace((c.Name + plain.String())[size:]) != "" {
		err = fmt.Errorf("want %s after the arguments", s.end)
	}
	if c.Arguments = read.Arguments; err != nil {
		return []parser.ToolCall{c}, err
	}
	s.pos = end
	return []parser.ToolCall{c}, nil
}

// mistralName reads NAME[CALL_ID]ID[ARGS].
func mistralName(c *parser.ToolCall) {
	name, _, _ := strings.Cut(c.Name, "[ARGS]")
	name, id, _ := strings.Cut(name, "[CALL_ID]")
	c.Name, c.ID = strings.TrimSpace(name), strings.TrimSpace(id)
}

// kimiName reads functions.NAME:NUMBER, which is the ID.
func kimiName(c *parser.ToolCall) {
	c.ID, c.Name = c.Name, strings.TrimPrefix(c.Name, "functions.")
	if i := strings.LastIndexByte(c.Name, ':'); i >= 0 {
		c.Name = c.Name[:i]
	}
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
