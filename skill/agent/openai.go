package agent

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"textskill/llmfallback/openai"
)

// An Endpoint says where a model is that speaks OpenAI's chat completions.
type Endpoint struct {
	BaseURL     string // "" means OpenAI's own; /v1 is added to a bare host
	Key         string // sent as a bearer token, over https or to this machine only; may be ""
	Model       string
	Temperature float64 // below 0 leaves it to the endpoint

	Transport http.RoundTripper // nil means one of its own
}

// OpenAI is the model of an [Endpoint]. Answers are streamed where the endpoint
// can. A parameter or a type of content that the endpoint refuses, such as a
// temperature or images, is left out of later requests.
type OpenAI struct {
	endpoint Endpoint
	client   *openai.Client

	mu      sync.Mutex
	refused []string // names of parameters
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

// The parameters that can be left out, as [openai.Error] names them.
const (
	temperature   = "temperature"
	toolChoice    = "tool_choice"
	streamOptions = "stream_options"
	images        = "image"
	files         = "file"
)

// Next asks the endpoint. Errors are [*openai.Error].
func (m *OpenAI) Next(ctx context.Context, r Request) (Answer, error) {
	for {
		refused := m.without()
		c, err := m.client.Complete(ctx, m.request(r, refused))
		fault, failed := errors.AsType[*openai.Error](err)
		switch {
		case !failed && c.Finish == "content_filter":
			return Answer{}, &openai.Error{Reason: "the endpoint's content filter stopped the answer", Retry: true}
		case !failed:
			return answer(c), nil
		case slices.Contains(refused, fault.Parameter) || !m.refuse(fault.Parameter):
			return Answer{}, fault
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
	case temperature, toolChoice, streamOptions, images, files:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused = append(m.refused, parameter)
		return true
	}
	return false
}

// request spells a request without what the endpoint refuses.
func (m *OpenAI) request(r Request, refused []string) openai.Request {
	accepts := func(name string) bool { return !slices.Contains(refused, name) }
	s := openai.Request{Model: m.endpoint.Model, Stream: true}
	if accepts(streamOptions) {
		s.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if m.endpoint.Temperature >= 0 && accepts(temperature) {
		s.Temperature = &m.endpoint.Temperature
	}
	for _, t := range r.Tools {
		s.Tools = append(s.Tools, openai.Tool{Name: t.Name, Description: t.Doc, Parameters: t.Schema})
	}
	if len(r.Tools) > 0 && accepts(toolChoice) {
		s.ToolChoice = "required"
	}
	for _, message := range r.Messages {
		s.Messages = append(s.Messages, spelled(message, accepts)...)
	}
	return s
}

// spelled returns a message as the protocol has it.
func spelled(m Message, accepts func(parameter string) bool) []openai.Message {
	out := openai.Message{Role: "assistant"}
	switch m.Type {
	case InstructionMessage:
		out.Role = "system"
	case UserMessage:
		out.Role = "user"
	case ToolMessage:
		return spelledResults(m, accepts)
	}
	text := ""
	for _, p := range m.Contents {
		switch p.Type {
		case TextPart:
			text += p.Text
		case ToolCallPart:
			out.ToolCalls = append(out.ToolCalls, openai.Call{ID: p.ToolCallID, Name: cmp.Or(toolName(p.ToolName), "_"), Arguments: string(p.Args)})
		}
	}
	if text != "" || out.ToolCalls == nil {
		out.Content = text
	}
	return []openai.Message{out}
}

// spelledResults returns the results of calls. A result can only be text, so
// images and files follow in a message of the user's.
func spelledResults(m Message, accepts func(parameter string) bool) (list []openai.Message) {
	var shown []openai.Part
	for _, r := range m.Contents {
		note := openai.Part{Text: "What " + r.ToolName + " (call " + r.ToolCallID + ") shows:"}
		var text strings.Builder
		for _, p := range r.Contents {
			data := "data:" + p.MimeType + ";base64," + p.EncodedData
			switch {
			case p.Type == TextPart:
				text.WriteString(p.Text)
			case p.Type == ImageInlinePart && accepts(images):
				shown = append(shown, note, openai.Part{Image: data})
			case p.Type == FileInlinePart && accepts(files):
				shown = append(shown, note, openai.Part{File: data})
			default:
				text.WriteString("\n(This model cannot be shown it: its endpoint takes no " + p.MimeType + ".)")
			}
		}
		list = append(list, openai.Message{Role: "tool", ToolCallID: r.ToolCallID, Content: text.String()})
	}
	if shown != nil {
		list = append(list, openai.Message{Role: "user", Content: shown})
	}
	return list
}

func answer(c openai.Completion) Answer {
	a := Answer{Text: c.Text + c.Refusal, Cut: c.Finish == "length", Usage: Usage{
		InputTokens: c.Usage.Prompt, OutputTokens: c.Usage.Completion, TotalTokens: c.Usage.Total,
		CachedInputTokens: c.Usage.PromptDetails.Cached, ReasoningTokens: c.Usage.CompletionDetails.Reasoning,
	}}
	for _, call := range c.Calls {
		a.Calls = append(a.Calls, Call(call))
	}
	return a
}
