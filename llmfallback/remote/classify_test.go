package remote

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// TestOverflow has what endpoints say of a request that does not fit, and the window that they
// name.
func TestOverflow(t *testing.T) {
	for said, want := range map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9876 tokens.":                                   8192,
		"prompt is too long: 213462 tokens > 200000 maximum":                                                                                    200000,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1,048,576).":                                             1048576,
		"the request exceeds the available context size (4096 tokens). try increasing the context size":                                         4096,
		"request (5120 tokens) exceeds the available context size (4096 tokens), try increasing it":                                             4096,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                          0,
		"Requested token count exceeds the model's maximum context length of 131072 tokens.":                                                    131072,
		"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens": 4096,

		"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.": 16384,
		"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again":                                                                     200000,
		"The input token count exceeds the maximum number of tokens allowed 1048576.":                                                                                                                          1048576,
		"This model's maximum prompt length is 131072 but the request contains 150000 tokens.":                                                                                                                 131072,
		"The decoder prompt (length 35247) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.":                                     32768,
		"'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum context length is 8192 tokens and your request has 5000 input tokens":                                               8192,
		"The input (9000 tokens) is longer than the model's context length (8192 tokens).":                                                                                                                     8192,
		"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000":                                                                                                                        4096,
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3900 `inputs` tokens and 512 `max_new_tokens`":                                                                     4096,
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length":                                                                                               32768,
		"Requested tokens (2285) exceed context window of 2048":                                                                                                                                                2048,
		"prompt too long; exceeded max context length by 1204 tokens":                                                                                                                                          0,
		"input length exceeds maximum context length":                                                                                                                                                          0,
		"the request exceeds the available context size. try increasing the context size or enable context shift (n_ctx 8192)":                                                                                 8192,
		"The prompt is too long: 140000, model maximum context length: 131071":                                                                                                                                 131071,
		"prompt token count of 150000 exceeds the limit of 128000":                                                                                                                                             128000,
		"Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)":                                                                                                                 131072,
		"Range of input length should be [1, 30720]":                                                                                                                                                           30720,
		"Input is too long for requested model.":                                                                                                                                                               0,
		"invalid params, context window exceeds limit (2013)":                                                                                                                                                  0,
		"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192":                                                                                                   8192,
		"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292":                                                                                                             4081,
		"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.":                                                                                                                       131040,
		"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens":                                                                                                    32768,
		"Prompt exceeds max length": 0,
		"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.":                          272000,
		"length of prompt_tokens (40000) must be less than max_seq_len (32768).":                                                       32768,
		"Unable to submit request because the input token count is 1100000 but the model only supports up to 1048576.":                 1048576,
		"tokens in request more than max tokens allowed":                                                                               0,
		"The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8000).":              8000,
		"Reached context length of 4096 tokens with model, but this model does not currently support mid-generation context overflow.": 4096,
		"The prompt (length 9000) is longer than the maximum model length of 8192.":                                                    8192,
		"litellm.ContextWindowExceededError: AnthropicException":                                                                       0,
	} {
		data, _ := json.Marshal(said)
		for _, body := range []string{`{"error":{"message":` + string(data) + `,"code":400}}`,
			`{"detail":` + string(data) + `}`, `[{"error":{"message":` + string(data) + `}}]`, said} {
			if class, _, window := read([]byte(body)).class(400); class != Overflow || window != want {
				t.Errorf("%s: %s, %d, want %d", body, class, window, want)
			}
		}
	}
}

// TestClasses has bodies of endpoints with their status.
func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		class  Class
		rule   string
	}{
		{400, `{"error":{"message":"Incorrect value","type":"invalid_request_error"}}`, "", ""},
		{400, `{"error":{"message":"image exceeds 5 MB maximum"}}`, "", ""},
		{400, `{"error":{"message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4"}}`, "", ""},
		{400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."}}`, "", ""},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}","provider_name":"X"}}}`, Overflow, ""},
		{400, `{"error":{"message":"litellm.BadRequestError: BedrockException - {\"message\":\"Input is too long for requested model.\"}"}}`, Overflow, ""},
		{413, ``, Overflow, ""},
		{400, `{"error":{"message":"x","code":"context_length_exceeded"}}`, Overflow, ""},
		{429, `{"error":{"message":"Rate limit reached on tokens per minute (TPM). Please try again in 25s.","code":"rate_limit_exceeded"}}`, RateLimit, ""},
		{429, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","code":"rate_limit_exceeded"}}`, Overflow, ""},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, Quota, ""},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. limit: 0, model: gemini-2.5-pro","status":"RESOURCE_EXHAUSTED"}}`, Quota, ""},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. limit: 5. Please retry in 31s.","status":"RESOURCE_EXHAUSTED"}}`, RateLimit, ""},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, Quota, ""},
		{402, `{"error":{"message":"Insufficient Balance"}}`, Quota, ""},
		{403, `{"error":{"message":"Billing hard limit has been reached","code":"billing_hard_limit_reached"}}`, Quota, ""},
		{400, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed","failed_generation":"x"}}`, Malformed, ""},
		{500, `{"error":{"message":"error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input"}}`, Malformed, ""},
		{500, `{"error":{"code":500,"message":"Failed to parse input at pos 10: <tool_call>","type":"server_error"}}`, Malformed, ""},
		{400, `{"message":"The toolConfig field must be defined when using toolUse and toolResult content blocks."}`, Refused, ToolsStay},
		{400, `{"error":{"message":"litellm.UnsupportedParamsError: Anthropic expects the ` + "`tools=`" +
			` param to be passed in. Bedrock doesn't support tool calling without ` + "`tools=`" +
			` param specified for the first call."}}`, Refused, ToolsStay},
		{400, `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}`, Refused, RolesTurn},
		{500, `{"error":"Conversation roles must alternate user/assistant/user/assistant/..."}`, Refused,
			RolesTurn},
		{400, `{"error":{"message":"Only user, assistant and tool roles are supported, got system."}}`,
			Refused, NoSystem},
		{400, `{"error":{"message":"System role not supported"}}`, Refused, NoSystem},
		{400, `{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`, Refused, NoSystem},
		{400, `{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}`,
			Refused, ShortIDs},
		{400, `{"error":{"message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" +
			` block"}}`, Refused, NoThoughts},
		{400, `{"error":{"message":"The encrypted content gAAA could not be verified.","code":"invalid_encrypted_content"}}`, Refused, NoThoughts},
		{400, `{"error":"registry.ollama.ai/library/gemma3:latest does not support tools"}`,
			Refused, NoTools},
		{404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`,
			Refused, NoTools},
		{400, `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, Refused, NoTools},
		{500, `{"error":{"message":"tools param requires --jinja flag"}}`, Refused, NoTools},
		{400, `{"message":"This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again."}`, Refused, NoChoice},
		{400, `{"error":{"message":"Tool choice must be auto"}}`, Refused, NoChoice},
		{500, `{"error":"tool_choice 'required' is not supported with this template"}`, Refused, NoChoice},
		{400, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field."}}`, Refused, OpenAPI},
		{400, `{"error":{"message":"Invalid schema for function 'n2': In context=(), object schema missing properties.","param":"tools[1].function.parameters"}}`, Refused, RefusedTool + " n2"},
		{400, `{"error":{"message":"tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"}}`, Refused, RefusedTool + " #3"},
		{400, `{"error":{"message":"* GenerateContentRequest.tools[0].function_declarations[3].parameters.properties[a].items: missing field."}}`, Refused, RefusedTool + " #3"},
		{401, `{"error":{"message":"bad key"}}`, Login, ""},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Server, ""},
		{200, "event: error\ndata: {\"error\":{\"message\":\"context length of only 4096\"}}\n\n",
			Overflow, ""},
	} {
		class, rule, _ := read([]byte(tt.body)).class(tt.status)
		if class != tt.class || rule != tt.rule {
			t.Errorf("%d %s\n got %q, %q\nwant %q, %q", tt.status, tt.body, class, rule, tt.class, tt.rule)
		}
	}
}

// TestWaits has the ways in which endpoints ask to wait.
func TestWaits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for body, want := range map[string]time.Duration{
		`{"error":{"message":"Please try again in 25s."}}`:                                                                                          25 * time.Second,
		`{"error":{"message":"Please try again in 7m12.5s. Visit"}}`:                                                                                7*time.Minute + 12500*time.Millisecond,
		`{"error":{"message":"Please try again in 230ms."}}`:                                                                                        230 * time.Millisecond,
		`{"error":{"message":"Please retry after 20 seconds."}}`:                                                                                    20 * time.Second,
		`{"error":{"message":"Please wait for 1 minute and 5 seconds"}}`:                                                                            65 * time.Second,
		`{"error":{"message":"Please retry in 31.5s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31s"}]}}`:        31500 * time.Millisecond,
		`{"error":{"message":"x","details":[{"@type":"x"},{"retryDelay":"31s"}]}}`:                                                                  31 * time.Second,
		`{"error":{"message":"Rate limit exceeded: free-models-per-min.","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"1772366460000"}}}}`: time.Minute,
		`{"error":{"message":"slow down"}}`:                                                                                                         0,
	} {
		if got := read([]byte(body)).wait(now); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	c := &Client{now: func() time.Time { return now }}
	for _, tt := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"3"}}, 3 * time.Second},
		{http.Header{"Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{http.Header{"X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Tokens": {"0"},
			"X-Ratelimit-Reset-Requests": {"1s"}}, 6 * time.Minute},
		{http.Header{"X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Tokens": {"9"},
			"X-Ratelimit-Reset-Requests": {"1s"}}, time.Second},
		{http.Header{"Anthropic-Ratelimit-Tokens-Reset": {"2026-03-01T12:00:30Z"},
			"Anthropic-Ratelimit-Tokens-Remaining": {"0"}}, 30 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"1772366410000"}}, 10 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"soon"}}, 0},
	} {
		if got := c.after(tt.header); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.header, got, tt.want)
		}
	}
}
