package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
)

// chat is OpenAI's chat completions.
type chat struct {
	endpoint Endpoint
	client   *openai.Client
}

func newChat(e Endpoint) (*chat, error) {
	client, err := openai.New(openaiConfig(e))
	return &chat{e, client}, err
}

// The parameters that chat completions can do without, as [remote.Error] names it.
const (
	reasoningEffort  = "reasoning_effort"
	reasoningContent = "reasoning_content"
	reasoningDetails = "reasoning_details"
	extraContent     = "extra_content"
	streamOptions    = "stream_options"
	responseFormat   = "response_format"
	jsonSchema       = "json_schema"
)

var chatOptional = []string{
	remote.ToolsStay, remote.RolesTurn, remote.NoSystem, remote.ShortIDs, remote.NoThoughts, remote.NoTools,
	remote.NoStream, remote.NoBlank, remote.OneKind, remote.KeepThought, remote.Signed,
	temperature, reasoningEffort, responseFormat, jsonSchema, toolChoice, streamOptions, images, files,
	reasoningContent, reasoningDetails, extraContent,
}

func (p *chat) ask(ctx context.Context, q question) (agent.Answer, error) {
	r, err := p.request(q)
	if err != nil {
		return agent.Answer{}, &remote.Error{Reason: err.Error(), Err: err}
	}
	c, err := p.client.Complete(ctx, r)
	a := agent.Answer{Text: c.Text, Cut: c.Finish == "length", Thinking: thought(c),
		Usage: agent.Usage{
			InputTokens: c.Usage.Prompt, OutputTokens: c.Usage.Completion, TotalTokens: c.Usage.Total,
			CachedInputTokens: c.Usage.Cached, CacheWriteTokens: c.Usage.Written,
			ReasoningTokens: c.Usage.Reasoning,
		}}
	for _, call := range c.Calls {
		a.Calls = append(a.Calls, agent.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	switch {
	case err != nil:
	case c.Refusal != "":
		err = declined(c.Refusal)
	case c.Finish == "content_filter":
		err = filtered(c.Text)
	}
	fault, ok := errors.AsType[*remote.Error](err)
	switch {
	case !ok:
	case fault.Parameter == "tools":
		fault.Parameter = remote.NoTools
	case !slices.Contains(chatOptional, fault.Parameter) &&
		!strings.HasPrefix(fault.Parameter, remote.RefusedTool):
		fault.Parameter = ""
	}
	return a, err
}

// request returns a request without what the endpoint refuses.
func (p *chat) request(q question) (s openai.Request, err error) {
	s = openai.Request{Model: p.endpoint.Model, Stream: q.accepts(remote.NoStream), Heard: q.Heard,
		Conversation: q.conversation}
	if s.Stream && q.accepts(streamOptions) {
		s.WithUsage()
	}
	if p.endpoint.Temperature >= 0 && q.accepts(temperature) {
		s.Temperature = &p.endpoint.Temperature
	}
	tools, choice := q.Tools, "required"
	if tools == nil && !q.accepts(remote.ToolsStay) {
		tools, choice = q.Withheld, "none"
	}
	for _, t := range tools {
		s.AddTool(t.Name, t.Doc, schemaOf(t))
	}
	if q.accepts(reasoningEffort) {
		s.ReasoningEffort = p.endpoint.Reasoning
	}
	if q.Schema != nil && q.accepts(responseFormat) && q.accepts(jsonSchema) {
		s.ResponseFormat, err = json.Marshal(map[string]any{"type": jsonSchema,
			jsonSchema: map[string]any{"name": "report", "schema": q.Schema}})
	}
	if len(tools) > 0 && q.accepts(toolChoice) {
		s.ToolChoice = choice
	}
	return s, err
}

// chatReplay is what a model wants back beside its reasoning.
type chatReplay struct {
	Under string `json:"under,omitempty"` // the field that the reasoning came in
	// of calls by their index: signatures of Google's models
	Extra map[int]json.RawMessage `json:"extra,omitempty"`

	// in place of the reasoning, if the endpoint has them
	Details []map[string]json.RawMessage `json:"details,omitempty"`
}

func thought(c openai.Completion) (t agent.Thinking) {
	t.Text = c.Reasoning
	if c.Under != "" || c.Extra != nil || c.Details != nil {
		t.Replay, _ = json.Marshal(chatReplay{c.Under, c.Extra, c.Details})
	}
	return t
}

// A chatMessage is a message with what the model wants back.
type chatMessage struct {
	openai.Message
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningContent *string    `json:"reasoning_content,omitempty"`

	Details []map[string]json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	openai.Call
	extra json.RawMessage // nil for none
}

// MarshalJSON returns the call as the protocol has it.
func (c chatCall) MarshalJSON() ([]byte, error) {
	data, err := c.Call.MarshalJSON()
	if c.extra != nil && err == nil {
		data = slices.Concat([]byte(`{"extra_content":`), c.extra, []byte(","), data[1:])
	}
	return data, err
}

func (p *chat) spell(m agent.Message, s spelling) []any {
	out := chatMessage{Message: openai.Message{Role: "assistant"}}
	switch m.Type {
	case agent.InstructionMessage:
		out.Role = "system"
	case agent.UserMessage:
		out.Role = "user"
	case agent.ToolMessage:
		return wire.OpenAI.Results(s.answers(m))
	}
	text := m.Text()
	out.Content = text // also if empty: some endpoints require the field
	var replay chatReplay
	t := s.thinking(m)
	if t != nil && json.Unmarshal(t.Replay, &replay) == nil {
		out.think(t.Text, replay, s)
	}
	if m.Type == agent.ExpertMessage && !s.accepts(remote.KeepThought) {
		thought := ""
		if t != nil {
			thought = t.Text
		}
		out.ReasoningContent = &thought
	}
	out.calls(m, replay, s)
	if out.ToolCalls == nil && text == "" { // endpoints refuse an empty message
		out.Content = "(nothing)"
	}
	if out.ToolCalls != nil && (text == "" && !s.accepts(remote.NoBlank) || !s.accepts(remote.OneKind)) {
		out.Content = nil
	}
	return []any{out}
}

// calls adds the calls of a message.
func (out *chatMessage) calls(m agent.Message, replay chatReplay, s spelling) {
	for _, c := range m.Contents {
		if c.Type != agent.ToolCallPart {
			continue
		}
		call := chatCall{Call: openai.Call{ID: s.id(c.ToolCallID), Name: callName(c),
			Arguments: string(c.Args)}}
		if s.accepts(extraContent) {
			call.extra = replay.Extra[len(out.ToolCalls)]
		}
		if out.ToolCalls == nil && len(replay.Extra) == 0 && !s.accepts(remote.Signed) {
			call.extra = json.RawMessage(`{"google":{"thought_signature":"` + unsigned + `"}}`)
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
}

// think gives back what the model thought, in the field that it came in.
func (out *chatMessage) think(text string, replay chatReplay, s spelling) {
	switch {
	case replay.Details != nil && s.accepts(reasoningDetails):
		out.Details = replay.Details
	case !s.accepts(reasoningContent) || text == "":
	case replay.Under == "reasoning":
		out.Reasoning = text
	case replay.Under == reasoningContent:
		out.ReasoningContent = &text
	}
}

// callName returns the name of a call's tool as providers accept it.
func callName(c agent.Part) string { return cmp.Or(agent.ToolName(c.ToolName), "_") }
