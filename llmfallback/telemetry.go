package llmfallback

import (
	"encoding/json"
	"time"
)

// Telemetry records the cost of an extraction. It never holds the prompt, the key, the
// answer, or the error text of an endpoint. For the rules it is zero.
type Telemetry struct {
	Outcome  string `json:"outcome"` // accept, repair_accept, clarify, confirm or fail
	Endpoint string `json:"endpoint,omitempty"`
	Rung     string `json:"rung,omitempty"`  // the last one tried: json_schema, json_object, tool or text
	Model    string `json:"model,omitempty"` // that answered, as the endpoint names it

	Attempts  int      `json:"attempts"` // HTTP requests
	Retries   int      `json:"retries,omitempty"`
	RungMoves int      `json:"rung_moves,omitempty"` // requests changed to what the endpoint accepts
	Waits     int      `json:"waits,omitempty"`      // requests repeated because the model was loading
	Reasks    int      `json:"reasks,omitempty"`
	Repairs   []string `json:"repairs,omitempty"`

	HTTPStatus int `json:"http_status,omitempty"` // of the last answer
	// of all attempts; nil if the endpoint does not count
	PromptTokens     *int `json:"prompt_tokens"`
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

// count adds n to a sum that is nil until something is counted.
func count(sum **int, n int) {
	if n <= 0 {
		return
	}
	if *sum == nil {
		*sum = new(int)
	}
	**sum += n
}

// name cuts what an endpoint or a model calls something to 64 bytes without spaces,
// so that it cannot carry a text.
func name(s string) string {
	for i, r := range s {
		if i >= 64 || r <= ' ' || r > '~' {
			return s[:i]
		}
	}
	return s
}
