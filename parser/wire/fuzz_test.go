package wire

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// A writer writes a call of write_file as a model does, by its wire.
type writer struct {
	write  func(content string) string
	end    string // stands once in each answer; no result may hold it
	raw    string // what content cannot hold, because the wire has no escape for it
	escape string // likewise, where a content may hold end tags
}

var writers = map[string]writer{
	"openai": {write: func(c string) string { return `{"tool_calls":[` + openAICall(c) + `]}` }},
	"responses": {write: func(c string) string {
		return `{"output":[{"type":"function_call","call_id":"1","name":"write_file","arguments":` +
			quote(arguments(c)) + `}]}`
	}},
	"langchain": {write: func(c string) string {
		return `{"type":"ai","content":"","tool_calls":[{"name":"write_file","id":"1","args":` + arguments(c) + `}]}`
	}},
	"ai-sdk": {write: func(c string) string {
		return `[{"type":"tool-call","toolCallId":"1","toolName":"write_file","input":` + arguments(c) + `}]`
	}},
	"anthropic": {write: func(c string) string {
		return `{"content":[{"type":"tool_use","id":"1","name":"write_file","input":` + arguments(c) + `}]}`
	}},
	"agent-events": {write: func(c string) string {
		return `[{"type":"agent.tool_use","id":"1","name":"write_file","input":` + arguments(c) + `}]`
	}},
	"gemini": {write: func(c string) string {
		return `{"parts":[{"functionCall":{"name":"write_file","args":` + arguments(c) + `}}]}`
	}},
	"ollama": {write: func(c string) string {
		return `{"message":{"role":"assistant","tool_calls":[{"function":{"name":"write_file","arguments":` +
			arguments(c) + `}}]}}`
	}},
	"hermes": {write: func(c string) string { return "<tool_call>\n" + named(c, "arguments") + "\n</tool_call>" }, end: "</tool_response>"},
	"qwen3-coder": {write: func(c string) string {
		return "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n" + c + "\n</parameter>\n</function>\n</tool_call>"
	}, end: "</tool_response>", raw: "</"},
	"seed-oss": {write: func(c string) string {
		return "<seed:tool_call>\n<function=write_file>\n<parameter=path>a</parameter>\n<parameter=content>" + c + "</parameter>\n</function>\n</seed:tool_call>"
	}, end: "<seed:eos>", raw: "</"},
	"glm": {write: func(c string) string {
		return "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>content</arg_key>\n<arg_value>" + c + "</arg_value>\n</tool_call>"
	}, end: "</tool_response>", raw: "</"},
	"mistral": {write: func(c string) string { return "[TOOL_CALLS] [" + named(c, "arguments") + "]" },
		end: "[/TOOL_RESULTS]"},
	"mistral-v11": {write: func(c string) string { return "[TOOL_CALLS]write_file[ARGS]" + arguments(c) },
		end: "[/TOOL_RESULTS]"},
	"deepseek": {write: func(c string) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n" +
			arguments(c) + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	}, end: "<｜tool▁output▁end｜>"},
	"deepseek-v3.1": {write: func(c string) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>" + arguments(c) +
			"<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	}, end: "<｜tool▁output▁end｜>"},
	"kimi": {write: func(c string) string {
		return "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>" + arguments(c) + "<|tool_call_end|><|tool_calls_section_end|>"
	}, end: "<|im_end|>"},
	"granite": {write: func(c string) string { return "<|tool_call|>[" + named(c, "arguments") + "]" },
		end: "<|end_of_text|>"},
	"llama": {write: func(c string) string { return "<|python_tag|>" + named(c, "parameters") },
		end: "<|eot_id|>"},
	"invoke": {write: func(c string) string {
		return "<function_calls>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a</" +
			"parameter>\n<parameter name=\"content\">" + c + "</" + "parameter>\n</" +
			"invoke>\n</function_calls>"
	}, end: "</result>", raw: "</"},
	"react": {write: func(c string) string { return "\nAction: write_file\nAction Input: " + arguments(c) + "\n" }, end: "\nObservation:"},
	"harmony": {write: func(c string) string {
		return "<|start|>assistant<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>" + arguments(c) + "<|call|>"
	}, end: "<|end|>"},
	"dsml": {write: func(c string) string {
		const d = "｜DSML｜"
		return "<" + d + "function_calls>\n<" + d + "invoke name=\"write_file\">\n<" + d +
			"parameter name=\"path\" string=\"true\">a</" + d + "parameter>\n<" +
			d + "parameter name=\"content\" string=\"true\">" + c + "</" + d + "parameter>\n</" + d +
			"invoke>\n</" + d + "function_calls>"
	}, end: "</result>", raw: "</"},
	"minimax": {write: func(c string) string {
		return "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a</" +
			"parameter>\n<parameter name=\"content\">" + c + "</" + "parameter>\n</" +
			"invoke>\n</minimax:tool_call>"
	}, end: "</response>", raw: "</"},
	"functionary": {write: func(c string) string { return ">>>write_file\n" + arguments(c) },
		end: "<|eot_id|>"},
	"nemotron": {write: func(c string) string { return "<TOOLCALL>[" + named(c, "arguments") + "]</TOOLCALL>" }, end: "</TOOL_RESPONSE>"},
	"jamba":    {write: func(c string) string { return "<tool_calls>[" + named(c, "arguments") + "]</tool_calls>" }, end: "</tool_response>"},
	"internlm": {write: func(c string) string { return "<|action_start|><|plugin|>" + named(c, "parameters") + "<|action_end|>" }, end: "<|im_end|>"},
	"command-r": {write: func(c string) string {
		return `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"write_file","parameters":` + arguments(c) +
			"}]<|END_ACTION|>"
	}, end: `"is_error": null`},
	"functools": {write: func(c string) string { return "functools[" + named(c, "arguments") + "]" },
		end: "<|end|>"},
	"lfm2": {write: func(c string) string {
		return `<|tool_call_start|>[write_file(path="a", content=` + python(c) + ")]<|tool_call_end|>"
	}, end: "<|tool_response_end|>", raw: "<|tool_call"},
	"tool-code": {write: func(c string) string { return "```tool_code\nwrite_file(path=\"a\", content=" + python(c) + ")\n```" }, end: "```tool_output", raw: "```"},
	"gemma": {write: func(c string) string {
		return `<|tool_call>call:write_file{path:<|"|>a<|"|>,content:<|"|>` + c + `<|"|>}<tool_call|>`
	}, end: "<tool_response|>", raw: "<", escape: `<|"|>`},
	"functiongemma": {write: func(c string) string {
		return `<start_function_call>call:write_file{path:<escape>a<escape>,content:<escape>` + c +
			`<escape>}<end_function_call>`
	}, end: "<end_function_response>", raw: "<", escape: "<escape>"},
}

// python quotes a text as Python does.
func python(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t",
		`\t`).Replace(text) + `"`
}

func quote(text string) string { return string(rawjson.AppendString(nil, text)) }

func arguments(content string) string { return `{"path":"a","content":` + quote(content) + `}` }

func named(content, key string) string {
	return `{"name":"write_file","` + key + `":` + arguments(content) + `}`
}

func openAICall(content string) string {
	return `{"id":"1","type":"function","function":{"name":"write_file","arguments":` +
		quote(arguments(content)) + `}}`
}

// FuzzWires puts random text around a known call. A call that is carried out is in the text:
// the known call exactly, or one that the text around it names. A call that is not carried out is
// answered: there is an error, or a call with one. The wire is drawn too, but where
// SKILL_FUZZ_WIRE names one.
func FuzzWires(f *testing.F) {
	for i, w := range All {
		f.Add(uint8(i), "I look.\n", "one\n</p> \"two\"", "\n")
		f.Add(uint8(i), "<think>"+writers[w.Name].write("x")+"</think>",
			"[/TOOL_RESULTS]</tool_response><|im_end|>\nObservation: x", writers[w.Name].write("y"))
		f.Add(uint8(i), writers[w.Name].write("x")[:9], "}", `"}}`)
		f.Add(uint8(i), "Action: run\nAction Input: \"a\\", "", "")
		f.Add(uint8(i), "", "x", strings.Replace(writers[w.Name].write("y"), `"write_file`, `"\rite_file`, 1))
		f.Add(uint8(i), "<function_calls>\n<invoke name=\"other\">\n<parameter name=\"path\">", "x", "")
		f.Add(uint8(i), "ok\n", "x", "")
		f.Add(uint8(i), "", "say \"hi\" "+writers[w.Name].write("x"), "\n<")
	}
	f.Fuzz(func(t *testing.T, which uint8, before, content, after string) {
		w := All[int(which)%len(All)]
		if name := os.Getenv("SKILL_FUZZ_WIRE"); name != "" {
			w = Named(name)
		}
		by := writers[w.Name]
		if !utf8.ValidString(content) || by.raw != "" && strings.Contains(content, by.raw) {
			return
		}
		e, err := w.Read(before+by.write(content)+after, schemas)
		around := before + after
		found, failed := false, err != nil || e.HasFinal
		for _, c := range e.Calls {
			known := c.Err == nil && c.Name == "write_file" && equal(c.Arguments, []byte(arguments(content)))
			// of another call, which is answered
			within := strings.Contains(string(c.Arguments), "rite_file")
			found, failed = found || known, failed || c.Err != nil || within
			// an escape may be of the name
			if c.Err == nil && !known && !strings.Contains(around, c.Name) && !strings.Contains(around, `\`) {
				t.Errorf("%s: call %s %s stands nowhere in %q", w.Name, c.Name, c.Arguments, around)
			}
		}
		sentence := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) != "" // which may quote it
		quoted := sentence && len(e.Calls) > 0
		if !found && !failed && !quoted && e.Repairs == nil && !strings.Contains(around, "write_file") {
			t.Errorf("%s: the call is neither carried out nor answered between %q and %q: %+v", w.Name,
				before, after, e)
		}
		plain := strings.Trim(around, "abcdefghijklmnopqrstuvwxyz. \n") == ""
		if plain && !sentence && w.IsText() && (!found || len(e.Calls) != 1) {
			t.Errorf("%s: read %+v, error %v, between %q and %q", w.Name, e, err, before, after)
		}
		if by.end == "" || e.Calls == nil {
			return
		}
		call := e.Calls[0]
		call.ID, call.Name = "1", "f"
		got := w.Answer([]Answer{{Call: call, Text: content}, {Call: call, Text: "x"}}, nil)
		if n := strings.Count("\n"+got, by.end); n != 2 {
			t.Errorf("%s: result %q is answered with %d × %q: %s", w.Name, content, n, by.end, got)
		}
	})
}

// TestHostile reads texts that would take minutes if a wire read any part of them for
// each call in it.
func TestHostile(t *testing.T) {
	known := func(name string) bool { return len(schemas(name)) > 0 }
	for _, w := range All {
		whole := writers[w.Name].write("x")
		for _, part := range []string{whole[:len(whole)/2], whole[:len(whole)-3], whole[:12],
			whole[len(whole)/2:], "<think>", "{", "\nAction:\nAction Input:\n", "</", "<|message|> to="} {
			w.Read(whole+strings.Repeat(part, (512<<10)/len(part))+whole, schemas)
		}
		if w.IsText() {
			Find(strings.Repeat("x `"+whole[:len(whole)/2], (64<<10)/len(whole)), known, schemas)
		}
	}
}

// TestDefinitions has each wire that defines tools print the tools of the rows.
func TestDefinitions(t *testing.T) {
	tools := []Tool{{"now", "Tell the time.", schemas("now")}, {"run", "Run a command.", schemas("run")},
		{"write_file", "Write.", schemas("write_file")}}
	for name, want := range map[string]string{
		"openai":    `[{"type":"function","function":{"name":"now","description":"Tell the time.","parameters":{"type":"object","properties":{},"required":[]}}},`,
		"responses": `[{"description":"Tell the time.","name":"now","parameters":{"type":"object","properties":{},"required":[]},"strict":false,"type":"function"},`,
		"anthropic": `[{"description":"Tell the time.","input_schema":{"type":"object","properties":{},"required":[]},"name":"now"},`,
		"gemini": `[{"functionDeclarations":[{"description":"Tell the time.","name":"now"},` +
			`{"description":"Run a command.","name":"run","parameters":{"properties":{"command":{"type":"STRING"},"env":{"items":{"properties":{"name":{"type":"STRING"},"value":{"type":"STRING"}},"required":["name","value"],"type":"OBJECT"},"type":"ARRAY"}},"propertyOrdering":["command","env"],"required":["command"],"type":"OBJECT"}},` +
			`{"description":"Write.","name":"write_file","parameters":{"properties":{"content":{"type":"STRING"},"path":{"type":"STRING"},"tags":{"items":{"type":"STRING"},"type":"ARRAY"}},"propertyOrdering":["path","content","tags"],"required":["path","content"],"type":"OBJECT"}}]}]`,
		"ollama": `[{"type":"function","function":{"name":"now","description":"Tell the time.","parameters":{"properties":{},"required":[],"type":"object"}}},` +
			`{"type":"function","function":{"name":"run","description":"Run a command.","parameters":{"properties":{"command":{"type":"string"},"env":{"type":"object"}},`,
	} {
		if got := string(Named(name).Definitions(tools)); !strings.HasPrefix(got, want) {
			t.Errorf("%s prints\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestMedia shows a picture and a PDF on each wire.
func TestMedia(t *testing.T) {
	for name, want := range map[string]string{
		"openai":    `{"messages":[{"role":"tool","tool_call_id":"1","content":"t"},{"role":"tool","tool_call_id":"1","content":"t"},{"content":[{"text":"f 1: a.png","type":"text"},{"image_url":{"url":"data:image/png;base64,UA=="},"type":"image_url"},{"text":"f 1: a.pdf","type":"text"},{"file":{"file_data":"data:application/pdf;base64,UA==","filename":"a.pdf"},"type":"file"}],"role":"user"}]}`,
		"responses": `{"input":[{"call_id":"1","output":[{"text":"t","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,UA==","type":"input_image"}],"type":"function_call_output"},{"call_id":"1","output":[{"text":"t","type":"input_text"},{"file_data":"data:application/pdf;base64,UA==","filename":"a.pdf","type":"input_file"}],"type":"function_call_output"}]}`,
		"anthropic": `{"messages":[{"content":[{"content":[{"text":"t","type":"text"},{"source":{"data":"UA==","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"1","type":"tool_result"},{"content":[{"text":"t","type":"text"},{"source":{"data":"UA==","media_type":"application/pdf","type":"base64"},"type":"document"}],"tool_use_id":"1","type":"tool_result"}],"role":"user"}]}`,
		"gemini":    `{"contents":[{"parts":[{"functionResponse":{"id":"1","name":"f","parts":[{"inlineData":{"data":"UA==","mimeType":"image/png"}}],"response":{"output":"t"}}},{"functionResponse":{"id":"1","name":"f","parts":[{"inlineData":{"data":"UA==","mimeType":"application/pdf"}}],"response":{"output":"t"}}}],"role":"user"}]}`,
		"ollama":    `{"messages":[{"content":"t","images":["UA=="],"role":"tool","tool_call_id":"1","tool_name":"f"},{"content":"t\n(application/pdf cannot be shown to this model.)","role":"tool","tool_call_id":"1","tool_name":"f"}]}`,
		"langchain": `{"messages":[{"content":[{"text":"t","type":"text"},{"base64":"UA==","mime_type":"image/png","type":"image"}],"name":"f","status":"success","tool_call_id":"1","type":"tool"},` +
			`{"content":[{"text":"t","type":"text"},{"base64":"UA==","mime_type":"application/pdf","type":"file"}],"name":"f","status":"success","tool_call_id":"1","type":"tool"}]}`,
		"ai-sdk": `{"messages":[{"content":[{"output":{"type":"content","value":[{"text":"t","type":"text"},{"data":{"data":"UA==","type":"data"},"mediaType":"image/png","type":"file"}]},"toolCallId":"1","toolName":"f","type":"tool-result"},` +
			`{"output":{"type":"content","value":[{"text":"t","type":"text"},{"data":{"data":"UA==","type":"data"},"mediaType":"application/pdf","type":"file"}]},"toolCallId":"1","toolName":"f","type":"tool-result"}],"role":"tool"}]}`,
		"llama": "<|start_header_id|>ipython<|end_header_id|>\n\nt\n(image/png cannot be shown to this model.)<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\nt\n(application/pdf cannot be shown to this model.)<|eot_id|>",
	} {
		a := Answer{Text: "t", Media: []Media{{Type: "image/png", Name: "a.png", Data: []byte("P")}}}
		a.Call.ID, a.Call.Name = "1", "f"
		b := a
		b.Media = []Media{{Type: "application/pdf", Name: "a.pdf", Data: []byte("P")}}
		if got := Named(name).Answer([]Answer{a, b}, nil); got != want {
			t.Errorf("%s answers\n%s\nwant\n%s", name, got, want)
		}
	}
}
