package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"textskill/llmfallback/remote"
)

// A Transport carries one request of go-openai's client to an endpoint. It gives the answer the strict form that
// the types of that client read, however the endpoint spells it.
type Transport struct {
	Client *Client
	// set in the request: go-openai leaves out a temperature of 0, and refuses limits and tools by the model's name
	Fields map[string]any
	Got    Completion // the whole answer: go-openai's types have no place for some of it
}

// RoundTrip implements [http.RoundTripper]. Its errors are [*remote.Error].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	body, err := t.body(r.Body)
	if err != nil {
		return nil, err
	}
	if t.Got, err = t.Client.complete(r.Context(), body, Request{}); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(t.Got.strict())
	if err != nil {
		return nil, &remote.Error{Reason: "the answer cannot be read", Err: err}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(answer)), Request: r}, nil
}

// body is the request of go-openai with the fields. Its messages all have a content.
func (t *Transport) body(r io.Reader) (remote.Body, error) {
	var sent map[string]json.RawMessage // in which the keys of schemas keep their order
	var messages []map[string]any
	err := json.NewDecoder(r).Decode(&sent)
	if err == nil {
		err = json.Unmarshal(sent["messages"], &messages)
	}
	var list remote.List
	for _, m := range messages {
		if m["content"] == nil {
			m["content"] = ""
		}
		err = cmp.Or(err, list.Append(m))
	}
	if err != nil {
		return remote.Body{}, &remote.Error{Reason: "the request cannot be written as JSON", Err: err}
	}
	request := map[string]any{}
	for name, value := range sent {
		request[name] = value
	}
	maps.Copy(request, t.Fields)
	request["messages"] = nil
	return remote.NewBody(request, "messages", list)
}

// strict returns the answer in go-openai's types.
func (c Completion) strict() openai.ChatCompletionResponse {
	message := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: c.Text,
		Refusal: c.Refusal, ReasoningContent: c.Reasoning}
	for _, call := range c.Calls {
		message.ToolCalls = append(message.ToolCalls, call.strict())
	}
	return openai.ChatCompletionResponse{Model: c.Model,
		Choices: []openai.ChatCompletionChoice{{Message: message, FinishReason: openai.FinishReason(c.Finish)}},
		Usage: openai.Usage{PromptTokens: c.Usage.Prompt, CompletionTokens: c.Usage.Completion,
			TotalTokens: c.Usage.Total}}
}
