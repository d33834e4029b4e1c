package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
	"textskill/skill/internal/words"
)

// anthropic is Anthropic's Messages.
type anthropic struct {
	endpoint Endpoint
	client   *remote.Client
	limit    atomic.Int64 // of tokens of an answer
}

// maxTokens is what a model may write at once, its thinking included. An endpoint that
// allows less says how much.
const maxTokens = 32_000

func newAnthropic(e Endpoint, provider Provider) (*anthropic, error) {
	c := provider.keyed(e, "https://api.anthropic.com", "X-Api-Key")
	c.Header.Set("Anthropic-Version", "2023-06-01")
	c.Path = func(path string) string {
		return strings.TrimSuffix(strings.TrimSuffix(path, "/messages"), "/v1") + "/v1"
	}
	client, err := remote.New(c)
	if err == nil && e.Temperature > 1 {
		err = fmt.Errorf("temperature %v: %s takes 0 to 1", e.Temperature, Anthropic)
	}
	p := &anthropic{endpoint: e, client: client}
	p.limit.Store(maxTokens)
	return p, err
}

// What Messages can be asked without.
const (
	thinkingAdaptive = "thinking.adaptive"
	thinkingEnabled  = "thinking.enabled"
	thinkingDisabled = "thinking.disabled"
	outputFormat     = "output_config.format"
	effort           = "output_config.effort"
	cacheControl     = "cache_control"
)

type anthropicRequest struct {
	MaxTokens    int64             `json:"max_tokens"`
	Messages     any               `json:"messages"` // nil: see [remote.NewBody]
	Model        string            `json:"model"`
	CacheControl any               `json:"cache_control,omitempty"` // caches all of the conversation
	OutputConfig map[string]any    `json:"output_config,omitempty"`
	Stream       bool              `json:"stream"`
	System       []anthropicSystem `json:"system,omitempty"`
	Temperature  *float64          `json:"temperature,omitempty"`
	Thinking     map[string]any    `json:"thinking,omitempty"`
	ToolChoice   map[string]any    `json:"tool_choice,omitempty"`
	Tools        json.RawMessage   `json:"tools,omitempty"`
}

type anthropicSystem struct {
	Type         string `json:"type"`
	Text         string `json:"text"`
	CacheControl any    `json:"cache_control,omitempty"`
}

var ephemeral = map[string]any{"type": "ephemeral"}

// budgets are tokens of thinking for models that know no effort.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 24_000}

// fixedBudget matches models that take a budget of thinking in tokens, not an effort.
var fixedBudget = words.Pattern(`claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-20\d{6})?$)`)

// request returns a request without what the endpoint refuses.
func (p *anthropic) request(q question) (r anthropicRequest) {
	r = anthropicRequest{MaxTokens: p.limit.Load(), Model: p.endpoint.Model,
		Stream: q.accepts(remote.NoStream)}
	if text := q.instruction(); strings.TrimSpace(text) != "" {
		r.System = []anthropicSystem{{Type: "text", Text: text}}
	}
	if q.accepts(cacheControl) {
		r.CacheControl = ephemeral
		for i := range r.System {
			r.System[i].CacheControl = ephemeral
		}
	}
	r.think(p.endpoint.Reasoning, q)
	thinks := r.Thinking != nil && p.endpoint.Reasoning != "none"
	if p.endpoint.Temperature >= 0 && q.accepts(temperature) && !thinks {
		r.Temperature = &p.endpoint.Temperature
	}
	if q.Schema != nil && q.accepts(outputFormat) {
		r.configure("format", map[string]any{"type": jsonSchema, "schema": q.Schema})
	}
	r.Tools = definitions(wire.Anthropic, slices.Concat(q.Tools, q.Withheld))
	switch {
	case len(r.Tools) == 0 || !q.accepts(toolChoice):
	case q.Tools == nil:
		r.ToolChoice = map[string]any{"type": "none"}
	case !thinks: // which allows no other choice than auto
		r.ToolChoice = map[string]any{"type": "any"}
	}
	return r
}

func (r *anthropicRequest) configure(name string, value any) {
	if r.OutputConfig == nil {
		r.OutputConfig = map[string]any{}
	}
	r.OutputConfig[name] = value
}

// think sets how much the model thinks: by effort, and by a number of tokens where the
// endpoint or the model knows no effort.
func (r *anthropicRequest) think(much string, q question) {
	adaptive := q.accepts(thinkingAdaptive) && !fixedBudget().MatchString(r.Model)
	switch {
	case much == "" || much == "none" && !q.accepts(thinkingDisabled) || !q.accepts(remote.NoThoughts):
	case much == "none":
		r.Thinking = map[string]any{"type": "disabled"}
	case adaptive:
		r.Thinking = map[string]any{"type": "adaptive"}
		if q.accepts(effort) {
			r.configure("effort", strings.Replace(much, "minimal", "low", 1))
		}
	case q.accepts(thinkingEnabled):
		r.Thinking = map[string]any{"type": "enabled",
			"budget_tokens": min(int64(budgets[much]), max(r.MaxTokens/2, 1024))}
	}
}

func (p *anthropic) ask(ctx context.Context, q question) (agent.Answer, error) {
	for {
		r := p.request(q)
		answer, err := p.send(ctx, q, r)
		if fault, ok := err.(*remote.Error); ok && fault.Status == 400 {
			if limit := tokenLimit(fault.Said); limit > 0 && limit < r.MaxTokens {
				p.limit.Store(limit)
				continue
			}
		}
		return answer, err
	}
}

// tokenLimit returns the limit in a complaint that an answer may not be so long, 0 if it
// is another complaint.
func tokenLimit(said string) int64 {
	m := tooManyTokens().FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	limit, _ := strconv.ParseInt(m[1], 10, 64)
	return limit
}

var tooManyTokens = words.Pattern(`(?i)(?:max_tokens: \d+ > |range of max_tokens is \[\d+, ?|max(?:imum)?[ _]tokens[^\n]{0,80}?` +
	`(?:limit of|at most|equal to|lower than|<=|exceed) )(\d+)`)

func (p *anthropic) send(ctx context.Context, q question, r anthropicRequest) (agent.Answer, error) {
	body, err := remote.NewBody(r, "messages", q.conversation)
	if err != nil {
		return agent.Answer{}, err
	}
	kind, _ := r.Thinking["type"].(string)
	request := remote.Request{Path: "/messages", Body: body, Stream: r.Stream,
		Refused: refusedOf(
			optional{toolChoice, r.ToolChoice != nil, []string{"toolchoice"}},
			optional{temperature, r.Temperature != nil, []string{"temperature"}},
			optional{"thinking." + kind, r.Thinking != nil, []string{"thinking"}},
			optional{effort, r.OutputConfig["effort"] != nil, []string{"effort"}},
			optional{outputFormat, r.OutputConfig["format"] != nil,
				[]string{"outputconfig", "format", "schema"}},
			optional{cacheControl, r.CacheControl != nil, []string{"cachecontrol"}},
			optional{images, body.ListHas(`"type":"image"`), []string{"image"}},
			optional{files, body.ListHas(`"type":"document"`), []string{"document", "pdf"}},
		)}
	var a anthropicAnswer
	return q.exchange(ctx, p.client, request, &a.assembly, a.add)
}

// spell leaves out instructions, which are the system prompt.
func (p *anthropic) spell(m agent.Message, s spelling) []any {
	switch m.Type {
	case agent.InstructionMessage:
		return nil
	case agent.ToolMessage:
		answers := s.answers(m)
		for i := range answers {
			answers[i].Call.ID = agent.ToolName(answers[i].Call.ID)
		}
		return wire.Anthropic.Results(answers)
	}
	parts := s.parts(m)
	for i := range parts {
		parts[i].ID = agent.ToolName(parts[i].ID)
	}
	return wire.Anthropic.Turn(roles[m.Type], parts)
}
