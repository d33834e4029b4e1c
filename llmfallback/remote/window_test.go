package remote

import "testing"

// TestTooLong has what endpoints say of a request that does not fit, and of others.
func TestTooLong(t *testing.T) {
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
	} {
		if yes, window := tooLong(said); !yes || window != want {
			t.Errorf("%q: %v, %d, want %d", said, yes, window, want)
		}
	}
	for _, said := range []string{"Incorrect API key", "image exceeds 5 MB maximum", "Unsupported value: 'temperature'", "Rate limit reached: 30000 tokens per minute", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."} {
		if yes, _ := tooLong(said); yes {
			t.Errorf("%q is taken for a full window", said)
		}
	}
}
