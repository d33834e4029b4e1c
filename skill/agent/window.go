package agent

// windows are the context windows of models, in tokens, by the beginnings of their names.
var windows = map[string]int{
	"gpt-3.5": 16_385, "gpt-4": 8_192, "gpt-4-turbo": 128_000, "gpt-4-1106": 128_000, "gpt-4-0125": 128_000,
	"gpt-4.5": 128_000, "gpt-4o": 128_000, "gpt-4.1": 1_047_576,
	"gpt-5": 400_000, "gpt-5-chat": 128_000, "o1": 200_000, "o1-mini": 128_000, "o1-preview": 128_000,
	"o3": 200_000, "o4": 200_000, "claude-": 200_000,
	"gemini-2": 1_048_576, "gemini-3": 1_048_576, "deepseek-": 128_000, "mistral-large": 128_000,
	"llama-3.1": 131_072, "llama-3.3": 131_072, "qwen3-": 32_768,
}

// ContextWindow returns how many tokens fit the context of a model, 0 if that is not
// known.
func ContextWindow(model string) int {
	tokens, _ := longestPrefix(windows, model)
	return tokens
}
