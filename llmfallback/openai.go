package llmfallback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	endpoints "textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

// request builds one chat request of shape s. limit is in tokens. The fields are those that go-openai's type
// leaves out or refuses: see [endpoints.Transport].
func (s shape) request(model string, messages []message, limit int) (r openai.ChatCompletionRequest,
	fields map[string]any) {
	fields = map[string]any{"model": model, "stream": false}
	for _, m := range messages {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: m.role, Content: m.text})
	}
	switch s.rung {
	case rungSchema:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: toolName, Schema: answerSchema(), Strict: true}}
	case rungObject:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case rungTool:
		r.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: toolName,
			Description: "Report the one file operation that the request asks for.", Strict: true, Parameters: answerSchema()}}}
		r.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: toolName}}
	}
	switch {
	case s.noLimit:
	case s.completionLimit:
		fields["max_completion_tokens"] = limit
	default:
		fields["max_tokens"] = limit
	}
	if !s.noTemperature {
		fields["temperature"] = 0
	}
	return r, fields
}

const toolName = "file_operation"

// overOpenAI returns the sender that asks a model by go-openai's client.
func overOpenAI(client *endpoints.Client, model string) sender {
	return func(ctx context.Context, s shape, messages []message, limit int, t *Telemetry) (answer, error) {
		request, fields := s.request(model, messages, limit)
		carrier := &endpoints.Transport{Client: client, Fields: fields}
		config := openai.DefaultConfig("") // the carrier has the key
		config.BaseURL, config.HTTPClient = client.BaseURL(), &http.Client{Transport: carrier}
		r, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, request)
		t.HTTPStatus = carrier.Got.Status
		t.Bytes += carrier.Got.Bytes
		if fault, ok := errors.AsType[*remote.Error](err); ok {
			fault.Said = "" // endpoints repeat the prompt and parts of the key
			return answer{}, fault
		}
		if err != nil {
			return answer{}, &remote.Error{Reason: "the request cannot be sent", Err: err}
		}
		t.Model = name(r.Model)
		count(&t.PromptTokens, r.Usage.PromptTokens)
		count(&t.CompletionTokens, r.Usage.CompletionTokens)
		a, err := spoken(r.Choices[0], s.rung)
		a.cut = a.cut || !s.noLimit && r.Usage.CompletionTokens >= limit
		if carrier.Got.Object {
			a.repairs = append(a.repairs, repairObject)
		}
		return a, err
	}
}

// spoken finds the answer in a completion: in the arguments of the one tool call,
// in the text, or, if there is neither, in the reasoning.
func spoken(c openai.ChatCompletionChoice, rung string) (answer, error) {
	m, a := c.Message, answer{cut: c.FinishReason == openai.FinishReasonLength}
	switch {
	case c.FinishReason == openai.FinishReasonContentFilter:
		return a, fmt.Errorf("%w: the endpoint's content filter stopped it", ErrRefused)
	case m.Refusal != "":
		return a, &AnswerError{ErrRefused, remote.OneLine(m.Refusal)}
	case len(m.ToolCalls) > 1:
		return a, fmt.Errorf("%w: there are several tool calls; one command is one operation",
			ErrNotOneOperation)
	case len(m.ToolCalls) == 1:
		a.text = m.ToolCalls[0].Function.Arguments
	case strings.TrimSpace(m.Content) != "":
		a.text = m.Content
		if rung == rungTool {
			a.repairs = []string{repairContent}
		}
	default:
		if text := strings.TrimSpace(m.ReasoningContent); json.Valid([]byte(text)) && text[0] == '{' {
			a.text, a.repairs = text, []string{repairReasoning}
		}
	}
	return a, nil
}
