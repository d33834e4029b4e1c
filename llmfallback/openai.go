package llmfallback

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// request builds one chat request of shape s. limit is in tokens.
func (s shape) request(model string, messages []message, limit int) (openai.ChatCompletionRequest, map[string]json.RawMessage) {
	r := openai.ChatCompletionRequest{Model: model}
	for _, m := range messages {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: m.role, Content: m.text})
	}
	switch s.rung {
	case rungSchema:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "file_operation", Schema: answerSchema(), Strict: true},
		}
	case rungObject:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case rungTool:
		r.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: "file_operation", Description: "Report the one file operation that the request asks for.", Parameters: answerSchema(), Strict: true,
		}}}
		r.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: "file_operation"}}
	}
	// go-openai leaves a zero temperature out, and holds max_tokens deprecated,
	// which is the one name of the limit that local servers know.
	set := map[string]json.RawMessage{}
	switch {
	case s.noLimit:
	case s.completionLimit:
		r.MaxCompletionTokens = limit
	default:
		set["max_tokens"] = strconv.AppendInt(nil, int64(limit), 10)
	}
	if !s.noTemperature {
		set["temperature"] = json.RawMessage("0")
	}
	return r, set
}

// overOpenAI returns the sender that speaks the chat completions API to m over w.
func overOpenAI(m Model, w *wire) sender {
	config := openai.DefaultConfig(m.Key)
	config.BaseURL, config.HTTPClient = m.BaseURL, w
	client := openai.NewClientWithConfig(config)
	return func(ctx context.Context, s shape, messages []message, limit int, t *Telemetry) (answer, error) {
		r, set := s.request(m.Name, messages, limit)
		x := &exchange{set: set}
		resp, err := client.CreateChatCompletion(withExchange(ctx, x), r)
		t.HTTPStatus = x.status
		t.Bytes += x.bytes
		if err != nil {
			if fault, ok := errors.AsType[*EndpointError](err); ok {
				return answer{}, fault
			}
			return answer{}, &EndpointError{Status: x.status, Class: "answer is no chat completion"}
		}
		t.Model = name(resp.Model)
		count(&t.PromptTokens, resp.Usage.PromptTokens)
		count(&t.CompletionTokens, resp.Usage.CompletionTokens)
		a, err := spoken(resp.Choices[0], s.rung)
		a.cut = a.cut || !s.noLimit && resp.Usage.CompletionTokens >= limit
		if x.object {
			a.repairs = append(a.repairs, repairObject)
		}
		return a, err
	}
}

// spoken finds the answer in a choice: in the arguments of the one tool call,
// in the content, or, when there is neither, in the reasoning.
func spoken(c openai.ChatCompletionChoice, rung string) (answer, error) {
	a := answer{cut: c.FinishReason == openai.FinishReasonLength}
	switch message := c.Message; {
	case c.FinishReason == openai.FinishReasonContentFilter:
		return a, &answerError{kind: ErrRefused, why: "the endpoint's content filter stopped it"}
	case message.Refusal != "":
		return a, &answerError{kind: ErrRefused, why: "the model declines"}
	case len(message.ToolCalls) > 1:
		return a, &answerError{kind: ErrNotOneOperation, why: "there are several tool calls; one command is one operation"}
	case len(message.ToolCalls) == 1:
		a.text = message.ToolCalls[0].Function.Arguments
	case strings.TrimSpace(message.Content) != "":
		a.text = message.Content
		if rung == rungTool {
			a.repairs = []string{repairContent}
		}
	case len(message.MultiContent) == 0 && strings.TrimSpace(message.ReasoningContent) != "":
		if text := strings.TrimSpace(message.ReasoningContent); json.Valid([]byte(text)) && text[0] == '{' {
			a.text, a.repairs = text, []string{repairReasoning}
		}
	}
	return a, nil
}
