package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

// An Endpoint says where a model is that speaks OpenAI's chat completions.
type Endpoint struct {
	BaseURL     string // "" means OpenAI's own; /v1 is added to a bare host
	Key         string // sent as a bearer token, over https or to this machine only; may be ""
	Model       string
	Temperature float64 // below 0 leaves it to the endpoint
	Reasoning   string  // "none", "minimal", "low", "medium" or "high"; "" leaves it to the endpoint

	Transport http.RoundTripper // nil means one of its own
}

// OpenAI is the model of an [Endpoint]. Answers are streamed where the endpoint
// can. A parameter or a type of content that the endpoint refuses, such as a
// temperature or images, is left out of later requests.
type OpenAI struct {
	endpoint Endpoint
	client   *openai.Client

	mu      sync.Mutex
	refused []string    // names of parameters
	encoded []*encoding // of conversations, the one used last first
	media   mediaState
}

// NewOpenAI returns the model of an endpoint. Errors say which of its fields is
// wrong.
func NewOpenAI(e Endpoint) (*OpenAI, error) {
	client, err := openai.New(openai.Config{BaseURL: e.BaseURL, Key: e.Key, Transport: e.Transport})
	if err == nil && e.Model == "" {
		err = errors.New("the model is not named")
	}
	return &OpenAI{endpoint: e, client: client}, err
}

// The parameters that can be left out, as [remote.Error] names them.
const (
	temperature     = "temperature"
	reasoningEffort = "reasoning_effort"
	toolChoice      = "tool_choice"
	streamOptions   = "stream_options"
	responseFormat  = "response_format"
	jsonSchema      = "json_schema"
	images          = "image"
	files           = "file"
)

// Next asks the endpoint. Errors are [*remote.Error].
func (m *OpenAI) Next(ctx context.Context, r Request) (Answer, error) {
	for {
		refused := m.without()
		request, err := m.request(r, refused)
		if err != nil {
			return Answer{}, err
		}
		c, err := m.client.Complete(ctx, request)
		fault, failed := errors.AsType[*remote.Error](err)
		switch {
		case !failed && c.Finish == "content_filter":
			return Answer{Usage: usage(c)}, &remote.Error{Reason: "the endpoint's content filter stopped the answer", Retry: true}
		case !failed:
			m.answered(r.Messages)
			return answer(c), nil
		case fault.TooLong:
			return Answer{Usage: usage(c)}, fault
		case m.refuseMedia(r.Messages, fault):
		case slices.Contains(refused, fault.Parameter) || !m.refuse(fault.Parameter):
			return Answer{Usage: usage(c)}, fault
		}
	}
}

func (m *OpenAI) without() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.refused)
}

// refuse notes a parameter that the endpoint does not accept. It reports whether
// requests can do without it.
func (m *OpenAI) refuse(parameter string) bool {
	switch parameter {
	case temperature, reasoningEffort, responseFormat, jsonSchema, toolChoice, streamOptions, images, files:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused = append(m.refused, parameter)
		return true
	}
	return false
}

// request spells a request without what the endpoint refuses.
func (m *OpenAI) request(r Request, refused []string) (s openai.Request, err error) {
	accepts := func(name string) bool { return !slices.Contains(refused, name) }
	s = openai.Request{Model: m.endpoint.Model, Stream: true, Heard: r.Heard}
	if accepts(streamOptions) {
		s.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if m.endpoint.Temperature >= 0 && accepts(temperature) {
		s.Temperature = &m.endpoint.Temperature
	}
	for _, t := range r.Tools {
		s.Tools = append(s.Tools, openai.Tool{Name: t.Name, Description: t.Doc, Parameters: t.Schema})
	}
	if accepts(reasoningEffort) {
		s.ReasoningEffort = m.endpoint.Reasoning
	}
	if r.Schema != nil && accepts(responseFormat) && accepts(jsonSchema) {
		s.ResponseFormat, err = json.Marshal(map[string]any{"type": jsonSchema, jsonSchema: map[string]any{"name": "report", "schema": r.Schema}})
		if err != nil {
			return s, err
		}
	}
	if len(r.Tools) > 0 && accepts(toolChoice) {
		s.ToolChoice = "required"
	}
	s.Conversation, err = m.conversation(r.Messages, accepts)
	return s, err
}

func answer(c openai.Completion) Answer {
	a := Answer{Text: c.Text + c.Refusal, Cut: c.Finish == "length", Usage: usage(c)}
	for _, call := range c.Calls {
		a.Calls = append(a.Calls, Call(call))
	}
	return a
}

func usage(c openai.Completion) Usage {
	return Usage{
		InputTokens: c.Usage.Prompt, OutputTokens: c.Usage.Completion, TotalTokens: c.Usage.Total,
		CachedInputTokens: c.Usage.PromptDetails.Cached, ReasoningTokens: c.Usage.CompletionDetails.Reasoning,
	}
}
