package llmfallback

import (
	"encoding/json"
	"time"
)

// Telemetry tells what an extraction took. It never holds the prompt, the key,
// the answer, or an endpoint's error text. The zero Telemetry is that of the rules.
type Telemetry struct {
	Outcome  string `json:"outcome"` // accept, repair_accept, clarify, confirm or fail
	Endpoint string `json:"endpoint,omitempty"`
	Rung     string `json:"rung,omitempty"`  // json_schema, json_object, tool or text: the last that was tried
	Model    string `json:"model,omitempty"` // as the endpoint calls the one that answered

	Attempts  int      `json:"attempts"` // HTTP requests
	Retries   int      `json:"retries,omitempty"`
	RungMoves int      `json:"rung_moves,omitempty"` // requests changed to what the endpoint takes
	Reasks    int      `json:"reasks,omitempty"`
	Repairs   []string `json:"repairs,omitempty"`

	HTTPStatus       int  `json:"http_status,omitempty"` // of the last answer
	PromptTokens     *int `json:"prompt_tokens"`         // over all attempts; nil when the endpoint does not count
	CompletionTokens *int `json:"completion_tokens"`
	Bytes            int  `json:"bytes,omitempty"` // of all answers

	Latency   time.Duration   `json:"latency_ns,omitempty"`
	Latencies []time.Duration `json:"latencies_ns,omitempty"` // per attempt
	CacheHit  bool            `json:"cache_hit,omitempty"`
}

// String returns t as one line of JSON.
func (t Telemetry) String() string {
	line, err := json.Marshal(t)
	if err != nil {
		panic(err) // numbers and texts marshal
	}
	return string(line)
}

// count adds n to a sum that is nil until something was counted.
func count(sum **int, n int) {
	if n <= 0 {
		return
	}
	if *sum == nil {
		*sum = new(int)
	}
	**sum += n
}

// name shortens what an endpoint says of itself, so that it cannot carry a text.
func name(s string) string {
	for i, r := range s {
		if i >= 64 || r <= ' ' || r > '~' {
			return s[:i]
		}
	}
	return s
}
