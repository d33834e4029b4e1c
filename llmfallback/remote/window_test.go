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
	} {
		if yes, window := tooLong(said); !yes || window != want {
			t.Errorf("%q: %v, %d, want %d", said, yes, window, want)
		}
	}
	for _, said := range []string{"Incorrect API key", "image exceeds 5 MB maximum", "Unsupported value: 'temperature'", "Rate limit reached: 30000 tokens per minute"} {
		if yes, _ := tooLong(said); yes {
			t.Errorf("%q is taken for a full window", said)
		}
	}
}
