package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// The wires of text: a format for the calls, and how the model is told the results.

// Hermes is the format of Hermes and of Qwen: JSON in tags.
var Hermes = &Wire{
	Name:   "hermes",
	Doc:    `<tool_call>{"name":"f","arguments":{}}</tool_call>`,
	marker: matcher(`<tool_call>\s*(?:\{|\[\s*\{)`),
	format: hermesCalls.always,
	text:   each("\n", response, qwenTokens...),
}

var qwenTokens = []string{"<tool_response>", "</tool_response>", "<|im_"}

// Qwen is the format of Qwen3-Coder: a tag for each argument.
var Qwen = &Wire{
	Name:   "qwen3-coder",
	Doc:    "<tool_call><function=f><parameter=k>v</parameter></function></tool_call>",
	marker: matcher(`<tool_call>\s*<function=|<function=[^<>{}\n]+>\s*(?:<parameter=|</function>)`),
	format: func(text string) format {
		before, _, _ := strings.Cut(text, qwenCalls.open)
		if strings.Contains(before, qwenBare.open) { // the model forgets it at times
			return qwenBare
		}
		return qwenCalls
	},
	text: each("\n", response, qwenTokens...),
}

func response(_ Answer, text string) string { return "<tool_response>\n" + text + "\n</tool_response>" }

// Seed is the format of Seed-OSS: Qwen's, with nothing around the values.
var Seed = &Wire{
	Name:   "seed-oss",
	family: Qwen,
	Doc:    "<seed:tool_call><function=f><parameter=k>v</parameter></function></seed:tool_call>",
	marker: matcher(`<seed:tool_call>\s*<function=`),
	format: seedCalls.always,
	text: each("", func(_ Answer, text string) string { return "<seed:bos>tool\n" + text + "<seed:eos>" },
		"<seed:bos>", "<seed:eos>"),
}

// GLM is the format of GLM-4.5: the name, then pairs of keys and values.
var GLM = &Wire{
	Name:   "glm",
	Doc:    "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
	marker: matcher(`<tool_call>\s*[\w.-]+\s*(?:<arg_key>|</tool_call>)`),
	format: glmCalls.always,
	text: func(answers []Answer) string {
		return "<|observation|>\n" + each("\n", response, glmTokens...)(answers)
	},
	later: glm47,
}

var glmTokens = []string{"<tool_response>", "</tool_response>", "<|observation|>", "<|user|>", "<|assistant|>", "<|system|>"}

// glm47 is the form of GLM-4.7 and GLM-5, which have no line breaks between the tags.
var glm47 = revision{matcher(`<tool_call>[\w.-]+(?:<arg_key>|</tool_call>)`), func(answers []Answer) string {
	return "<|observation|>" + each("", func(_ Answer, text string) string {
		return "<tool_response>" + text + "</tool_response>"
	}, glmTokens...)(answers)
}}

// Mistral is the format of Mistral's models up to version 7 of their tokenizer: a list of
// calls.
var Mistral = &Wire{
	Name:   "mistral",
	Doc:    `[TOOL_CALLS] [{"name":"f","arguments":{},"id":"123456789"}]`,
	marker: matcher(`\[TOOL_CALLS\]\s*\[`),
	format: mistralCalls.always,
	text: each("", func(a Answer, text string) string {
		content := escaped(text, mistralTokens)
		if a.Call.ID == "" { // as version 2 has it
			return fmt.Sprintf(`[TOOL_RESULTS] [{"name": %s, "content": %s}][/TOOL_RESULTS]`,
				escaped(a.Call.Name, mistralTokens), content)
		}
		return fmt.Sprintf(`[TOOL_RESULTS] {"content": %s, "call_id": %s}[/TOOL_RESULTS]`, content,
			escaped(a.Call.ID, mistralTokens))
	}),
}

var mistralTokens = []string{"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[TOOL_CALLS]",
	"[INST]", "</s>"}

// Mistral11 is the format of Mistral's models from version 11 of their tokenizer on: a
// name, an id in some, and arguments.
var Mistral11 = &Wire{
	Name:   "mistral-v11",
	family: Mistral,
	Doc:    `[TOOL_CALLS]f[ARGS]{}`,
	marker: matcher(`\[TOOL_CALLS\]\s*[\w.-]+\s*(?:\[ARGS\]|\[CALL_ID\]|\{)`),
	format: mistral11Calls.always,
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
	format: deepSeekCalls.always,
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
	format: deepSeek31.always,
	text:   each("", deepSeekOutput, "<｜"),
}

func deepSeekOutput(_ Answer, text string) string {
	return "<｜tool▁output▁begin｜>" + text + "<｜tool▁output▁end｜>"
}

// DSML is the format of DeepSeek from V3.2 on: tags that say of each value whether it is text.
var DSML = &Wire{
	Name:   "dsml",
	family: DeepSeek,
	Doc:    `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`,
	marker: matcher("(?:<｜\\w+｜(?:function|tool)_calls>\\s*)?<｜\\w+｜invoke "),
	format: func(text string) format { // GigaChat 3.5 has another word
		before, _, _ := strings.Cut(text, "｜invoke ")
		return invoked(before[max(strings.LastIndex(before, "｜"), 0):]+"｜", `"`)
	},
	later: dsml4,
	text: func(answers []Answer) string {
		return "<function_results>\n" +
			each("\n", func(_ Answer, text string) string { return "<result>" + text + "</result>" },
				"</result>", "</function_results>", "<｜")(answers) + "\n</function_results>"
	},
}

// dsml4 is the form of DeepSeek V4.
var dsml4 = revision{matcher("<｜DSML｜tool_calls>"), func(answers []Answer) string {
	return "<｜User｜>" + each("\n\n", func(_ Answer, text string) string { return "<tool_result>" + text + "</tool_result>" },
		"</tool_result>", "<｜")(answers)
}}

// Kimi is the format of Kimi K2. Its ids hold the name.
var Kimi = &Wire{
	Name:   "kimi",
	Doc:    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
	marker: matcher(`<\|tool_call_begin\|>`),
	format: kimiCalls.always,
	text: each("", func(a Answer, text string) string {
		return "<|im_system|>tool<|im_middle|>## Return of " + a.Call.ID + "\n" + text + "<|im_end|>"
	}, "<|im_", "<|tool_call"),
}

// Granite is the format of Granite 3 and Phi-4-mini: a list of calls after a token. Results are as Granite 3.3 has them.
var Granite = &Wire{
	Name:   "granite",
	Doc:    `<|tool_call|>[{"name":"f","arguments":{}}]`,
	marker: matcher(`<\|tool_call\|>`),
	format: graniteCalls.always,
	text: each("\n", func(_ Answer, text string) string {
		return "<|start_of_role|>tool<|end_of_role|>" + text + "<|end_of_text|>"
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
	}, llamaTokens...),
}

var llamaTokens = []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>",
	"<|python_tag|>"}

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
	if err != nil {
		return parser.Envelope{}, err
	}
	if strings.Contains(s.text[min(s.pos, len(s.text)):], other.open) {
		s.Calls = append(s.Calls,
			parser.ToolCall{Err: fmt.Errorf("%s stands after %s, where calls of one form are wanted, so it was not run", other.open, first.open)})
	}
	return s.Envelope, nil
}

// Functionary is the format of Functionary 3.2: the name on a line, then the arguments.
var Functionary = &Wire{
	Name:   "functionary",
	Doc:    ">>>f\n{}",
	marker: matcher(`>>>[\w.-]+\r?\n\s*\{|^all\r?\n[^>]*>>>[\w.-]+\r?\n\s*\{`),
	read: func(text string, tools Schemas) (parser.Envelope, error) {
		if functionaryName().MatchString(text) { // the prompt ends with >>>
			text = functionary.open + strings.TrimLeft(text, rawjson.Space)
		}
		text = functionaryText().ReplaceAllString(text, "$1")
		return functionary.read(text, tools)
	},
	text: each("", func(_ Answer, text string) string {
		return "<|start_header_id|>tool<|end_header_id|>\n\n" + text + "<|eot_id|>"
	}, llamaTokens...),
}

// functionaryName matches a name that begins a text, with the begin of its arguments.
var functionaryName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(all[ \t]*\r?\n|[\w.-]+[ \t]*\r?\n\s*\{)`)
})

// functionaryText matches what comes before a text for the user.
var functionaryText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^>>>all\r?\n.*?(>>>|$)`) })

// Invoke is the format of Anthropic's models in text, with the tags around the calls or
// without, and with any namespace.
var Invoke = &Wire{
	Name:   "invoke",
	Doc:    `<function_calls><invoke name="f"><parameter name="k">v</parameter></invoke></function_calls>`,
	marker: func(text string) int { at, _, _ := findInvoke(text); return at },
	format: invokedIn,
	text: func(answers []Answer) string {
		return "<function_results>\n" + each("\n", func(a Answer, text string) string {
			tag := "stdout"
			if a.Failed {
				tag = "error"
			}
			return fmt.Sprintf("<result>\n<tool_name>%s</tool_name>\n<%s>\n%s\n</%s>\n</result>", a.Call.Name,
				tag, text, tag)
		}, "</stdout>", "</error>", "</result>", "</function_results>")(answers) + "\n</function_results>"
	},
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
	f := invoked(prefix, quote)
	// around tags without a namespace
	for _, w := range []string{"minimax:tool_call", "function_calls", "tool_calls"} {
		f.ends = append(f.ends, "<"+w+">", "</"+w+">")
	}
	return f
}

// MiniMax is the format of MiniMax M2: invoke tags in one of its own.
var MiniMax = &Wire{
	Name:   "minimax",
	family: Invoke,
	Doc:    `<minimax:tool_call><invoke name="f"><parameter name="k">v</parameter></invoke></minimax:tool_call>`,
	marker: matcher(`<minimax:tool_call>\s*<invoke `),
	format: invokedIn,
	text: each("\n", func(_ Answer, text string) string { return "<response>" + text + "</response>" },
		"</response>", "[e~[", "]~b]"),
}

// simple returns a wire whose results are between two tokens, one after the other. In before, NAME is
// for the name of the tool.
func simple(name, doc, marker string, calls format, before, after string) *Wire {
	tokens := []string{calls.open, strings.TrimSpace(before)}
	for _, token := range strings.SplitAfter(before+strings.TrimSpace(after), ">") {
		if at := strings.IndexByte(token, '<'); at >= 0 {
			token = token[at:]
		}
		tokens = append(tokens, strings.TrimSpace(token))
	}
	tokens = slices.DeleteFunc(tokens, func(token string) bool { return token == "" })
	return &Wire{
		Name: name, Doc: doc, marker: matcher(marker), format: calls.always,
		text: each("\n", func(a Answer, text string) string {
			return strings.Replace(before, "NAME", a.Call.Name, 1) + text + after
		}, tokens...),
	}
}

var commandTokens = []string{"<|START_", "<|END_"}

// Further wires of text, by the models that use them first.
var (
	Nemotron = simple("nemotron", `<TOOLCALL>[{"name":"f","arguments":{}}]</TOOLCALL>`, `<TOOLCALL>\s*[\[{]`,
		nemotronCalls, "<TOOL_RESPONSE>", "</TOOL_RESPONSE>")
	Jamba = simple("jamba", `<tool_calls>[{"name":"f","arguments":{}}]</tool_calls>`,
		`<tool_calls>\s*[\[{]`, jambaCalls, "<tool_response>", "</tool_response>")
	InternLM = simple("internlm", `<|action_start|><|plugin|>{"name":"f","parameters":{}}<|action_end|>`,
		`<\|action_start\|>`, internCalls, "<|im_start|>environment name=<|plugin|>\n", "<|im_end|>")
	CommandR = &Wire{
		Name:   "command-r",
		Doc:    `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"f","parameters":{}}]<|END_ACTION|>`,
		marker: matcher(`<\|START_ACTION\|>`), format: commandCalls.always,
		text: func(answers []Answer) string {
			i := 0 // of a call without an ID, as the template counts them
			return "<|START_TOOL_RESULT|>[\n" + each(",\n", func(a Answer, text string) string {
				id := cmp.Or(a.Call.ID, strconv.Itoa(i))
				i++
				return fmt.Sprintf("    {\n        \"tool_call_id\": %s,\n        \"results\": {\n            \"0\": %s\n        },\n        \"is_error\": null\n    }",
					escaped(id, commandTokens), escaped(text, commandTokens))
			})(answers) + "\n]<|END_TOOL_RESULT|>"
		},
	}
	Phi = simple("functools", `functools[{"name":"f","arguments":{}}]`, `(?m)^\s*functools\s*\[\s*\{`,
		functoolsCalls, "<|tool_response|>", "<|end|>")
	LFM2 = simple("lfm2", `<|tool_call_start|>[f(k="v")]<|tool_call_end|>`, `<\|tool_call_start\|>\s*\[?\s*\w`,
		lfmCalls, "<|tool_response_start|>", "<|tool_response_end|>")
	Gemma = simple("gemma", `<|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|>`, `<\|tool_call>call:`,
		gemmaCalls, `<|tool_response>response:NAME{value:<|"|>`, `<|"|>}<tool_response|>`)
	FuncGem = simple("functiongemma", `<start_function_call>call:f{k:<escape>v<escape>}<end_function_call>`,
		`<start_function_call>call:`, functionGemma, "<start_function_response>response:NAME{value:<escape>", "<escape>}<end_function_response>")
	ToolCode = simple("tool-code", "```tool_code\nf(k=\"v\")\n```", "```tool_code\\s", toolCode,
		"```tool_output\n", "\n```")
)

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
	{family: DeepSeek, marker: matcher(`<\|tool▁call▁begin\|>`), read: readPlainBars},
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
		read: func(text string, _ Schemas) (parser.Envelope, error) {
			var e parser.Envelope
			for pos := 0; len(e.Calls) < maxCalls; {
				m := compiled().FindStringSubmatchIndex(text[pos:])
				if m == nil {
					break
				}
				c := parser.ToolCall{Name: text[pos+m[2] : pos+m[3]]}
				at := len(text) - len(strings.TrimLeft(text[pos+m[1]:], rawjson.Space))
				v, end, err := rawjson.DecodeAt(text, at)
				if err == nil {
					c.Arguments, _, err = objectArguments(v)
				}
				c.Err, pos = err, end
				if e.Calls = append(e.Calls, c); err != nil {
					break
				}
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

// readPlainBars reads DeepSeek's tokens with bars of ASCII.
func readPlainBars(text string, tools Schemas) (parser.Envelope, error) {
	text = plainBars().ReplaceAllString(text, "<｜$1｜>")
	if strings.Contains(text, deepSeekCalls.open+deepSeekCalls.before) {
		return deepSeekCalls.read(text, tools)
	}
	return deepSeek31.read(text, tools)
}

var plainBars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<\|(tool▁[a-z▁]+)\|>`) })
