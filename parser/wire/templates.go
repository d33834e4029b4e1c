package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// inText returns a wire of text: a pattern of what calls begin with, the format that reads them, and how the
// results are written.
func inText(name, doc, marker string, format func(text string) format, text func([]Answer) string) *Wire {
	return &Wire{Name: name, Doc: doc, marker: matcher(marker), format: format, text: text}
}

// of makes the wire one of a family, which may have a later form.
func (w *Wire) of(family *Wire, later revision) *Wire {
	w.family, w.later = family, later
	return w
}

const response = "<tool_response>\nTEXT\n</tool_response>"

var (
	qwenTokens    = []string{"<tool_response>", "</tool_response>", "<|im_"}
	glmTokens     = []string{"<tool_response>", "</tool_response>", "<|observation|>", "<|user|>", "<|assistant|>", "<|system|>"}
	mistralTokens = []string{"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[TOOL_CALLS]", "[INST]", "</s>"}
	llamaTokens   = []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"}
	commandTokens = []string{"<|START_", "<|END_"}
	deepSeekEach  = "<｜tool▁output▁begin｜>TEXT<｜tool▁output▁end｜>"
)

// The wires of text, by the models that use them first.
var (
	// JSON in tags
	Hermes = inText("hermes", `<tool_call>{"name":"f","arguments":{}}</tool_call>`, `<tool_call>\s*(?:\{|\[\s*\{)`,
		hermesCalls.always, each("\n", response, qwenTokens...))
	// a tag for each argument
	Qwen = inText("qwen3-coder", "<tool_call><function=f><parameter=k>v</parameter></function></tool_call>",
		`<tool_call>\s*<function=|<function=[^<>{}\n]+>\s*(?:<parameter=|</function>)`,
		func(text string) format {
			before, _, _ := strings.Cut(text, qwenCalls.open)
			if strings.Contains(before, qwenBare.open) { // the model forgets it at times
				return qwenBare
			}
			return qwenCalls
		}, each("\n", response, qwenTokens...))
	// Qwen's, with nothing around the values
	Seed = inText("seed-oss", "<seed:tool_call><function=f><parameter=k>v</parameter></function></seed:tool_call>",
		`<seed:tool_call>\s*<function=`, seedCalls.always,
		each("", "<seed:bos>tool\nTEXT<seed:eos>", "<seed:bos>", "<seed:eos>")).of(Qwen, revision{})
	// GLM-4.5: the name, then pairs of keys and values; GLM-4.7 and GLM-5 have no line breaks between the tags
	GLM = inText("glm", "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
		`<tool_call>\s*[\w.-]+\s*(?:<arg_key>|</tool_call>)`, glmCalls.always,
		within("<|observation|>\n", each("\n", response, glmTokens...), "")).of(nil,
		revision{matcher(`<tool_call>[\w.-]+(?:<arg_key>|</tool_call>)`),
			within("<|observation|>", each("", "<tool_response>TEXT</tool_response>", glmTokens...), "")})
	// Mistral's models up to version 7 of their tokenizer: a list of calls
	Mistral = inText("mistral", `[TOOL_CALLS] [{"name":"f","arguments":{},"id":"123456789"}]`, `\[TOOL_CALLS\]\s*\[`,
		mistralCalls.always, func(answers []Answer) (text string) {
			for _, a := range answers {
				content, name := escaped(a.shown(), mistralTokens), escaped(a.Call.Name, mistralTokens)
				if a.Call.ID == "" { // as version 2 has it
					text += `[TOOL_RESULTS] [{"name": ` + name + `, "content": ` + content + `}][/TOOL_RESULTS]`
				} else {
					text += `[TOOL_RESULTS] {"content": ` + content + `, "call_id": ` + escaped(a.Call.ID, mistralTokens) + `}[/TOOL_RESULTS]`
				}
			}
			return text
		})
	// from version 11 on: a name, an id in some, and arguments
	Mistral11 = inText("mistral-v11", `[TOOL_CALLS]f[ARGS]{}`, `\[TOOL_CALLS\]\s*[\w.-]+\s*(?:\[ARGS\]|\[CALL_ID\]|\{)`,
		mistral11Calls.always, func(answers []Answer) (text string) {
			for _, a := range answers {
				form := "[TOOL_RESULTS]ID[TOOL_CONTENT]TEXT[/TOOL_RESULTS]"
				if a.Call.ID == "" {
					form = "[TOOL_RESULTS]TEXT[/TOOL_RESULTS]"
				}
				text += each("", form, mistralTokens...)([]Answer{a})
			}
			return text
		}).of(Mistral, revision{})
	// DeepSeek V3 and R1: arguments in a code fence
	DeepSeek = inText("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\\n```json\\n{}\\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", deepSeekCalls.always,
		within("<｜tool▁outputs▁begin｜>", each("\n", deepSeekEach, "<｜"), "<｜tool▁outputs▁end｜>"))
	DeepSeek31 = inText("deepseek-v3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"<｜tool▁call▁begin｜>", deepSeek31.always, each("", deepSeekEach, "<｜")).of(DeepSeek, revision{})
	// DeepSeek from V3.2 on, with tags that say of each value whether it is text; V4 has other results
	DSML = inText("dsml", `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`,
		"(?:<｜\\w+｜(?:function|tool)_calls>\\s*)?<｜\\w+｜invoke ",
		func(text string) format { // GigaChat 3.5 has another word
			before, _, _ := strings.Cut(text, "｜invoke ")
			return invoked(before[max(strings.LastIndex(before, "｜"), 0):]+"｜", `"`)
		},
		within("<function_results>\n", each("\n", "<result>TEXT</result>", "</result>", "</function_results>", "<｜"),
			"\n</function_results>")).of(DeepSeek,
		revision{matcher("<｜DSML｜tool_calls>"),
			within("<｜User｜>", each("\n\n", "<tool_result>TEXT</tool_result>", "</tool_result>", "<｜"), "")})
	// Kimi K2, whose ids hold the name
	Kimi = inText("kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
		`<\|tool_call_begin\|>`, kimiCalls.always,
		each("", "<|im_system|>tool<|im_middle|>## Return of ID\nTEXT<|im_end|>", "<|im_", "<|tool_call"))
	// Granite 3 and Phi-4-mini: a list of calls after a token; results are as Granite 3.3 has them
	Granite = inText("granite", `<|tool_call|>[{"name":"f","arguments":{}}]`, `<\|tool_call\|>`, graniteCalls.always,
		each("\n", "<|start_of_role|>tool<|end_of_role|>TEXT<|end_of_text|>",
			"<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>"))
	// Anthropic's models in text, with tags around the calls or without, and with any namespace
	Invoke = &Wire{Name: "invoke", Doc: `<function_calls><invoke name="f"><parameter name="k">v</parameter></invoke></function_calls>`,
		marker: func(text string) int { at, _, _ := findInvoke(text); return at }, format: invokedIn,
		text: within("<function_results>\n",
			each("\n", "<result>\n<tool_name>NAME</tool_name>\n<STREAM>\nTEXT\n</STREAM>\n</result>",
				"</stdout>", "</error>", "</result>", "</function_results>"), "\n</function_results>")}
	// invoke tags in one of MiniMax M2's own
	MiniMax = inText("minimax", `<minimax:tool_call><invoke name="f"><parameter name="k">v</parameter></invoke></minimax:tool_call>`,
		`<minimax:tool_call>\s*<invoke `, invokedIn,
		each("\n", "<response>TEXT</response>", "</response>", "[e~[", "]~b]")).of(Invoke, revision{})
	Nemotron = inText("nemotron", `<TOOLCALL>[{"name":"f","arguments":{}}]</TOOLCALL>`, `<TOOLCALL>\s*[\[{]`,
		nemotronCalls.always, each("\n", "<TOOL_RESPONSE>TEXT</TOOL_RESPONSE>",
			"<TOOLCALL>", "<TOOL_RESPONSE>", "</TOOL_RESPONSE>"))
	Jamba = inText("jamba", `<tool_calls>[{"name":"f","arguments":{}}]</tool_calls>`, `<tool_calls>\s*[\[{]`,
		jambaCalls.always, each("\n", "<tool_response>TEXT</tool_response>",
			"<tool_calls>", "<tool_response>", "</tool_response>"))
	InternLM = inText("internlm", `<|action_start|><|plugin|>{"name":"f","parameters":{}}<|action_end|>`, `<\|action_start\|>`,
		internCalls.always, each("\n", "<|im_start|>environment name=<|plugin|>\nTEXT<|im_end|>",
			"<|action_start|>", "<|im_start|>", "<|plugin|>", "<|im_end|>"))
	CommandR = inText("command-r", `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"f","parameters":{}}]<|END_ACTION|>`,
		`<\|START_ACTION\|>`, commandCalls.always,
		within("<|START_TOOL_RESULT|>[\n", func(answers []Answer) string {
			list := make([]string, len(answers))
			for i, a := range answers {
				id := cmp.Or(a.Call.ID, strconv.Itoa(i)) // as the template counts them
				list[i] = fmt.Sprintf("    {\n        \"tool_call_id\": %s,\n        \"results\": {\n            \"0\": %s\n        },\n        \"is_error\": null\n    }",
					escaped(id, commandTokens), escaped(a.shown(), commandTokens))
			}
			return strings.Join(list, ",\n")
		}, "\n]<|END_TOOL_RESULT|>"))
	Phi = inText("functools", `functools[{"name":"f","arguments":{}}]`, `(?m)^\s*functools\s*\[\s*\{`,
		functoolsCalls.always, each("\n", "<|tool_response|>TEXT<|end|>", "functools", "<|tool_response|>", "<|end|>"))
	LFM2 = inText("lfm2", `<|tool_call_start|>[f(k="v")]<|tool_call_end|>`, `<\|tool_call_start\|>\s*\[?\s*\w`,
		lfmCalls.always, each("\n", "<|tool_response_start|>TEXT<|tool_response_end|>",
			"<|tool_call_start|>", "<|tool_response_start|>", "<|tool_response_end|>"))
	Gemma = inText("gemma", `<|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|>`, `<\|tool_call>call:`,
		gemmaCalls.always, each("\n", `<|tool_response>response:NAME{value:<|"|>TEXT<|"|>}<tool_response|>`,
			"<|tool_call>call:", "<|tool_response>", `<|"|>`, "<tool_response|>"))
	FuncGem = inText("functiongemma", `<start_function_call>call:f{k:<escape>v<escape>}<end_function_call>`,
		`<start_function_call>call:`, functionGemma.always,
		each("\n", "<start_function_response>response:NAME{value:<escape>TEXT<escape>}<end_function_response>",
			"<start_function_call>call:", "<start_function_response>", "<escape>", "<end_function_response>"))
	ToolCode = inText("tool-code", "```tool_code\nf(k=\"v\")\n```", "```tool_code\\s", toolCode.always,
		each("\n", "```tool_output\nTEXT\n```", "```tool_code", "```tool_output", "```"))
	// Llama 3: JSON after a token, or in a tag with the name
	Llama = &Wire{Name: "llama", Doc: `<|python_tag|>{"name":"f","parameters":{}} or <function=f>{}</function>`,
		marker: matcher(`<\|python_tag\|>|<function=[^<>{}\n]+>\s*\{`), read: readLlama,
		text: each("", "<|start_header_id|>ipython<|end_header_id|>\n\nTEXT<|eot_id|>", llamaTokens...)}
	// Functionary 3.2: the name on a line, then the arguments
	Functionary = &Wire{Name: "functionary", Doc: ">>>f\n{}",
		marker: matcher(`>>>[\w.-]+\r?\n\s*\{|^all\r?\n[^>]*>>>[\w.-]+\r?\n\s*\{`), read: toRecipients(functionary),
		text: each("", "<|start_header_id|>tool<|end_header_id|>\n\nTEXT<|eot_id|>", llamaTokens...)}
)

// readLlama reads the calls of the form that comes first; one of the other form after
// them is an error. Some models leave out the token before an object.
func readLlama(text string, tools Schemas) (parser.Envelope, error) {
	if bare := strings.TrimLeft(text, rawjson.Space); strings.HasPrefix(bare, "{") ||
		strings.HasPrefix(bare, "[") {
		text = llamaObjects.open + text
	}
	first, other := llamaObjects, llamaTagged
	if tag := strings.Index(text, other.open); tag >= 0 && !strings.Contains(text[:tag], first.open) {
		first, other = other, first
	}
	s, err := first.scan(text, tools)
	if err == nil && strings.Contains(s.text[min(s.pos, len(s.text)):], other.open) {
		s.Calls = append(s.Calls,
			parser.ToolCall{Err: fmt.Errorf("%s stands after %s, where calls of one form are wanted, so it was not run", other.open, first.open)})
	}
	return s.Envelope, err
}

// toRecipients returns the reader of a format whose messages name who gets them: a tool, or "all" for the
// user. The prompt ends with the first token.
func toRecipients(f format) func(text string, tools Schemas) (parser.Envelope, error) {
	after := strings.ReplaceAll(regexp.QuoteMeta(f.after), "\n", `[ \t]*\r?\n`)
	compiled := sync.OnceValues(func() (first, said *regexp.Regexp) {
		return regexp.MustCompile(`^\s*(all` + after + `|[\w.-]+` + after + `\s*\{)`),
			regexp.MustCompile(`(?s)^` + regexp.QuoteMeta(f.open+"all") + after + `.*?(` + regexp.QuoteMeta(f.open) + `|$)`)
	})
	return func(text string, tools Schemas) (parser.Envelope, error) {
		first, said := compiled()
		if first.MatchString(text) {
			text = f.open + strings.TrimLeft(text, rawjson.Space)
		}
		return f.read(said.ReplaceAllString(text, "$1"), tools)
	}
}

var invokeTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?: ?to=[\w.-]+<\|message\|>\s*)?(?:<(?:[\w-]+:)?(?:function_calls|tool_calls?)>\s*)?<((?:[\w-]+:)?)invoke name=(["'])[^"'<>\n]+["']>\s*</?(?:[\w-]+:)?(?:parameter|invoke)`)
})

// findInvoke returns where the first invoke tag is, -1 for none, the namespace of the tag with
// its colon, and the quote of its attributes.
func findInvoke(text string) (at int, prefix, quote string) {
	m := invokeTag().FindStringSubmatchIndex(text)
	if m == nil {
		return -1, "", `"`
	}
	return m[0], text[m[2]:m[3]], text[m[4]:m[5]]
}

// invokedIn returns the format of the invoke tags of a text.
func invokedIn(text string) format {
	_, prefix, quote := findInvoke(text)
	return invoked(prefix, quote)
}

// kin are further spellings, which are read but have no name of their own: the results are
// written as the family writes them.
var kin = []*Wire{
	inTokens("<|tool_call_start|>", "<|tool_call_end|>"), // openPangu
	inTokens("<ifm|tool_call>", "</ifm|tool_call>"),      // K2 Horizon
	{family: GLM, marker: matcher(`(?:<ifm\|tool_calls>\s*)?<ifm\|tool_call>\s*[\w.-]+\s*<`), format: horizonCalls.always},
	{family: GLM, marker: matcher(`(?:<tool_calls:\w+>\s*)?<tool_call:\w+>\s*[\w.-]`), format: hunyuan},
	{family: GLM, marker: matcher(`<tool_call>\s*[\w.-]+\s*\{`), format: lagunaCalls.always},
	{family: GLM, marker: matcher(`<\|tool_call:start\|>`), format: solarCalls.always},
	{family: Invoke, marker: matcher(`<function name="[^"<>\n]+">\s*<`), format: miniCPM.always},
	{family: MiniMax, marker: matcher(`(?:\]<\]minimax\[>\[<tool_call>\s*)?\]<\]minimax\[>\[<invoke `), format: miniMax3.always},
	{family: Kimi, marker: matcher(`(?:<\|open\|>tools<\|sep\|>)?<\|open\|>call tool="`), format: kimi3.always},
	// Functionary 2, and 2 with Llama 3's tokens
	{family: Functionary, marker: matcher(`<\|recipient\|>[\w.-]+\r?\n<\|content\|>\s*\{|^[\w.-]+\r?\n<\|content\|>`),
		read: toRecipients(functionary2), text: each("\n", "<|from|>NAME\n<|recipient|>all\n<|content|>TEXT",
			"<|from|>", "<|recipient|>", "<|content|>", "<|stop|>")},
	{family: Functionary, marker: matcher(`<\|reserved_special_token_249\|>[\w.-]+\s*\{`), format: functionaryLlama.always},
	{family: Hermes, marker: matcher(`<\|tools_prefix\|>`), format: apertusCalls.always},
	{family: Hermes, marker: matcher(`<\|function_call\|>\s*\{`), format: giga31Calls.always},
	inFront(Kimi, `functions\.([\w.-]+):\d+\s*`),     // whose tokens were taken out
	inTokens("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"), // LM Studio
	inTokens("[TOOL_CALL]", "[/TOOL_CALL]"),          // MiniMax in LM Studio
	inTokens("<function_call>", "</function_call>"),
	inTokens("<functioncall>", "</functioncall>"), // Glaive
	inTokens("<longcat_tool_call>", "</longcat_tool_call>"),
	{family: Hermes, marker: matcher(`function call<\|role_sep\|>`), format: gigaChat.always},
	{family: LFM2, marker: matcher(`<\|python_start\|>`), format: pythonStart.always}, // Llama 4
	{family: LFM2, marker: matcher(`<function_calls>\s*[\w.-]+\(`), format: olmoCalls.always},
	{family: DeepSeek, marker: matcher(`<\|tool▁call▁begin\|>function<\|tool▁sep\|>`), format: plainBars(deepSeekCalls)},
	{family: DeepSeek, marker: matcher(`<\|tool▁call▁begin\|>`), format: plainBars(deepSeek31)},
	inFront(Hermes, "<tool_call>\\s*([\\w.-]+)\\s*```json"), // Hunyuan
	inFront(Hermes, `<tool_use>\s*<name>([\w.-]+)</name>\s*<arguments>`),
	inFront(Hermes, `(?m)^\[([\w.-]+)\]\s*\n`),                                // LM Studio
	inFront(Harmony, `commentary to=functions\.([\w.-]+) *(?:json|code)?\s*`), // whose tokens were taken out
}

// inTokens returns the spelling of objects with a name and arguments between two tokens.
func inTokens(open, end string) *Wire {
	return &Wire{family: Hermes, marker: matcher(regexp.QuoteMeta(open) + `\s*[\[{]`),
		format: format{open: open, end: end, ends: chatML}.always}
}

// inFront returns the spelling of objects of arguments that stand behind a pattern with the name.
func inFront(family *Wire, pattern string) *Wire {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return &Wire{family: family, marker: matcher(pattern + `\s*\{`),
		read: func(text string, tools Schemas) (e parser.Envelope, _ error) {
			passed := &stretches{text: text, endless: map[string]bool{}}
			var m []int
			find := func(from int) int {
				if m = compiled().FindStringSubmatchIndex(text[from:]); m == nil {
					return len(text)
				}
				for i := range m {
					m[i] += from
				}
				return m[0]
			}
			for pos := 0; len(e.Calls) < maxCalls; {
				at, thought := passed.opening(pos, format{}, tools, find)
				if thought > 0 {
					return e, errThought(thought)
				}
				if at == len(text) {
					break
				}
				c := parser.ToolCall{Name: text[m[2]:m[3]]}
				v, end, err := rawjson.DecodeAt(text, len(text)-len(strings.TrimLeft(text[m[1]:], rawjson.Space)))
				if err == nil {
					c.Arguments, _, err = objectArguments(v)
				}
				c.Err, pos = err, end
				if e.Calls = append(e.Calls, c); err != nil {
					break
				}
			}
			if e.Calls == nil {
				return e, parser.NoCalls("a call begins with "+pattern, nil)
			}
			return e, nil
		}}
}

// hunyuan returns GLM's tags with the word of the vocabulary that the text has in each.
func hunyuan(text string) format {
	_, word, _ := strings.Cut(text, "<tool_call:")
	word, _, _ = strings.Cut(word, ">")
	return worded(hunyuanCalls, "WORD", word)
}

// plainBars returns DeepSeek's tokens with bars of ASCII.
func plainBars(f format) func(string) format {
	f.ends = []string{"<|tool▁calls▁end|>", "<|end▁of▁sentence|>"}
	f.before, f.after = strings.ReplaceAll(f.before, "｜", "|"), strings.ReplaceAll(f.after, "｜", "|")
	return worded(f, "｜", "|").always
}
