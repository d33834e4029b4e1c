package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Class says what helps against a failure.
type Class string

// The classes of failures.
const (
	Overflow  Class = "overflow"   // a shorter conversation
	RateLimit Class = "rate limit" // a wait
	Quota     Class = "quota"      // nothing here: money, or another plan
	// another answer of the model, which wrote a call that its endpoint could not read
	Malformed Class = "malformed"
	Refused   Class = "refused" // another request: see Parameter of [Error]
	Login     Class = "login"   // another key
	Server    Class = "server"  // a wait, perhaps
)

// throttled are the words of a [RateLimit] that are believed beside any status.
const throttled Class = "throttled"

// Rules of endpoints, which an [Error] has as its Parameter beside the names of parameters.
const (
	ToolsStay   = "tools stay"   // a conversation with calls needs the tools, also where none may be called
	RolesTurn   = "roles turn"   // user and assistant take turns, and no user message follows a result
	NoSystem    = "no system"    // there is no system role
	ShortIDs    = "short ids"    // ids of calls are nine letters or digits
	NoThoughts  = "no thoughts"  // what a model thought is not sent back
	NoTools     = "no tools"     // the model has no tools: they are described in words
	NoChoice    = "tool_choice"  // nothing says that a tool must be called
	OpenAPI     = "open api"     // schemas follow OpenAPI
	NoStream    = "stream"       // the answer comes whole
	NoBlank     = "no blank"     // a message with calls and no text has no content
	OneKind     = "one kind"     // a message has a text or calls, not both
	KeepThought = "keep thought" // each message of the model has its reasoning, even if that is empty
	Signed      = "signed"       // a call that the model did not sign has a mark in place of the signature
	RefusedTool = "refused tool" // followed by a blank and the name of a tool, or # and its index
)

// A sign is how an endpoint words a failure.
type sign struct {
	class  Class
	rule   string // for [Refused]
	words  string // a regular expression without regard to case
	source string // whose words they are
}

// signs are tried in their order. The words of an endpoint are its message, its code and what
// it repeats of another endpoint's, one per line.
var signs = []sign{
	{Quota, "", `insufficient_quota|billing_(hard_limit|not_active)|hard limit has been reached`, "OpenAI"},
	{Quota, "", `credit balance is too low`, "Anthropic"},
	{Quota, "", `\blimit: 0\b`, "Google: the plan has no such model"},
	{Quota, "", `insufficient (balance|credit|fund)|requires more credits|out of credits|add credits|payment required|account (is )?(not active|deactivated|suspended|in arrears)|arrearage`, "DeepSeek, OpenRouter, Alibaba"},
	{Quota, "", `exceeded_current_quota|quotaId \S*PerDay|premium request allowance|account [^.\n]{0,80}is (suspended|not active)`, "Moonshot, Google, Copilot"},
	{Quota, "", `(monthly|weekly|spend(ing)?) (usage |spend )?limit (has been |was )?(reached|exceeded)|reached your (monthly|specified) `, "Anthropic, gateways"},

	{Refused, ShortIDs, `(tool.?calls?\S*\.id|tool.?use\.id|call_id)[^\n]*(too long|match pattern|maximum length)|toolUseId`, "OpenAI, Anthropic, Bedrock"},

	{Malformed, "", `tool_use_failed|failed to call a function|tool call validation failed|tool choice is (required|none), but model|failed_generation`, "Groq"},
	{Malformed, "", `malformed_function_call|unexpected_tool_call`, "Google"},
	{Malformed, "", `failed to generate (a )?(valid )?(tool|function)|produced output that does not match the expected|XML syntax error on line`, "Cerebras, llama.cpp, Ollama"},
	{Malformed, "", `(error|failed) (parsing|to parse) (the )?(tool|function)[ _]call|failed to parse (input|model output) at pos|output_parse_failed|could not parse (the )?tool call`, "Ollama, llama.cpp, Groq"},

	{Overflow, "", `context_length_exceeded|string_above_max_length|model_max_prompt_tokens_exceeded|exceed_context_size|context_window_exceeded|ContextWindowExceeded`, "codes of OpenAI, Copilot, llama.cpp, LiteLLM"},
	{Overflow, "", `request too large for .*(limit:? ?\d+, requested|tokens per min)`,
		"OpenAI, Groq: more than a minute allows at all"},
	{throttled, "", `throttl(ing|ed)|too many tokens, please wait|rate exceeded`,
		"Bedrock, whatever the status"},
	{RateLimit, "", `rate.?limit|tokens? per (min|hour|day)|requests? per (min|hour|day|sec)|\b[TR]PM\b|too many requests|too many tokens, please wait|resource_exhausted|throttl|quota exceeded|exceeded your current quota|concurren(cy|t)`, "all"},
	{Overflow, "", `maximum context length|max(imum)? context (length|size|window)|context.?(length|window|size|limit) (of|is|only|exceeded|overflow)|exceeds? (the |this |your |its )?(model'?s? |available |max(imum)? |configured )*(context|input|prompt|token)`, "OpenAI, vLLM, SGLang, OpenRouter, llama.cpp"},
	{Overflow, "", `(prompt|input|request|conversation|messages?)( \(.{0,40}\))? (is|are) (too (long|large)|longer than)|prompt too long|too (long|large) for (requested )?model`, "Anthropic, Bedrock, Fireworks, Ollama, Mistral"},
	{Overflow, "", `(input|prompt) (token )?(count|length|tokens)[^.\n]{0,40}(exceed|longer|supports only|only supports|should be|larger than)`, "Google, Alibaba, Databricks, Poolside"},
	{Overflow, "", `exceeds? (the )?(context|max(imum)?) (limit|length|number of (input )?tokens)|context (window )?exceeds|exceeded max context|context the overflows|length of only|exceed context (window|limit)|exceeded (this )?model (context|token)`, "Anthropic, Z.ai, MiniMax, LM Studio, Moonshot, Cloudflare"},
	{Overflow, "", `inputs?.{0,3} (tokens? \+|must have less than)|longer than the maximum model length|maximum prompt length|max(imum)? (input|prompt) (length|tokens?|characters)|allowed input length`, "TGI, vLLM, xAI"},
	{Overflow, "", `reduce the length of the (messages|input|prompt)|(prompt|total number of) tokens.{0,40}cannot exceed|must be less than max_(seq_len|model_len)|tokens in request more than max|input length should be|(prompt|input) tokens? too long|size limit exceeded`, "Cerebras, Cohere, SiliconFlow, Baidu"},
	{Overflow, "", `tokens? to keep from the initial prompt|exceed max message tokens|prompt 超长|prompt length \d+ is greater|request body too large|tokens_limit_reached|max tokens of \d+ exceeded|(sequence|prompt|input) length \d+ is (larger|greater|longer)|(messages|prompt|input) is too long, should be`, "LM Studio, Ark, Zhipu, TabbyAPI, GitHub, Snowflake, SambaNova, Baidu"},
	{Overflow, "", `token (count|limit).{0,40}exceeds the limit|exceeds the limit of \d+|configured limit of \d+ tokens|request_too_large|payload too large|request entity too large`, "Copilot, OpenAI, Anthropic"},

	{Refused, ToolsStay, `toolconfig field must be defined|must define tools|without .?tools=.? param|tools (param|field|must be).{0,30}(defined|specified|provided)|tools are required`, "Bedrock, Anthropic, LiteLLM"},
	{Refused, RolesTurn, `unexpected role '?"?(user|assistant)'?"? after role|roles must alternate|expected last role|must alternate between|consecutive (user|assistant) (messages|turns)|alternate user/assistant|should (be|come) immediately after`, "Mistral, Gemma's and Llama's templates"},
	{Refused, NoSystem, `system (role|message|prompt)s? (is|are) ?n.t (supported|allowed)|system (role|message|prompt)s? (is |are )?not (supported|allowed|enabled)|unexpected role '?"?system|developer instruction is not enabled|only (user|user, assistant).{0,30}roles? (is|are) (supported|allowed)|(unsupported|invalid) role:? '?"?system|role\S* ('?"?system'?"? is not|does not support '?"?system)`, "Gemma, Google"},
	{Refused, ShortIDs, `tool call id was .* but must be|id.{0,40}must be a-z, A-Z, 0-9`, "Mistral"},
	{Refused, NoStream, `verified to stream|in streaming mode|stream(ing)?\S* (is |are )?(not|n.t) (supported|allowed|available)|.stream. does not support|(does not|doesn.t) support (streaming|response streaming)`, "OpenAI, Bedrock"},
	{Refused, NoBlank, `text content blocks must (be non-empty|contain non-whitespace)|text field in the ContentBlock .{0,60}is blank|content (must|cannot|should) (not )?be (non-)?empty`, "Anthropic, Bedrock"},
	{Refused, OneKind, `either content or tool.?calls,? (but )?not both`, "Mistral's templates"},
	{Refused, KeepThought, `reasoning_content.{0,40} must be passed back|missing .?reasoning_content|must include .?reasoning_content`, "DeepSeek, LiteLLM"},
	{Refused, Signed, `missing a .?thought.?signature`, "Google"},
	{Refused, NoThoughts, `invalid .?signature.? in .?thinking|signature.{0,20}(is not valid|invalid|verification)|expected .?thinking.? or .?redacted_thinking|thinking.? (or .?redacted_thinking.? )?blocks.{0,60}cannot be modified|invalid_encrypted_content|encrypted content.{0,60}(could not|cannot|failed)|thought.?signature`, "Anthropic, OpenAI, Google"},
	{Refused, NoTools, `does(n.t| not) support (tools|tool use|tool.?call|function.?call)|no endpoints found that support tool use|enable-auto-tool-choice|tool.?(call|use|choice)(ing)?s? (is|are) not (supported|enabled)|tools? (param )?requires? --jinja|(tools|functions?).? (is|are|not) (not )?supported (by|for|with|in) this model|function calling is not (supported|enabled)|n[o']t support (function|tool) calling|no tool.?calling capab|unknown field .{0,2}tools\b`, "Ollama, OpenRouter, vLLM, llama.cpp, Google"},
	{Refused, NoChoice, `toolchoice|tool.?choice param|tool.?choice (must be|.{0,12}is not|cannot be|.{0,30}not support)|tool_choice|functioncallingconfig|unsupported.{0,20}tool choice|function calling config`, "Bedrock, DeepSeek, Qwen, llama.cpp, LiteLLM"},
	{Refused, OpenAPI, `unknown name "?parametersJsonSchema`, "gateways to Google"},
}

var compiled = sync.OnceValue(func() []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(signs))
	for i, s := range signs {
		list[i] = regexp.MustCompile("(?i)" + s.words)
	}
	return list
})

// refusedTool finds the tool that a complaint is about, by its name or its index.
var refusedTool = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)invalid schema for (?:function|tool) '?"?([\w-]+)|(?:[^\n]*function_declarations|tools)(?:\[|\.)(\d+)(?:\]|\.)[^\n]*(?:schema|parameters|propert|name|input_schema)`)
})

// A complaint is what an endpoint says of a request.
type complaint struct {
	said   string // in one line
	code   string
	param  string // the parameter that it is about; "" if it does not say
	status int    // that it names; 0 for none
	all    string // all words, one text a line
}

// class returns what helps against a complaint with a status, the parameter or rule that it is
// about, and the window that it names.
func (c complaint) class(status int) (class Class, rule string, window int) {
	if status >= 300 && status < 400 {
		return "", "", 0
	}
	if c.param == NoStream && slices.Contains(choosy, status) {
		return Refused, NoStream, 0
	}
	for i, pattern := range compiled() {
		s := signs[i]
		if !s.class.fits(status) || !pattern.MatchString(c.all) {
			continue
		}
		switch s.class {
		case Overflow:
			return s.class, "", windowIn(c.all)
		case throttled:
			return RateLimit, "", 0
		}
		return s.class, s.rule, 0
	}
	if m := refusedTool().FindStringSubmatch(c.all); m != nil && (status == 400 || status == 422) {
		return Refused, RefusedTool + " " + cmp.Or(m[1], "#"+m[2]), 0
	}
	if status >= 500 {
		return Server, "", 0
	}
	return ofStatus[status], "", 0
}

// ofStatus are the classes of statuses below 500 whose words say nothing more.
var ofStatus = map[int]Class{
	401: Login, 403: Login, 402: Quota, 413: Overflow, 429: RateLimit, 408: Server, 409: Server, 425: Server,
}

// fits reports whether words of a class are believed beside a status.
func (c Class) fits(status int) bool {
	switch {
	case status == 401 || status == 403:
		return c == Quota || c == throttled
	case status == 429:
		return c != Refused
	case c == RateLimit:
		return status == 0 || status >= 500
	}
	return true
}

// windowIn returns the size of the window that a complaint names, 0 if it names none.
func windowIn(said string) int {
	m := windowNumber().FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	window, _ := strconv.Atoi(strings.ReplaceAll(cmp.Or(m[1], m[2], m[3]), ",", ""))
	return window
}

// windowNumber finds the larger window in "maximum context length is 8192 tokens", "213462
// tokens > 200000 maximum", "exceeds the available context size (4096 tokens)", "with 32768
// maximum context length".
var windowNumber = sync.OnceValue(func() *regexp.Regexp {
	const number = `(\d[\d,]{2,})`
	return regexp.MustCompile(`(?i)(?:max(?:imum)?(?: number of)?(?: input)? tokens(?: allowed)?|(?:context|prompt|model|allowed input) length|context window|context size|n_ctx|max_seq_len)(?: of| is|:|=| \(| for this model is| only)* *\(?` + number +
		`|(?:> |<= |less than |cannot exceed |exceed context window of |only supports up to |\[1, |\blimit: \d+ \+ \d+ > |window limit \(|\blimit(?: of| is|:)* )` + number +
		`|` + number + ` (?:tokens? )?(?:context|limit|maximum)`)
})

const maxWords = 16 << 10 // bytes of a complaint that are looked at

// read reads a complaint: JSON, an event of a stream, or a text that is not HTML.
func read(body []byte) (c complaint) {
	body = bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff"))
	if at := bytes.Index(body, []byte("data:")); at >= 0 && !json.Valid(body) &&
		(at == 0 || bytes.HasPrefix(body, []byte("event:"))) {
		line, _, _ := bytes.Cut(body[at+len("data:"):], []byte("\n"))
		body = bytes.TrimSpace(line)
	}
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		text := string(body[:min(len(body), maxWords)])
		if c.all = text; !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "{") {
			c.said = OneLine(text)
		}
		return c
	}
	var all strings.Builder
	gather(doc, &all, 0)
	c.all = all.String()
	c.find(doc)
	return c
}

// wordKeys are the members that the words of endpoints stand in. The words of namedKeys begin with the key.
var (
	wordKeys = []string{"message", "code", "type", "status", "error", "detail", "details", "metadata",
		"raw", "msg", "loc", "param", "errors", "reason", "violations", "quotaId",
		"title", "body", "fault", "faultstring", "error_msg", "Message", "Code", "__type",
		"failed_generation", "n_ctx", "retryDelay", "retry_after", "headers", "X-RateLimit-Reset"}
	namedKeys = []string{"quotaId", "failed_generation", "n_ctx", "retryDelay", "retry_after",
		"X-RateLimit-Reset"}
)

// gather collects the texts in a value, and those in JSON that a text holds.
func gather(v any, all *strings.Builder, depth int) {
	if depth > 8 || all.Len() > maxWords {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range wordKeys {
			if inner, ok := v[key]; ok {
				if slices.Contains(namedKeys, key) {
					all.WriteString(key + " ")
				}
				gather(inner, all, depth+1)
			}
		}
	case []any:
		for _, e := range v {
			gather(e, all, depth+1)
		}
	case string:
		all.WriteString(v[:min(len(v), maxWords)] + "\n")
		var inner any
		if at := strings.IndexByte(v, '{'); at >= 0 &&
			json.NewDecoder(strings.NewReader(v[at:])).Decode(&inner) == nil {
			gather(inner, all, depth+1)
		}
	case float64:
		all.WriteString(strconv.FormatFloat(v, 'f', -1, 64) + "\n")
	}
}

// find finds the message, the code and the status of a complaint.
func (c *complaint) find(doc any) {
	if list, ok := doc.([]any); ok && len(list) > 0 { // as Google's streams have it
		doc = list[0]
	}
	top, _ := doc.(map[string]any)
	value := top["error"]
	for _, key := range [...]string{"errors", "message", "Message", "detail", "msg", "error_message",
		"error_msg", "fault"} {
		if value == nil {
			value = top[key]
		}
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		if first, ok := list[0].(map[string]any); ok && first["message"] != nil {
			value = first
		}
	}
	object, _ := value.(map[string]any)
	for _, key := range [...]string{"code", "type"} {
		if c.code == "" {
			c.code, _ = object[key].(string)
		}
	}
	for _, v := range []any{object["code"], object["status"], top["code"], top["status"]} {
		if n, ok := v.(float64); ok && n >= 400 && n < 600 && c.status == 0 {
			c.status = int(n)
		}
	}
	c.param, _ = object["param"].(string)
	c.said = OneLine(message(value, object))
}

// message returns what a server says of an error: a text, the message of an object with what
// it adds to that, or the JSON of anything else.
func message(value any, object map[string]any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := object["message"].(string)
	if text == "" {
		if value == nil {
			return ""
		}
		data, _ := json.Marshal(value)
		return string(data)
	}
	if param, _ := object["param"].(string); !strings.Contains(text, param) {
		text += " (" + param + ")"
	}
	if window, ok := object["n_ctx"].(float64); ok {
		text += " (n_ctx " + strconv.Itoa(int(window)) + ")"
	}
	if metadata, ok := object["metadata"].(map[string]any); ok { // of OpenRouter: another endpoint's words
		var inner strings.Builder
		gather(metadata["raw"], &inner, 0)
		lines := strings.Split(strings.TrimSpace(inner.String()), "\n")
		if said := lines[len(lines)-1]; len(lines) > 1 {
			said = lines[1]
			text += ": " + said
		} else if said != "" {
			text += ": " + said
		}
	}
	return text
}
