package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"textskill/llmfallback/remote"
	"textskill/skill/agent"
)

// at returns the model of an endpoint that answers requests in turn.
func at(t *testing.T, e Endpoint, answers ...func(http.ResponseWriter)) (*endpoint, *Model) {
	t.Helper()
	s, _ := newEndpoint(t, answers...)
	e.BaseURL, e.Key, e.Temperature = s.URL, "k", -1
	m, err := New(e)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

var (
	claude    = Endpoint{Provider: Anthropic, Model: "claude-opus-4-8"}
	gemini    = Endpoint{Provider: Google, Model: "gemini-3-pro"}
	openaiNew = Endpoint{Provider: OpenAI, API: "responses", Model: "gpt-5"}
)

// said is what came of a request, on one line.
func said(a agent.Answer, err error) string {
	u := fmt.Sprintf(" %d/%d+%d/%d/%d", a.Usage.InputTokens, a.Usage.CachedInputTokens,
		a.Usage.CacheWriteTokens, a.Usage.OutputTokens, a.Usage.ReasoningTokens)
	if fault, ok := errors.AsType[*remote.Error](err); ok {
		return fmt.Sprintf("%v; retry %v%s", fault, fault.Retry, u)
	}
	if err != nil {
		return "not a remote.Error: " + err.Error()
	}
	calls := strings.ReplaceAll(fmt.Sprint(a.Calls), " <nil>}", "}")
	return fmt.Sprintf("%q %s cut %v, thought %q %s%s", a.Text, calls, a.Cut, a.Thinking.Text,
		a.Thinking.Replay, u)
}

// typed writes events as a stream with an end or a break.
func typed(ends bool, events ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			var of struct{ Type string }
			json.Unmarshal([]byte(e), &of)
			fmt.Fprintf(w, "event: %s\r\ndata: %s\r\n\r\n", of.Type, e)
			w.(http.Flusher).Flush()
		}
		if !ends {
			panic(http.ErrAbortHandler)
		}
	}
}

func TestAnswers(t *testing.T) {
	const (
		start    = `{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`
		stop     = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`
		end      = `{"type":"message_stop"}`
		wantUse  = `"I do" [{tu_1 todo {"x":1}} {tu_2 list {}}] cut false, thought "Let me" [{"kind":"thought","text":"Let me","sign":"c2ln"},{"kind":"thought","item":{"type":"redacted_thinking","data":"ZZ"}}] 14/5+2/9/0`
		wantGem  = `"I do" [{g1 todo {"x":1}} { list {}}] cut false, thought "hm" `
		usedGem  = ` 7/5+0/9/4`
		callGem  = `{"kind":"call","sign":"c2ln"},{"kind":"call"}`
		itemsGPT = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ENC"}`
		msgGPT   = `{"type":"message","id":"msg","role":"assistant","content":[{"type":"output_text","text":"I do"}]}`
		callGPT  = `{"type":"function_call","id":"fc","call_id":"c1","name":"todo","arguments":"{\"x\":1}"}`
		useGPT   = `"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":16}`
		wantGPT  = `"I do" [{c1 todo {"x":1}}] cut false, thought "hm\n" [{"kind":"thought","item":` + itemsGPT + `}] 7/5+0/9/4`
	)
	block := func(i int, json string) string {
		return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, json)
	}
	delta := func(i int, json string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, json)
	}
	for _, tt := range []struct {
		name   string
		e      Endpoint
		answer func(http.ResponseWriter)
		want   string
	}{
		{"anthropic, streamed", claude, typed(true, start, `{"type":"ping"}`,
			block(0, `{"type":"thinking","thinking":"","signature":""}`),
			delta(0, `{"type":"thinking_delta","thinking":"Let "}`),
			delta(0, `{"type":"thinking_delta","thinking":"me"}`),
			delta(0, `{"type":"signature_delta","signature":"c2ln"}`),
			`{"type":"content_block_stop","index":0}`,
			block(1, `{"type":"redacted_thinking","data":"ZZ"}`),
			block(2, `{"type":"text","text":""}`), delta(2, `{"type":"text_delta","text":"I "}`),
			delta(2, `{"type":"text_delta","text":"do"}`),
			delta(2, `{"type":"citations_delta","citation":{}}`),
			block(3, `{"type":"tool_use","id":"tu_1","name":"todo","input":{}}`),
			delta(3, `{"type":"input_json_delta","partial_json":""}`),
			delta(3, `{"type":"input_json_delta","partial_json":"{\"x\""}`),
			delta(3, `{"type":"input_json_delta","partial_json":":1}"}`),
			block(4, `{"type":"tool_use","id":"tu_2","name":"list","input":{}}`),
			block(5, `{"type":"server_news","what":{}}`), delta(9, `{"type":"text_delta","text":"lost"}`),
			`{"type":"later_than_us"}`, stop, end), wantUse},
		{"anthropic, whole", claude,
			whole(200, `{"type":"message","content":[{"type":"thinking","thinking":"Let me","signature":"c2ln"},{"type":"redacted_thinking","data":"ZZ"},{"type":"text","text":"I do"},{"type":"tool_use","id":"tu_1","name":"todo","input":{"x":1}},{"type":"tool_use","id":"tu_2","name":"list","input":{}},{"type":"server_news"},null],"stop_reason":"tool_use","usage":{"input_tokens":7,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":9}}`), wantUse},
		{"anthropic, equal ids", claude,
			whole(200, `{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"a","name":"f","input":{}}]}`), `"" [{a f {}} {a f {}}] cut false, thought ""  0/0+0/0/0`},
		{"anthropic, cut call", claude,
			typed(true, start, block(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`),
				delta(0, `{"type":"input_json_delta","partial_json":"{\"x"}`),
				`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, end),
			`"" [{a f {"x}] cut true, thought ""  14/5+2/1/0`},
		{"anthropic, empty", claude,
			typed(true, start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, end),
			`"" [] cut false, thought ""  14/5+2/1/0`},
		{"anthropic, refusal", claude,
			typed(true, start, `{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":3}}`, end), "the model refused; retry false 14/5+2/3/0"},
		{"anthropic, no usage", claude, whole(200, `{"type":"message","content":[]}`),
			`"" [] cut false, thought ""  0/0+0/0/0`},
		{"anthropic, broken off", claude, typed(false, start, block(0, `{"type":"text","text":"a"}`)),
			"the answer broke off in the middle; retry true 14/5+2/1/0"},
		{"anthropic, ends early", claude, typed(true, start, block(0, `{"type":"text","text":"a"}`)),
			"the answer broke off in the middle; retry true 14/5+2/1/0"},
		{"anthropic, without its last event", claude, typed(true, start, stop),
			`"" [] cut false, thought ""  14/5+2/9/0`},
		{"anthropic, error event", claude, typed(true, start, block(0, `{"type":"text","text":"a"}`),
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
			"the endpoint answered with an error: Overloaded; retry true 14/5+2/1/0"},
		{"anthropic, cut JSON", claude, typed(true, start, `{"type":`),
			"the answer broke off in the middle; retry true 14/5+2/1/0"},
		{"anthropic, wrong types", claude,
			typed(true, start, `{"type":"content_block_start","content_block":[]}`),
			"the answer is not of the provider's form; retry false 14/5+2/1/0"},
		{"anthropic, another whole", claude, whole(200, `{"choices":[]}`),
			"the answer is not a message; retry false 0/0+0/0/0"},
		{"anthropic, key", claude,
			whole(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`), "the key was refused: invalid x-api-key (status 401); check ANTHROPIC_API_KEY; retry false 0/0+0/0/0"},
		{"anthropic, overloaded", claude,
			whole(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
			"server error: Overloaded (status 529); retry true 0/0+0/0/0"},
		{"anthropic, page", claude, func(w http.ResponseWriter) { io.WriteString(w, "<html>") },
			"the answer is not JSON; check that the base URL (ANTHROPIC_BASE_URL) is the address of the API; retry false 0/0+0/0/0"},

		{"google, streamed", gemini,
			typed(true, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I "}]}}],"usageMetadata":{"promptTokenCount":7}}`,
				`{"candidates":[{"content":{"parts":[{"text":"do"},{"functionCall":{"id":"g1","name":"todo","args":{"x":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"list","args":{}}},{"executableCode":{"code":"x"}}]},"finishReason":"STOP"}]}`,
				`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"dGV4dA=="}]}}],"usageMetadata":{"promptTokenCount":7,"cachedContentTokenCount":5,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":16}}`),
			wantGem + `[{"kind":"text","size":4},` + callGem + `,{"kind":"text","sign":"dGV4dA=="}]` + usedGem},
		{"google, whole", gemini,
			whole(200, `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I do","thoughtSignature":"dGV4dA=="},{"functionCall":{"id":"g1","name":"todo","args":{"x":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"list","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"cachedContentTokenCount":5,"candidatesTokenCount":5,"thoughtsTokenCount":4}}`),
			wantGem + `[{"kind":"text","size":4,"sign":"dGV4dA=="},{"kind":"call","sign":"c2ln"}]` + usedGem},
		{"google, cut", gemini, whole(200,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}`),
			`"a" [] cut true, thought ""  0/0+0/0/0`},
		{"google, empty", gemini, typed(true, `{"candidates":[{"content":{},"finishReason":"STOP"}]}`),
			`"" [] cut false, thought ""  0/0+0/0/0`},
		{"google, filtered", gemini,
			typed(true, `{"candidates":[{"finishReason":"SAFETY"}],"usageMetadata":{"promptTokenCount":7}}`),
			"the endpoint's content filter stopped the answer; retry false 7/0+0/0/0"},
		{"google, blocked", gemini, typed(true, `{"promptFeedback":{"blockReason":"OTHER"}}`),
			"the endpoint's content filter stopped the request: OTHER; retry false 0/0+0/0/0"},
		{"google, malformed call", gemini,
			typed(true, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(todo())"}],"usageMetadata":{"candidatesTokenCount":3}}`), "the model stopped: MALFORMED_FUNCTION_CALL print(todo()); retry true 0/0+0/3/0"},
		{"google, no candidates", gemini, whole(200, `{}`),
			"the answer has no candidates; retry true 0/0+0/0/0"},
		{"google, broken off", gemini,
			typed(false, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":7}}`), "the answer broke off in the middle; retry true 7/0+0/0/0"},
		{"google, ends early", gemini, typed(true, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"google, error event", gemini,
			typed(true, `{"error":{"code":503,"message":"The model is overloaded"}}`),
			"the endpoint answered with an error: The model is overloaded; retry true 0/0+0/0/0"},
		{"google, cut JSON", gemini, typed(true, `{"candidates"`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"google, key", gemini, whole(403, `{"error":{"code":403,"message":"no"}}`),
			"the key was refused: no (status 403); check GOOGLE_API_KEY; retry false 0/0+0/0/0"},

		{"responses, streamed", openaiNew,
			typed(true, `{"type":"response.created","response":{"status":"in_progress","output":[]}}`,
				`{"type":"response.output_text.delta","delta":"I do"}`,
				`{"type":"response.output_item.done","item":`+itemsGPT+`}`,
				`{"type":"response.output_item.done","item":`+msgGPT+`}`,
				`{"type":"response.output_item.done","item":`+callGPT+`}`,
				`{"type":"response.completed","response":{"status":"completed","output":[],`+useGPT+`}}`,
				`[DONE]`), wantGPT},
		{"responses, in deltas alone", openaiNew,
			typed(true, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"I "}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"todo","arguments":""}}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"do"}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\""}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":":1}"}`, `[DONE]`),
			`"I do" [{c1 todo {"x":1}}] cut false, thought ""  0/0+0/0/0`},
		{"responses, cut in deltas", openaiNew,
			typed(true, `{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c1","name":"todo"}}`,
				`{"type":"response.function_call_arguments.delta","delta":"{\"x\""}`, `[DONE]`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"responses, whole", openaiNew, whole(200, `{"status":"completed","error":null,"output":[`+itemsGPT+
			`,`+msgGPT+`,{"type":"web_search_call"},`+callGPT+`],`+useGPT+`}`), wantGPT},
		{"responses, between calls", openaiNew,
			whole(200, `{"status":"completed","output":[`+callGPT+`,`+itemsGPT+`,`+callGPT+`]}`),
			`"" [{c1 todo {"x":1}} {c1 todo {"x":1}}] cut false, thought "hm\n" [{"kind":"call"},{"kind":"thought","item":` +
				itemsGPT + `}] 0/0+0/0/0`},
		{"responses, refusal", openaiNew,
			whole(200, `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}`), "the model refused: no; retry false 0/0+0/0/0"},
		{"responses, cut", openaiNew, typed(true, `{"type":"response.output_item.done","item":`+msgGPT+`}`,
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],`+useGPT+`}}`), `"I do" [] cut true, thought ""  7/5+0/9/4`},
		{"responses, filtered", openaiNew,
			typed(true, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},`+useGPT+`}}`), "the endpoint's content filter stopped the answer; retry false 7/5+0/9/4"},
		{"responses, failed", openaiNew,
			typed(true, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"sorry"},`+useGPT+`}}`), "the endpoint answered with an error: sorry; retry true 7/5+0/9/4"},
		{"responses, error event", openaiNew, typed(true, `{"type":"error","code":"x","message":"sorry"}`),
			"the endpoint answered with an error: sorry; retry true 0/0+0/0/0"},
		{"responses, too long", openaiNew,
			typed(true, `{"type":"error","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model"}}`), "the endpoint answered with an error: Your input exceeds the context window of this model; retry false 0/0+0/0/0"},
		{"responses, broken off", openaiNew,
			typed(false, `{"type":"response.output_item.done","item":`+msgGPT+`}`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"responses, ends early", openaiNew,
			typed(true, `{"type":"response.output_item.done","item":`+msgGPT+`}`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"responses, cut JSON", openaiNew, typed(true, `{`),
			"the answer broke off in the middle; retry true 0/0+0/0/0"},
		{"responses, chat completion", openaiNew, whole(200, `{"choices":[]}`),
			"the answer is not a response; retry false 0/0+0/0/0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, m := at(t, tt.e, tt.answer)
			if got := said(m.Next(t.Context(),
				agent.Request{Messages: []agent.Message{newMessage(agent.UserMessage, textPart("hi"))}})); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// conversation has everything that a run sends.
func conversation(model string, replay string) []agent.Message {
	args := json.RawMessage(`{"path":"i.png"}`)
	return []agent.Message{
		newMessage(agent.InstructionMessage, textPart("rules")),
		newMessage(agent.UserMessage, textPart("go")),
		newMessage(agent.ExpertMessage,
			callPart(agent.ToolCall{ID: "a", ToolName: "readImageFile", Args: args}),
			callPart(agent.ToolCall{ID: "b.1", ToolName: "readPdfFile", Args: args}), textPart("I look"),
			agent.Part{Type: agent.ThinkingPart, Text: "hm", Model: model, Replay: json.RawMessage(replay)}),
		newMessage(agent.ToolMessage,
			agent.Part{Type: agent.ToolResultPart, ToolCallID: "a", ToolName: "readImageFile",
				Contents: []agent.Part{textPart("{}"),
					{Type: agent.ImageInlinePart, EncodedData: "AAAA", MimeType: "image/png"}}},
			agent.Part{Type: agent.ToolResultPart, ToolCallID: "b.1", ToolName: "readPdfFile",
				Contents: []agent.Part{{Type: agent.FileInlinePart, EncodedData: "BBBB",
					MimeType: "application/pdf"}}}),
	}
}

func TestRequests(t *testing.T) {
	const (
		answerClaude = `{"type":"message","content":[]}`
		answerGemini = `{"candidates":[{"finishReason":"STOP"}]}`
		answerGPT    = `{"status":"completed","output":[]}`
	)
	tools := []agent.Tool{{Name: "todo", Doc: "d", Schema: json.RawMessage(`{"type":"object"}`)}}
	schema := json.RawMessage(`{"type":"object","required":["a"]}`)
	thinking := `[{"kind":"thought","text":"hm","sign":"c2ln"}]`
	const reasoned = `[{"kind":"thought","item":{"type":"reasoning","encrypted_content":"E"}},{"kind":"text","size":6},` +
		`{"kind":"call"},{"kind":"thought","item":{"type":"reasoning","encrypted_content":"F"}}]`
	const claudeMessages = `"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I look"},{"type":"tool_use","id":"a","name":"readImageFile","input":{"path":"i.png"}},{"type":"tool_use","id":"b_1","name":"readPdfFile","input":{"path":"i.png"}}]},` +
		`{"content":[{"content":[{"text":"{}","type":"text"},{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"a","type":"tool_result"},` +
		`{"content":[{"text":"(It is shown below.)","type":"text"},{"source":{"data":"BBBB","media_type":"application/pdf","type":"base64"},"type":"document"}],"tool_use_id":"b_1","type":"tool_result"}],"role":"user"}]`
	const cached = `"cache_control":{"type":"ephemeral"}`
	const claudeTools = `"tools":[{"description":"d","input_schema":{"type":"object"},"name":"todo"}]`
	const gptInput = `"input":[{"type":"message","role":"system","content":"rules"},{"type":"message","role":"user","content":"go"},{"type":"reasoning","encrypted_content":"E"},{"type":"message","role":"assistant","content":"I look"},` +
		`{"type":"function_call","call_id":"a","name":"readImageFile","arguments":"{\"path\":\"i.png\"}"},{"type":"reasoning","encrypted_content":"F"},{"type":"function_call","call_id":"b.1","name":"readPdfFile","arguments":"{\"path\":\"i.png\"}"},` +
		`{"call_id":"a","output":[{"text":"{}","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AAAA","type":"input_image"}],"type":"function_call_output"},` +
		`{"call_id":"b.1","output":[{"text":"(It is shown below.)","type":"input_text"},{"file_data":"data:application/pdf;base64,BBBB","filename":"document.pdf","type":"input_file"}],"type":"function_call_output"}],"include":["reasoning.encrypted_content"],"model":"gpt-5","prompt_cache_key":"ID",`
	const gptTools = `"tools":[{"description":"d","name":"todo","parameters":{"type":"object"},"strict":false,"type":"function"}]}`
	const geminiContents = `"contents":[{"role":"user","parts":[{"text":"go"}]},` +
		`{"role":"model","parts":[{"text":"I look","thoughtSignature":"dA=="},{"functionCall":{"id":"a","name":"readImageFile","args":{"path":"i.png"}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"b.1","name":"readPdfFile","args":{"path":"i.png"}}}]},` +
		`{"parts":[{"functionResponse":{"id":"a","name":"readImageFile","response":{"output":"{}"}}},{"functionResponse":{"id":"b.1","name":"readPdfFile","response":{"output":"(It is shown below.)"}}},` +
		`{"text":"readImageFile a:"},{"inlineData":{"data":"AAAA","mimeType":"image/png"}},{"text":"readPdfFile b.1:"},{"inlineData":{"data":"BBBB","mimeType":"application/pdf"}}],"role":"user"}]`
	const geminiRules = `"systemInstruction":{"parts":[{"text":"rules"}]},`
	const geminiTools = `"tools":[{"functionDeclarations":[{"name":"todo","description":"d","parametersJsonSchema":{"type":"object"}}]}]}`
	for _, tt := range []struct {
		name     string
		e        Endpoint
		thinking string
		r        agent.Request
		answer   string
		want     string
	}{
		{"anthropic", claude, thinking, agent.Request{Tools: tools}, answerClaude,
			`/v1/messages {"max_tokens":32000,` + claudeMessages + `,"model":"claude-opus-4-8",` + cached +
				`,"stream":true,"system":[{"type":"text","text":"rules",` + cached +
				`}],"tool_choice":{"type":"any"},` + claudeTools + `}`},
		{"anthropic, a report", claude, thinking, agent.Request{Withheld: tools, Schema: schema},
			answerClaude,
			`/v1/messages {"max_tokens":32000,` + claudeMessages + `,"model":"claude-opus-4-8",` + cached +
				`,"output_config":{"format":{"schema":{"type":"object","required":["a"]},"type":"json_schema"}},"stream":true,"system":[{"type":"text","text":"rules",` + cached + `}],"tool_choice":{"type":"none"},` + claudeTools + `}`},
		{"anthropic, effort", Endpoint{Provider: Anthropic, Model: "claude-opus-4-8", Reasoning: "minimal"},
			thinking, agent.Request{Tools: tools}, answerClaude,
			`/v1/messages {"max_tokens":32000,` + claudeMessages + `,"model":"claude-opus-4-8",` + cached +
				`,"output_config":{"effort":"low"},"stream":true,"system":[{"type":"text","text":"rules",` +
				cached + `}],"thinking":{"type":"adaptive"},` + claudeTools + `}`},
		{"anthropic, budget", Endpoint{Provider: Anthropic, Model: "claude-sonnet-4-5", Reasoning: "high"},
			thinking, agent.Request{Tools: tools}, answerClaude,
			`/v1/messages {"max_tokens":32000,` + claudeMessages + `,"model":"claude-sonnet-4-5",` +
				cached + `,"stream":true,"system":[{"type":"text","text":"rules",` + cached +
				`}],"thinking":{"budget_tokens":16000,"type":"enabled"},` + claudeTools + `}`},
		{"google", gemini, `[{"kind":"text","size":6,"sign":"dA=="},{"kind":"call","sign":"c2ln"}]`, agent.Request{Tools: tools}, answerGemini,
			`/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse {` + geminiContents + `,` +
				geminiRules + `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` + geminiTools},
		{"google, a report", Endpoint{Provider: Google, Model: "gemini-3-pro", Reasoning: "low"},
			`[{"kind":"text","size":6,"sign":"dA=="},{"kind":"call","sign":"c2ln"}]`, agent.Request{Withheld: tools, Schema: schema},
			answerGemini,
			`/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse {` + geminiContents +
				`,"generationConfig":{"responseJsonSchema":{"type":"object","required":["a"]},"responseMimeType":"application/json","thinkingConfig":{"thinkingLevel":"low"}},` + geminiRules + `"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},` + geminiTools},
		{"responses", openaiNew, reasoned, agent.Request{Tools: tools}, answerGPT,
			`/v1/responses {` + gptInput +
				`"store":false,"stream":true,"tool_choice":"required",` + gptTools},
		{"responses, a report", Endpoint{API: "responses", Model: "gpt-5", Reasoning: "high"},
			reasoned,
			agent.Request{Withheld: tools, Schema: schema}, answerGPT,
			`/v1/responses {` + gptInput +
				`"reasoning":{"effort":"high"},"store":false,"stream":true,"text":{"format":{"name":"report","schema":{"type":"object","required":["a"]},"strict":false,"type":"json_schema"}},"tool_choice":"none",` + gptTools},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.URL.RequestURI() + " " + string(body)
				if r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+
					strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != "k" {
					t.Errorf("the key is missing: %v", r.Header)
				}
				whole(200, tt.answer)(w)
			}))
			defer s.Close()
			tt.e.BaseURL, tt.e.Key, tt.e.Temperature = s.URL, "k", -1
			m, err := New(tt.e)
			if err != nil {
				t.Fatal(err)
			}
			tt.r.Messages = conversation(m.name, tt.thinking)
			if _, err := m.Next(t.Context(), tt.r); err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(tt.want, `"ID"`, `"`+tt.r.Messages[0].ID+`"`, 1); got != want {
				t.Errorf("the request is\n %s\nwant\n %s", got, want)
			}
		})
	}
}

// TestThinkingOfOthers continues a conversation with another model.
func TestThinkingOfOthers(t *testing.T) {
	for _, e := range []Endpoint{claude, gemini, openaiNew, {Model: "m"}} {
		s, m := at(t, e, whole(200,
			`{"type":"message","status":"completed","candidates":[{"finishReason":"STOP"}],"choices":[{"message":{}}]}`))
		if _, err := m.Next(t.Context(), agent.Request{Messages: conversation("other/model", `["SECRET"]`)}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.bodies[0], "SECRET") || strings.Contains(s.bodies[0], "hm") {
			t.Errorf("%s is sent what another model thought: %s", m.name, s.bodies[0])
		}
		if signed := strings.Count(s.bodies[0], unsigned); signed != 0 && m.name != "google/gemini-3-pro" ||
			signed != 1 && m.name == "google/gemini-3-pro" {
			t.Errorf("%s: %s", m.name, s.bodies[0])
		}
	}
}

// TestChatReasoning has an endpoint that wants back what it thought, and one that refuses it.
func TestChatReasoning(t *testing.T) {
	thinks := pieces(true, `{"choices":[{"delta":{"reasoning_content":"h"}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"m","tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"f","arguments":"{}"}}]}}]}`, finished)
	ok := whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
	s, m := at(t, Endpoint{Model: "m"}, thinks, ok,
		whole(400, `{"error":{"message":"Please remove the reasoning_content from your message"}}`), ok, ok)
	a, err := m.Next(t.Context(), agent.Request{})
	if err != nil {
		t.Fatal(err)
	}
	answer := newMessage(agent.ExpertMessage,
		callPart(agent.ToolCall{ID: "a", ToolName: "f", Args: json.RawMessage(`{}`)}),
		agent.Part{Type: agent.ThinkingPart, Text: a.Thinking.Text, Model: a.Thinking.Model,
			Replay: a.Thinking.Replay})
	for range 3 {
		if _, err := m.Next(t.Context(), agent.Request{Messages: []agent.Message{answer}}); err != nil {
			t.Fatal(err)
		}
	}
	const reasoning, signature = `"reasoning_content":"hm"`,
		`"extra_content":{"google":{"thought_signature":"c2ln"}}`
	for i, want := range []string{"", reasoning + signature, reasoning + signature, signature, signature} {
		got := ""
		for _, text := range []string{reasoning, signature} {
			if strings.Contains(s.bodies[i], text) {
				got += text
			}
		}
		if got != want {
			t.Errorf("request %d has %s, want %s:\n%s", i, got, want, s.bodies[i])
		}
	}
}

// TestReasoningDetails has an endpoint that wants back what it thought entry by entry, as
// OpenRouter does: in pieces or whole, the entries are sent back as they are.
func TestReasoningDetails(t *testing.T) {
	const call = `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`
	const text, sealed = `{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"hm","signature":"c2ln"}`, `{"type":"reasoning.encrypted","index":1,"id":"r","data":"ZZ"}`
	const want = `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"c2ln","text":"hm","type":"reasoning.text"},{"data":"ZZ","id":"r","index":1,"type":"reasoning.encrypted"}]`
	for name, thinks := range map[string]func(http.ResponseWriter){
		"whole": whole(200, `{"choices":[{"finish_reason":"tool_calls","message":{"reasoning":"hm","reasoning_details":[`+text+`,`+sealed+`],`+call+`}}]}`),
		"streamed": pieces(true,
			`{"choices":[{"delta":{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"h","signature":null}]}}]}`,
			`{"choices":[{"delta":{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","index":0,"text":"m"}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"c2ln"}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[`+sealed+`],`+call+`}}]}`, finished),
		"mistyped": whole(200, `{"choices":[{"finish_reason":"tool_calls","message":{"reasoning":"hm","reasoning_details":"hm",`+call+`}}]}`),
	} {
		ok := whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
		s, m := at(t, Endpoint{Model: "m"}, thinks, ok,
			whole(400, `{"error":{"message":"Unknown parameter: reasoning_details"}}`), ok)
		a, err := m.Next(t.Context(), agent.Request{})
		if err != nil || a.Thinking.Text != "hm" {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
		answer := newMessage(agent.ExpertMessage,
			callPart(agent.ToolCall{ID: "a", ToolName: "f", Args: json.RawMessage(`{}`)}),
			agent.Part{Type: agent.ThinkingPart, Text: a.Thinking.Text, Model: a.Thinking.Model,
				Replay: a.Thinking.Replay})
		next := func() {
			if _, err := m.Next(t.Context(), agent.Request{Messages: []agent.Message{answer}}); err != nil {
				t.Fatal(err)
			}
		}
		next()
		if name == "mistyped" {
			if !strings.Contains(s.bodies[1], `"reasoning":"hm"`) {
				t.Errorf("%s: the model is sent %s", name, s.bodies[1])
			}
			continue
		}
		if !strings.Contains(s.bodies[1], want) || strings.Contains(s.bodies[1], `"reasoning":`) {
			t.Errorf("%s: the model is sent %s", name, s.bodies[1])
		}
		if next(); strings.Contains(s.bodies[3], "reasoning_details") {
			t.Errorf("%s: the endpoint is sent again what it refused: %s", name, s.bodies[3])
		}
	}
}

// TestLearns has endpoints that refuse what they are asked with, one thing after the other.
func TestLearns(t *testing.T) {
	const (
		okClaude = `{"type":"message","content":[]}`
		okGemini = `{"candidates":[{"finishReason":"STOP"}]}`
		okGPT    = `{"status":"completed","output":[]}`
	)
	complain := func(said string) func(http.ResponseWriter) {
		return whole(400, fmt.Sprintf(`{"type":"error","error":{"message":%q}}`, said))
	}
	tools := []agent.Tool{{Name: "todo"}}
	for _, tt := range []struct {
		e      Endpoint
		said   []string
		answer string
		gone   []string // from the request after each complaint
		has    []string // in that request
	}{
		{Endpoint{Provider: Anthropic, Model: "claude-x", Reasoning: "high"}, []string{
			"max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-x",
			"This model does not support the effort parameter.",
			"adaptive thinking is not supported on this model",
			"thinking: Input should be a valid dictionary"},
			okClaude, []string{`"max_tokens":32000`, `"effort"`, `"adaptive"`, `"thinking"`},
			[]string{`"max_tokens":8192`, `"adaptive"`, `"budget_tokens":4096`, `"temperature":0`}},
		{claude, []string{"`temperature` is deprecated for this model",
			"cache_control: Extra inputs are not permitted", "tool_choice: any is not supported"},
			okClaude, []string{`"temperature"`, `"cache_control"`, `"tool_choice"`}, []string{"", "", ""}},
		{Endpoint{Provider: Google, Model: "gemini-2.5-pro", Reasoning: "none"},
			[]string{"Budget 0 is invalid. This model only works in thinking mode.",
				`Invalid JSON payload received. Unknown name "tool_config"`},
			okGemini, []string{"thinkingBudget", "toolConfig"}, []string{"", ""}},
		{Endpoint{API: "responses", Model: "gpt-4o", Reasoning: "low"},
			[]string{"Encrypted content is not supported with this model.",
				"Unsupported parameter: 'reasoning.effort' is not supported with this model.",
				"Unsupported parameter: 'temperature'"},
			okGPT, []string{`"include"`, `"effort"`, `"temperature"`}, []string{"", "", ""}},
	} {
		answers := []func(http.ResponseWriter){}
		for _, said := range tt.said {
			answers = append(answers, complain(said))
		}
		s, _ := newEndpoint(t, append(answers, whole(200, tt.answer))...)
		tt.e.BaseURL = s.URL
		m, err := New(tt.e)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Next(t.Context(),
			agent.Request{Tools: tools,
				Messages: []agent.Message{newMessage(agent.UserMessage, textPart("go"))}})
		if err != nil || len(s.bodies) != len(tt.said)+1 {
			t.Fatalf("%s: %v; %d requests:\n%s", m.name, err, len(s.bodies), strings.Join(s.bodies, "\n"))
		}
		for i := range tt.said {
			if body := s.bodies[i+1]; strings.Contains(body, tt.gone[i]) ||
				!strings.Contains(body, tt.has[i]) {
				t.Errorf("%s: after %q the request is %s", m.name, tt.said[i], body)
			}
		}
	}
}

// TestOneImage has endpoints that refuse one image, and later take another.
func TestOneImage(t *testing.T) {
	for _, tt := range []struct {
		e      Endpoint
		answer string
	}{{claude, `{"type":"message","content":[]}`}, {gemini, `{"candidates":[{"finishReason":"STOP"}]}`},
		{openaiNew, `{"status":"completed","output":[]}`}} {
		s, m := at(t, tt.e, whole(400,
			`{"error":{"message":"messages.3.content.1.image: image exceeds 5 MB maximum"}}`),
			whole(200, tt.answer), whole(200, tt.answer))
		image := func(id, data string) []agent.Message {
			return []agent.Message{
				newMessage(agent.ExpertMessage,
					callPart(agent.ToolCall{ID: id, ToolName: "t", Args: json.RawMessage("{}")})),
				newMessage(agent.ToolMessage,
					agent.Part{Type: agent.ToolResultPart, ToolCallID: id, ToolName: "t",
						Contents: []agent.Part{{Type: agent.ImageInlinePart, EncodedData: data,
							MimeType: "image/png"}}}),
			}
		}
		messages := image("a", "LARG")
		for range 2 {
			if _, err := m.Next(t.Context(), agent.Request{Messages: messages}); err != nil {
				t.Fatal(err)
			}
			messages = append(messages, image("b", "SMAL")...)
		}
		if last := s.bodies[2]; strings.Contains(last, "LARG") || !strings.Contains(last, "SMAL") ||
			!strings.Contains(last, "image exceeds 5 MB") {
			t.Errorf("%s: the last request is %s", m.name, last)
		}
	}
}

// TestOneConnection streams fifty answers over each protocol.
func TestOneConnection(t *testing.T) {
	for _, tt := range []struct {
		e      Endpoint
		answer string
	}{
		{claude, `{"type":"message_stop"}`}, {gemini, `{"candidates":[{"finishReason":"STOP"}]}`},
		{openaiNew, `{"type":"response.completed","response":{"status":"completed"}}`},
	} {
		var opened atomic.Int32
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			typed(true, tt.answer)(w)
		}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
		s.Start()
		tt.e.BaseURL = s.URL
		m, err := New(tt.e)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if _, err := m.Next(t.Context(),
				agent.Request{Messages: []agent.Message{newMessage(agent.UserMessage, textPart("go"))}}); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if n := opened.Load(); n != 1 {
			t.Errorf("%s: %d connections were opened", m.name, n)
		}
	}
}

// TestHeard has the model's words reported as they come, and its signs of life.
func TestHeard(t *testing.T) {
	for _, tt := range []struct {
		e      Endpoint
		answer []string
	}{
		{claude, []string{`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
			`{"type":"message_stop"}`}},
		{gemini, []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`}},
		{openaiNew, []string{`{"type":"response.output_text.delta","delta":"a"}`,
			`{"type":"response.output_text.delta","delta":"b"}`,
			`{"type":"response.completed","response":{"status":"completed"}}`}},
	} {
		_, m := at(t, tt.e, typed(true, tt.answer...))
		words, signs := "", 0
		heard := func(text string) {
			if words += text; text == "" {
				signs++
			}
		}
		if _, err := m.Next(t.Context(),
			agent.Request{Heard: heard,
				Messages: []agent.Message{newMessage(agent.UserMessage, textPart("go"))}}); err != nil {
			t.Fatal(err)
		}
		if words != "ab" || signs == 0 {
			t.Errorf("%s: heard %q and %d signs of life", m.name, words, signs)
		}
	}
}

// TestGoogleWait has an endpoint that says in its body how long to wait.
func TestGoogleWait(t *testing.T) {
	_, m := at(t, gemini, whole(429,
		`{"error":{"code":429,"message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`))
	_, err := m.Next(context.Background(),
		agent.Request{Messages: []agent.Message{newMessage(agent.UserMessage, textPart("go"))}})
	fault, _ := errors.AsType[*remote.Error](err)
	if fault == nil || !fault.Retry || fault.After != 34500*time.Millisecond {
		t.Errorf("%+v", fault)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		e    Endpoint
		want string
	}{
		{Endpoint{Model: "gpt-5"}, "*provider.responses"},
		{Endpoint{Model: "gpt-4o"}, "*provider.chat"},
		{Endpoint{Model: "gpt-5", BaseURL: "https://example.org"}, "*provider.chat"},
		{Endpoint{Model: "gpt-5", API: "chat"}, "*provider.chat"},
		{Endpoint{Model: "m", Provider: "mistral"},
			`provider "mistral" is not supported; there are openai (any endpoint that speaks OpenAI's protocols), anthropic, google, deepseek and ollama`},
		{Endpoint{Model: "m", API: "rpc"},
			`the API "rpc" of the provider openai is not supported; openai has chat and responses`},
		{Endpoint{Model: "m", Provider: Google, API: "chat"},
			`the API "chat" of the provider google is not supported; openai has chat and responses`},
		{Endpoint{Model: "m", Provider: Anthropic, Temperature: 1.5},
			"temperature 1.5: anthropic takes 0 to 1"},
		{Endpoint{Model: "m", Provider: Anthropic, BaseURL: "x"},
			"the base URL (ANTHROPIC_BASE_URL) is not an address; it looks like https://api.anthropic.com"},
		{Endpoint{Model: "m", Provider: Google, BaseURL: "http://example.org", Key: "k"},
			"a key is not sent over plain http to example.org; use https, or give no key"},
		{Endpoint{Provider: Google}, "the model is not named"},
	} {
		m, err := New(tt.e)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%T", m.protocol)
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.e, got, tt.want)
		}
	}
}

func TestByModel(t *testing.T) {
	for _, tt := range []struct{ model, keys, want string }{
		{"claude-opus-4-8", "anthropic", "anthropic"},
		{"claude-opus-4-8", "anthropic openai", "openai"},
		{"claude-opus-4-8", "google", "openai"},
		{"gemini-3-pro", "google anthropic", "google"},
		{"gpt-4o", "google anthropic", "openai"},
		{"claude-opus-4-8", "", "openai"},
	} {
		if p, _ := ByModel(tt.model, func(p Provider) string {
			if strings.Contains(tt.keys, p.Name) {
				return p.Keys[0]
			}
			return ""
		}); p.Name != tt.want {
			t.Errorf("%s with the keys %q: %s, want %s", tt.model, tt.keys, p.Name, tt.want)
		}
	}
}

// FuzzAnswers has whatever an endpoint sends be an answer or an error with a reason.
func FuzzAnswers(f *testing.F) {
	f.Add(0, 200, "text/event-stream",
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	f.Add(1, 200, "application/json",
		`{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}`)
	f.Add(2, 200, "text/event-stream",
		"data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\"}]}}\n\n")
	f.Add(2, 400, "application/json", `{"error":{"message":"temperature"}}`)
	f.Fuzz(func(t *testing.T, which, status int, kind, body string) {
		if status < 200 || status > 599 {
			return
		}
		e := []Endpoint{claude, gemini, openaiNew}[uint(which)%3]
		e.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
			return w.Result(), nil
		})
		m, err := New(e)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Next(t.Context(), agent.Request{Messages: conversation(m.name, `[{"kind":"thought","item":{"a":1}}]`)})
		if fault, ok := err.(*remote.Error); err != nil &&
			(!ok || fault.Reason == "") || err == nil &&
			status > 299 {
			t.Fatalf("%d %q: %T %v", status, body, err, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
