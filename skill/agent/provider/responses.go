package provider

import (
	"context"
	"encoding/json"
	"slices"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
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
	request := remote.Request{Path: "/responses", Body: body, Stream: r.Stream,
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
	var a responsesAnswer
	return q.exchange(ctx, p.client, request, &a.assembly, a.add)
}

func (p *responses) spell(m agent.Message, s spelling) []any {
	if m.Type == agent.ToolMessage {
		return wire.Responses.Results(s.answers(m))
	}
	parts := s.parts(m)
	if !s.accepts(reasoning) {
		parts = slices.DeleteFunc(parts, func(p wire.Part) bool { return p.Kind == wire.ThoughtPart })
	}
	return wire.Responses.Turn(roles[m.Type], parts)
}

// A responsesAnswer is put together from the events of a stream, or from a whole response.
type responsesAnswer struct {
	assembly
	declined bool // a part of it is a refusal
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
	Status     string               `json:"status"`
	Output     []wire.ResponsesPart `json:"output"`
	Usage      *responsesUsage      `json:"usage"`
	Error      *json.RawMessage     `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// deltas are the kinds of the parts that events add to.
var deltas = map[string]wire.PartKind{
	"response.output_text.delta": wire.TextPart, "response.refusal.delta": wire.TextPart,
	"response.function_call_arguments.delta": wire.CallPart,
}

// add adds an event. Unknown events are skipped.
func (a *responsesAnswer) add(data []byte, whole bool) (complete bool, err error) {
	if whole {
		var r response
		if err := decode(data, &r); err != nil {
			return false, err
		}
		return a.ended(r)
	}
	var e struct {
		Type     string              `json:"type"`
		Index    int                 `json:"output_index"`
		Delta    json.RawMessage     `json:"delta"`
		Item     *wire.ResponsesPart `json:"item"`
		Response *response           `json:"response"`
		Error    *json.RawMessage    `json:"error"`
	}
	if err := decode(data, &e); err != nil {
		return false, err
	}
	if kind := deltas[e.Type]; kind != "" && len(e.Delta) > 1 && e.Delta[0] == '"' {
		a.piece(e.Index, wire.Part{Kind: kind, Text: rawjson.Unquote(e.Delta)})
	}
	a.declined = a.declined || e.Type == "response.refusal.delta"
	switch e.Type {
	case "response.output_item.added":
		if e.Item != nil {
			a.begin(e.Index, e.Item.Part)
		}
	case "response.output_item.done":
		if e.Item != nil {
			a.end(e.Index, e.Item.Part)
		}
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return false, &remote.Error{Reason: "the answer is not of the provider's form"}
		}
		return a.ended(*e.Response)
	case "error":
		if e.Error == nil {
			e.Error = new(json.RawMessage(data))
		}
		return false, remote.Failure(*e.Error)
	}
	return string(data) == done && a.holds(), nil
}

// ended adds a response that has ended.
func (a *responsesAnswer) ended(r response) (complete bool, err error) {
	if u := r.Usage; u != nil {
		a.usage = agent.Usage{InputTokens: u.Input, OutputTokens: u.Output, TotalTokens: u.Total,
			CachedInputTokens: u.InputDetails.Cached, ReasoningTokens: u.OutputDetails.Reasoning}
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
		a.cut = true
	}
	if a.cut && r.Incomplete.Reason == "content_filter" {
		return false, filtered(a.answer().Text)
	}
	if len(r.Output) > 0 {
		a.parts = nil
	}
	for i, p := range r.Output {
		a.end(i, p.Part)
	}
	if a.declined || slices.ContainsFunc(r.Output, func(p wire.ResponsesPart) bool { return p.Refused }) {
		return false, declined(a.answer().Text)
	}
	return true, nil
}
