package provider

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
	"textskill/skill/internal/words"
)

// google is generateContent of Google's Gemini API.
type google struct {
	endpoint Endpoint
	client   *remote.Client
}

func newGoogle(e Endpoint, provider Provider) (*google, error) {
	c := provider.keyed(e, "https://generativelanguage.googleapis.com", "X-Goog-Api-Key")
	c.Path = func(path string) string {
		if strings.HasSuffix(path, "/v1beta") || strings.HasSuffix(path, "/v1") {
			return path
		}
		return path + "/v1beta"
	}
	client, err := remote.New(c)
	return &google{e, client}, err
}

// The parameters that generateContent can do without.
const (
	thinkingLevel  = "thinkingConfig.thinkingLevel"
	thinkingBudget = "thinkingConfig.thinkingBudget"
	responseSchema = "responseJsonSchema"
)

type googleRequest struct {
	Contents          any            `json:"contents"` // nil: see [remote.NewBody]
	GenerationConfig  map[string]any `json:"generationConfig,omitempty"`
	SystemInstruction any            `json:"systemInstruction,omitempty"`
	ToolConfig        map[string]any `json:"toolConfig,omitempty"`
	Tools             any            `json:"tools,omitempty"`
}

type googleTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"`
}

// unsigned takes the place of the signature of a call that the model did not make itself. Without
// one, models that sign refuse the call.
const unsigned = "skip_thought_signature_validator"

// signs matches models that sign their calls.
var signs = words.Pattern(`gemini-[3-9]`)

// thinkingTokens are budgets of thinking for models that know no level.
var thinkingTokens = map[string]int{"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}

// generation returns the settings of an answer that the endpoint accepts.
func (p *google) generation(q question) map[string]any {
	config := map[string]any{}
	if p.endpoint.Temperature >= 0 && q.accepts(temperature) {
		config["temperature"] = p.endpoint.Temperature
	}
	levels := signs().MatchString(p.endpoint.Model)
	switch much := p.endpoint.Reasoning; {
	case much == "":
	case levels && much != "none" && q.accepts(thinkingLevel):
		config["thinkingConfig"] = map[string]any{"thinkingLevel": much}
	case !levels && q.accepts(thinkingBudget):
		config["thinkingConfig"] = map[string]any{"thinkingBudget": thinkingTokens[much]}
	}
	if q.Schema != nil && q.accepts(responseSchema) {
		config["responseMimeType"], config["responseJsonSchema"] = "application/json", q.Schema
	}
	return config
}

// request returns a request without what the endpoint refuses.
func (p *google) request(q question) (r googleRequest) {
	r.GenerationConfig = p.generation(q)
	if text := q.instruction(); text != "" {
		r.SystemInstruction = map[string]any{"parts": []map[string]string{{"text": text}}}
	}
	tools, mode := q.Tools, "ANY"
	if tools == nil {
		tools, mode = q.Withheld, "NONE"
	}
	if len(tools) == 0 {
		return r
	}
	var list []googleTool
	for _, t := range tools {
		list = append(list, googleTool{t.Name, t.Doc, schemaOf(t)})
	}
	r.Tools = []map[string]any{{"functionDeclarations": list}}
	if !q.accepts(remote.OpenAPI) {
		r.Tools = definitions(wire.Gemini, tools)
	}
	if q.accepts(toolChoice) {
		r.ToolConfig = map[string]any{"functionCallingConfig": map[string]any{"mode": mode}}
	}
	return r
}

func (p *google) ask(ctx context.Context, q question) (agent.Answer, error) {
	r := p.request(q)
	body, err := remote.NewBody(r, "contents", q.conversation)
	if err != nil {
		return agent.Answer{}, err
	}
	thinking, _ := r.GenerationConfig["thinkingConfig"].(map[string]any)
	request := remote.Request{
		Path: "/models/" + url.PathEscape(strings.TrimPrefix(p.endpoint.Model, "models/")) +
			":streamGenerateContent?alt=sse", Body: body, Stream: true,
		Refused: refusedOf(
			optional{toolChoice, r.ToolConfig != nil,
				[]string{"toolconfig", "functioncallingconfig", "function calling config"}},
			optional{temperature, r.GenerationConfig[temperature] != nil, []string{"temperature"}},
			optional{thinkingLevel, thinking["thinkingLevel"] != nil, []string{"thinking"}},
			optional{thinkingBudget, thinking["thinkingBudget"] != nil, []string{"thinking", "budget"}},
			optional{responseSchema, r.GenerationConfig[responseSchema] != nil,
				[]string{"schema", "mime type", "mimetype"}},
			optional{images, body.ListHas(`"mimeType":"image/`), []string{"image"}},
			optional{files, body.ListHas(`"mimeType":"application/`), []string{"document", "pdf"}},
		)}
	var a googleAnswer
	answer, err := q.exchange(ctx, p.client, request, &a.assembly, a.add)
	if !q.accepts(remote.OpenAPI) {
		for i, c := range answer.Calls {
			answer.Calls[i].Arguments = string(wire.GeminiArguments(json.RawMessage(c.Arguments),
				q.schema(c.Name)))
		}
	}
	return answer, err
}

// spell leaves out instructions, which the request has beside the contents.
func (p *google) spell(m agent.Message, s spelling) []any {
	switch m.Type {
	case agent.InstructionMessage:
		return nil
	case agent.ToolMessage:
		return googleResults(s.answers(m))
	}
	parts := s.parts(m)
	isCall := func(p wire.Part) bool { return p.Kind == wire.CallPart }
	signed := slices.ContainsFunc(parts, func(p wire.Part) bool { return isCall(p) && p.Sign != "" })
	wanted := signs().MatchString(p.endpoint.Model) || !s.accepts(remote.Signed)
	if first := slices.IndexFunc(parts, isCall); first >= 0 && !signed && wanted {
		parts[first].Sign = unsigned
	}
	return wire.Gemini.Turn(roles[m.Type], parts)
}

// googleResults returns the results of calls, then the images and files in them: only some
// models take these within a result.
func googleResults(answers []wire.Answer) []any {
	var shown []map[string]any
	for i, a := range answers {
		for _, m := range a.Media {
			shown = append(shown, map[string]any{"text": a.Call.Name + " " + a.Call.ID + ":"},
				map[string]any{"inlineData": map[string]any{"mimeType": m.Type, "data": m.Data}})
		}
		answers[i].Media = nil
	}
	list := wire.Gemini.Results(answers)
	content := list[0].(map[string]any)
	content["parts"] = append(content["parts"].([]map[string]any), shown...)
	return list
}

// A googleAnswer is put together from the pieces of a stream, or from one.
type googleAnswer struct{ assembly }

type googleUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	ToolUse    int `json:"toolUsePromptTokenCount"`
	Total      int `json:"totalTokenCount"`
}

type googlePiece struct {
	Candidates []struct {
		Content struct {
			Parts []wire.GeminiPart `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *googleUsage     `json:"usageMetadata"`
	Error *json.RawMessage `json:"error"`
}

func (a *googleAnswer) add(data []byte, whole bool) (complete bool, err error) {
	var p googlePiece
	if err := decode(data, &p); err != nil {
		return false, err
	}
	if u := p.Usage; u != nil {
		a.usage = agent.Usage{InputTokens: u.Prompt + u.ToolUse, OutputTokens: u.Candidates + u.Thoughts,
			ReasoningTokens: u.Thoughts, CachedInputTokens: u.Cached}
		a.usage.TotalTokens = max(u.Total, a.usage.InputTokens+a.usage.OutputTokens)
	}
	switch {
	case p.Error != nil:
		return false, remote.Failure(*p.Error)
	case p.PromptFeedback.BlockReason != "":
		return false, &remote.Error{Reason: "the endpoint's content filter stopped the request",
			Said: p.PromptFeedback.BlockReason}
	case len(p.Candidates) == 0:
		if whole {
			return false, &remote.Error{Reason: "the answer has no candidates", Retry: true}
		}
		return a.stop != "", nil
	}
	c := p.Candidates[0]
	for _, part := range c.Content.Parts {
		a.part(part.Part)
	}
	switch c.FinishReason {
	case "":
		return a.stop != "", nil
	case "STOP", "MAX_TOKENS":
		a.stop, a.cut = c.FinishReason, c.FinishReason == "MAX_TOKENS"
		return true, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return false, filtered(a.answer().Text)
	}
	return false, &remote.Error{Reason: "the model stopped",
		Said: remote.OneLine(strings.TrimSpace(c.FinishReason + " " + c.FinishMessage)), Retry: true}
}

// part adds a part, which goes on with the text or the thought before it.
func (a *googleAnswer) part(p wire.Part) {
	n := len(a.parts)
	if n > 0 && p.Kind != wire.CallPart && a.parts[n-1].Kind == p.Kind && a.parts[n-1].Sign == "" {
		a.piece(n-1, p)
		return
	}
	a.begin(n, p)
}
