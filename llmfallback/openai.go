package llmfallback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

// request builds one chat request of shape s. limit is in tokens.
func (s shape) request(model string, messages []message, limit int) openai.Request {
	r := openai.Request{Model: model}
	for _, m := range messages {
		r.Messages = append(r.Messages, openai.Message{Role: m.role, Content: m.text})
	}
	switch s.rung {
	case rungSchema:
		r.ResponseFormat = json.RawMessage(`{"type":"json_schema","json_schema":{"name":"` + toolName +
			`","schema":` + string(answerSchema()) + `,"strict":true}}`)
	case rungObject:
		r.ResponseFormat = json.RawMessage(`{"type":"json_object"}`)
	case rungTool:
		r.AddTool(toolName, "Report the one file operation that the request asks for.", true, answerSchema())
		r.Choose(toolName)
	}
	switch {
	case s.noLimit:
	case s.completionLimit:
		r.MaxCompletionTokens = limit
	default:
		r.MaxTokens = limit
	}
	if !s.noTemperature {
		r.Temperature = new(float64)
	}
	return r
}

const toolName = "file_operation"

// overOpenAI returns the sender that asks a model through client.
func overOpenAI(client *openai.Client, model string) sender {
	return func(ctx context.Context, s shape, messages []message, limit int, t *Telemetry) (answer, error) {
		c, err := client.Complete(ctx, s.request(model, messages, limit))
		t.HTTPStatus = c.Status
		t.Bytes += c.Bytes
		if fault, ok := errors.AsType[*remote.Error](err); ok {
			fault.Said = "" // endpoints repeat the prompt and parts of the key
			return answer{}, fault
		}
		t.Model = name(c.Model)
		count(&t.PromptTokens, c.Usage.Prompt)
		count(&t.CompletionTokens, c.Usage.Completion)
		a, err := spoken(c, s.rung)
		a.cut = a.cut || !s.noLimit && c.Usage.Completion >= limit
		if c.Object {
			a.repairs = append(a.repairs, repairObject)
		}
		return a, err
	}
}

// spoken finds the answer in a completion: in the arguments of the one tool call,
// in the text, or, if there is neither, in the reasoning.
func spoken(c openai.Completion, rung string) (answer, error) {
	a := answer{cut: c.Finish == "length"}
	switch {
	case c.Finish == "content_filter":
		return a, fmt.Errorf("%w: the endpoint's content filter stopped it", ErrRefused)
	case c.Refusal != "":
		return a, &AnswerError{ErrRefused, remote.OneLine(c.Refusal)}
	case len(c.Calls) > 1:
		return a, fmt.Errorf("%w: there are several tool calls; one command is one operation",
			ErrNotOneOperation)
	case len(c.Calls) == 1:
		a.text = c.Calls[0].Arguments
	case strings.TrimSpace(c.Text) != "":
		a.text = c.Text
		if rung == rungTool {
			a.repairs = []string{repairContent}
		}
	default:
		if text := strings.TrimSpace(c.Reasoning); json.Valid([]byte(text)) && text[0] == '{' {
			a.text, a.repairs = text, []string{repairReasoning}
		}
	}
	return a, nil
}
