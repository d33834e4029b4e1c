package provider

import (
	"cmp"
	"context"
	"encoding/json"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
	rawjson "textskill/parser/json"
	"textskill/parser/wire"
	"textskill/skill/agent"
)

// responses is OpenAI's Responses. Nothing is stored at the endpoint: reasoning comes
// encrypted, and is sent back.
type responses struct {
	endpoint Endpoint
	client   *remote.Client
}

func newResponses(e Endpoint) (*responses, error) {
	client, err := openai.Remote(openaiConfig(e))
	return &responses{e, client}, err
}

// What Responses can be asked without.
const (
	reasoning       = "reasoning"
	include         = "include"
	textFormat      = "text.format"
	promptCacheKey  = "prompt_cache_key"
	encrypted       = "reasoning.encrypted_content"
	responsesReason = "reasoning.effort"
)

type responsesRequest struct {
	Input          any             `json:"input"` // nil: see [remote.NewBody]
	Include        []string        `json:"include,omitempty"`
	Model          string          `json:"model"`
	PromptCacheKey string          `json:"prompt_cache_key,omitempty"`
	Reasoning      map[string]any  `json:"reasoning,omitempty"`
	Store          bool            `json:"store"`
	Stream         bool            `json:"stream"`
	Temperature    *float64        `json:"temperature,omitempty"`
	Text           map[string]any  `json:"text,omitempty"`
	ToolChoice     string          `json:"tool_choice,omitempty"`
	Tools          json.RawMessage `json:"tools,omitempty"`
}

// A responsesItem is a message or a call in the input. Results are as [wire.Responses] has them.
type responsesItem struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   string `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// request returns a request without what the endpoint refuses.
func (p *responses) request(q question) (r responsesRequest) {
	r = responsesRequest{Model: p.endpoint.Model, Stream: q.accepts(remote.NoStream)}
	if q.accepts(include) {
		r.Include = []string{encrypted}
	}
	if p.endpoint.Temperature >= 0 && q.accepts(temperature) {
		r.Temperature = &p.endpoint.Temperature
	}
	if p.endpoint.Reasoning != "" && q.accepts(responsesReason) {
		r.Reasoning = map[string]any{"effort": p.endpoint.Reasoning}
	}
	if len(q.Messages) > 0 && q.accepts(promptCacheKey) {
		r.PromptCacheKey = q.Messages[0].ID
	}
	if q.Schema != nil && q.accepts(textFormat) {
		r.Text = map[string]any{"format": map[string]any{"type": jsonSchema, "name": "report",
			"schema": q.Schema, "strict": false}}
	}
	tools := q.Tools
	if tools == nil && q.accepts(toolChoice) {
		tools = q.Withheld // which keeps what is cached of the request
	}
	r.Tools = definitions(wire.Responses, tools)
	switch {
	case len(r.Tools) == 0 || !q.accepts(toolChoice):
	case q.Tools == nil:
		r.ToolChoice = "none"
	default:
		r.ToolChoice = "required"
	}
	return r
}

func (p *responses) ask(ctx context.Context, q question) (agent.Answer, error) {
	r := p.request(q)
	body, err := remote.NewBody(r, "input", q.conversation)
	if err != nil {
		return agent.Answer{}, err
	}
	request := remote.Request{Path: "/responses", Body: body, Stream: r.Stream, Heard: func() { q.Heard("") },
		Refused: refusedOf(
			optional{toolChoice, r.ToolChoice != "", []string{"toolchoice"}},
			optional{temperature, r.Temperature != nil, []string{"temperature"}},
			optional{include, r.Include != nil, []string{"encryptedcontent", "encrypted content", "include"}},
			optional{reasoning, body.ListHas(`"type":"reasoning"`),
				[]string{"type 'reasoning'", "'rs", "reasoning item", "reasoning' item"}},
			optional{responsesReason, r.Reasoning != nil, []string{"reasoning"}},
			optional{promptCacheKey, r.PromptCacheKey != "", []string{"promptcachekey"}},
			optional{textFormat, r.Text != nil, []string{"text.format", "schema", "format"}},
			optional{images, body.ListHas(`"type":"input_image"`), []string{"image"}},
			optional{files, body.ListHas(`"type":"input_file"`), []string{"file", "pdf"}},
		)}
	a := responsesAnswer{heard: q.Heard}
	_, err = p.client.Ask(ctx, request, a.add)
	answer := a.answer()
	if err == nil && a.incomplete == "content_filter" {
		err = filtered()
	}
	return answer, err
}

func (p *responses) spell(m agent.Message, s spelling) (list []any) {
	switch m.Type {
	case agent.InstructionMessage:
		return []any{responsesItem{Type: "message", Role: "system", Content: m.Text()}}
	case agent.UserMessage:
		return []any{responsesItem{Type: "message", Role: "user", Content: m.Text()}}
	case agent.ToolMessage:
		return wire.Responses.Results(s.answers(m))
	}
	var before [][]json.RawMessage // items of reasoning, by the index of the call after them
	if t := s.thinking(m); t != nil && s.accepts(reasoning) {
		json.Unmarshal(t.Replay, &before)
	}
	think := func(i int) {
		if i < len(before) {
			for _, item := range before[i] {
				list = append(list, item)
			}
		}
	}
	think(0)
	if text := m.Text(); text != "" {
		list = append(list, responsesItem{Type: "message", Role: "assistant", Content: text})
	}
	calls := 0
	for _, c := range m.Contents {
		if c.Type != agent.ToolCallPart {
			continue
		}
		if calls > 0 {
			think(calls)
		}
		list = append(list, responsesItem{Type: "function_call", CallID: s.id(c.ToolCallID),
			Name: callName(c), Arguments: string(c.Args)})
		calls++
	}
	return list
}

// A responsesAnswer is put together from the events of a stream, or from a whole response.
type responsesAnswer struct {
	heard      func(text string)
	items      []json.RawMessage
	usage      responsesUsage
	incomplete string // why, if it is
}

type responsesUsage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	Total        int `json:"total_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *responsesUsage   `json:"usage"`
	Error      *json.RawMessage  `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// add adds an event. Unknown events are skipped.
func (a *responsesAnswer) add(data []byte, whole bool) (complete bool, err error) {
	if whole {
		var r response
		if err := decode(data, &r); err != nil {
			return false, err
		}
		return a.end(r)
	}
	var e struct {
		Type     string           `json:"type"`
		Delta    json.RawMessage  `json:"delta"`
		Item     json.RawMessage  `json:"item"`
		Response *response        `json:"response"`
		Error    *json.RawMessage `json:"error"`
		Message  string           `json:"message"`
	}
	if err := decode(data, &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		var text string
		if json.Unmarshal(e.Delta, &text) == nil {
			a.heard(text)
		}
	case "response.output_item.done":
		if e.Item != nil {
			a.items = append(a.items, e.Item)
		}
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return false, &remote.Error{Reason: "the answer is not of the provider's form"}
		}
		return a.end(*e.Response)
	case "error":
		if e.Error == nil {
			e.Error = new(json.RawMessage(data))
		}
		return false, remote.Failure(*e.Error)
	}
	return false, nil
}

// end adds a response that has ended.
func (a *responsesAnswer) end(r response) (complete bool, err error) {
	if r.Usage != nil {
		a.usage = *r.Usage
	}
	switch {
	case r.Status == "failed" || r.Error != nil && string(*r.Error) != "null":
		if r.Error == nil {
			return false, remote.Failure(nil)
		}
		return false, remote.Failure(*r.Error)
	case r.Status == "":
		return false, &remote.Error{Reason: "the answer is not a response"}
	case r.Status == "incomplete":
		a.incomplete = cmp.Or(r.Incomplete.Reason, r.Status)
	}
	if len(r.Output) > 0 {
		a.items = r.Output
	}
	return true, nil
}

func (a *responsesAnswer) answer() agent.Answer {
	out := agent.Answer{Cut: a.incomplete != "", Usage: agent.Usage{
		InputTokens: a.usage.Input, OutputTokens: a.usage.Output, TotalTokens: a.usage.Total,
		CachedInputTokens: a.usage.InputDetails.Cached, ReasoningTokens: a.usage.OutputDetails.Reasoning,
	}}
	var thought [][]json.RawMessage
	for _, raw := range a.items {
		var item struct {
			Type      string          `json:"type"`
			CallID    string          `json:"call_id"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a text, or the object itself
			Encrypted string          `json:"encrypted_content"`
			Summary   []struct{ Text string }
			Content   []struct{ Text, Refusal string }
		}
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		switch item.Type {
		case "message":
			for _, c := range item.Content {
				out.Text += c.Text + c.Refusal
			}
		case "function_call":
			out.Calls = append(out.Calls,
				agent.Call{ID: item.CallID, Name: item.Name, Arguments: textOf(item.Arguments)})
		case reasoning:
			for _, s := range item.Summary {
				out.Thinking.Text += s.Text + "\n"
			}
			if item.Encrypted == "" { // the endpoint keeps nothing that it could be referred to by
				continue
			}
			for len(thought) <= len(out.Calls) {
				thought = append(thought, nil)
			}
			thought[len(out.Calls)] = append(thought[len(out.Calls)], raw)
		}
	}
	if thought != nil {
		out.Thinking.Replay, _ = json.Marshal(thought)
	}
	return out
}

// textOf returns the text of a JSON string, and any other value as it came.
func textOf(raw json.RawMessage) string {
	if text, ok := rawjson.String(raw); ok {
		return text
	}
	return string(raw)
}
