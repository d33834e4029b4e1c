package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
)

// A Completion is what a model answered.
type Completion struct {
	Text      string
	Refusal   string // why the model declines, if it does
	Reasoning string
	Calls     []Call
	Finish    string // "stop", "length", "tool_calls", "content_filter"; "" where the endpoint does not say
	Model     string // as the endpoint calls it
	Usage     Usage
	Object    bool // the content or the arguments of a call came as an object, whose text they are

	Status int // of HTTP; 0 where no answer came
	Bytes  int // of an answer that came whole

	Under string // the field that the reasoning came in: "reasoning_content" or "reasoning"
	// extra_content of calls by their index, such as signatures; for sending back
	Extra map[int]json.RawMessage

	// reasoning_details of OpenRouter: texts, summaries, signatures; for sending back
	Details []map[string]json.RawMessage
}

// Usage counts tokens. A number that the endpoint leaves out is 0.
type Usage struct {
	Prompt, Completion, Total  int
	Cached, Written, Reasoning int
}

// UnmarshalJSON reads the counts of any endpoint. A count of another type than a number is 0.
func (u *Usage) UnmarshalJSON(data []byte) error {
	var raw struct {
		Prompt        float64 `json:"prompt_tokens"`
		Completion    float64 `json:"completion_tokens"`
		Total         float64 `json:"total_tokens"`
		PromptDetails struct {
			Cached  float64 `json:"cached_tokens"`
			Written float64 `json:"cache_write_tokens"` // of OpenRouter
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		Hit    float64 `json:"prompt_cache_hit_tokens"` // of DeepSeek
		Cached float64 `json:"cached_tokens"`           // of Moonshot
	}
	json.Unmarshal(data, &raw)
	*u = Usage{
		int(raw.Prompt), int(raw.Completion), int(max(raw.Total, raw.Prompt+raw.Completion)),
		int(max(raw.PromptDetails.Cached, raw.Hit, raw.Cached)), int(raw.PromptDetails.Written),
		int(raw.CompletionDetails.Reasoning),
	}
	return nil
}

// An answer is put together from the pieces of a stream, or from one.
type answer struct {
	heard                    func(text string)
	whole                    bool
	got                      Completion
	text, refusal, reasoning strings.Builder
	calls                    []*callPieces
	open                     map[string]*callPieces // by the index that its pieces have
}

// callPieces is a call as it comes in pieces.
type callPieces struct {
	id, name  string
	arguments []string
	extra     json.RawMessage
}

func (a *answer) completion() Completion {
	c := a.got
	c.Text, c.Refusal, c.Reasoning = rawjson.JoinHalves(a.text.String()), a.refusal.String(),
		rawjson.JoinHalves(a.reasoning.String())
	for i, call := range a.calls {
		c.Calls = append(c.Calls, Call{call.id, call.name, rawjson.JoinHalves(call.joined())})
		if call.extra != nil {
			if c.Extra == nil {
				c.Extra = map[int]json.RawMessage{}
			}
			c.Extra[i] = call.extra
		}
	}
	return c
}

// A chunk is a whole answer or a piece of one. Values that endpoints spell in
// several ways are kept as they came.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"` // of an error that has no object of its own, as vLLM's
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *Usage          `json:"usage"`
	Groq    struct {
		Usage *Usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int             `json:"index"`
	Error        json.RawMessage `json:"error"`
	Delta        *message        `json:"delta"`
	Message      *message        `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Usage        *Usage          `json:"usage"` // of Moonshot
}

type message struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Details          json.RawMessage `json:"reasoning_details"`
	ToolCalls        toolCalls       `json:"tool_calls"`
	// of endpoints from before there were several calls
	FunctionCall *function `json:"function_call"`
}

// toolCalls is a list, or its one element.
type toolCalls []toolCall

// UnmarshalJSON reads either.
func (l *toolCalls) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		*l = make(toolCalls, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]toolCall)(l))
}

type toolCall struct {
	Index    json.RawMessage `json:"index"` // a number, or a text with one
	ID       any             `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function function        `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// finishes are the reasons for which other endpoints stop, as OpenAI calls them. An answer that
// stops for an error is not whole.
var finishes = map[string]string{
	"max_tokens": "length", "MAX_TOKENS": "length", "max_output_tokens": "length", "model_length": "length",
	"safety": "content_filter", "SAFETY": "content_filter", "sensitive": "content_filter",
	"refusal":                      "content_filter",
	"insufficient_system_resource": "error", "network_error": "error", "abort": "error",
}

// fails reports whether the value of a field named error says that there is one.
func fails(said json.RawMessage) bool {
	return len(said) > 0 && !slices.Contains([]string{"null", "false", `""`, "{}"}, string(said))
}

// add adds an event of a stream, or an answer that came whole. A stream is complete when the model
// says why it stopped. Where it does not, [DONE] completes what can be used.
func (a *answer) add(data []byte, whole bool) (complete bool, err error) {
	switch {
	case !whole && data == nil:
		return a.got.Finish != "", nil
	case !whole && string(data) == "[DONE]":
		return a.got.Finish != "" || a.holds(), nil
	}
	a.whole = whole
	before := a.text.Len()
	err = a.piece(data)
	if text := a.text.String()[before:]; text != "" && !whole {
		a.heard(text)
	}
	return whole, err
}

// holds reports whether what has come can be used: calls whose arguments are whole, or a text.
func (a *answer) holds() bool {
	broken := func(c *callPieces) bool { return len(c.arguments) > 0 && !json.Valid([]byte(c.joined())) }
	return !slices.ContainsFunc(a.calls, broken) && (len(a.calls) > 0 || a.text.Len() > 0)
}

// piece adds a piece, which must be one JSON value.
func (a *answer) piece(piece []byte) error {
	var c chunk
	if err := remote.Decode(piece, &c, "a chat completion"); err != nil {
		return err
	}
	switch {
	case fails(c.Error):
		return remote.Failure(c.Error)
	case len(c.Choices) == 0 && fails(c.Message):
		return remote.Failure(piece)
	case a.whole && len(c.Choices) == 0:
		return &remote.Error{Reason: ErrNoChoices.Error(), Retry: true, Err: ErrNoChoices}
	}
	for i, choice := range c.Choices {
		if err := a.choice(choice, i); err != nil {
			return err
		}
		c.Usage = cmp.Or(c.Usage, choice.Usage)
	}
	a.got.Model = cmp.Or(c.Model, a.got.Model)
	if u := cmp.Or(c.Usage, c.Groq.Usage); u != nil {
		a.got.Usage = *u
	}
	return nil
}

// choice adds the choice of a piece that is at an index there.
func (a *answer) choice(c choice, at int) error {
	finish := cmp.Or(finishes[c.FinishReason], c.FinishReason)
	switch {
	case fails(c.Error):
		return remote.Failure(c.Error)
	case finish == "error":
		return remote.Failure(nil)
	case a.whole && c.Message == nil:
		return &remote.Error{Reason: "the answer is not a chat completion"}
	}
	m := cmp.Or(c.Message, c.Delta, &message{})
	first := at == 0 && (c.Index == 0 || a.text.Len() == 0)
	if first || len(m.ToolCalls) > 0 { // some have the calls in a choice of their own
		a.got.Finish = cmp.Or(finish, a.got.Finish)
		a.message(m, c.Index+at)
	}
	return nil
}

// message adds a message, or a piece of one, of a choice.
func (a *answer) message(m *message, choice int) {
	a.text.WriteString(a.content(m.Content))
	a.refusal.WriteString(m.Refusal)
	reasoning, ok := rawText(m.ReasoningContent)
	under := "reasoning_content"
	if !ok {
		reasoning, ok = rawText(m.Reasoning)
		under = "reasoning"
	}
	if ok && reasoning != "" {
		a.got.Under = under
	}
	a.reasoning.WriteString(reasoning)
	a.details(m.Details)
	if m.FunctionCall != nil {
		m.ToolCalls = append(m.ToolCalls, toolCall{Function: *m.FunctionCall})
	}
	for _, c := range m.ToolCalls {
		if a.whole {
			a.calls = append(a.calls, &callPieces{})
			a.calls[len(a.calls)-1].add(c, a.plain(c.Function.Arguments))
			continue
		}
		a.call(c, choice)
	}
}

// rawText returns a string, which may hold half of a surrogate pair: the other half is in the
// next piece.
func rawText(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return rawjson.Unquote(raw), true
}

// details adds entries of reasoning_details. In a stream the text of one comes in pieces, each
// an entry of the same type and index.
func (a *answer) details(raw json.RawMessage) {
	var entries []map[string]json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return
	}
	for _, e := range entries {
		n := len(a.got.Details)
		if a.whole || n == 0 || e == nil || !continues(a.got.Details[n-1], e) {
			a.got.Details = append(a.got.Details, e)
			continue
		}
		for name, value := range e {
			var before, more string
			last := a.got.Details[n-1]
			switch {
			case (name == "text" || name == "summary") && json.Unmarshal(last[name], &before) == nil &&
				json.Unmarshal(value, &more) == nil:
				last[name], _ = json.Marshal(before + more)
			case string(value) != "null":
				last[name] = value
			}
		}
	}
}

// continues reports whether an entry is a further piece of the last one.
func continues(last, e map[string]json.RawMessage) bool {
	text := e["text"] != nil || e["summary"] != nil || e["signature"] != nil
	return text && string(last["type"]) == string(e["type"]) && string(last["index"]) == string(e["index"])
}

// content returns the text of a content: a string, an object, or parts.
func (a *answer) content(raw json.RawMessage) string {
	if text, ok := rawText(raw); ok {
		return text
	}
	var parts []any
	if json.Unmarshal(raw, &parts) != nil {
		return a.plain(raw)
	}
	var text strings.Builder
	for _, p := range parts {
		part, _ := p.(map[string]any)
		s, _ := part["text"].(string)
		text.WriteString(s)
	}
	return text.String()
}

// plain returns the text of a string, and any other value but null as it came.
func (a *answer) plain(raw json.RawMessage) string {
	if text, ok := rawText(raw); ok || len(raw) == 0 || string(raw) == "null" {
		return text
	}
	a.got.Object = a.got.Object || raw[0] == '{'
	return string(raw)
}

// call adds a piece of a call in a stream. Indexes need not be dense, and endpoints give
// several calls one index, or none: see [callPieces.continues].
func (a *answer) call(c toolCall, choice int) {
	id, _ := c.ID.(string)
	key := strings.Trim(string(c.Index), `"`)
	numbered := key != "" && key != "null"
	key = fmt.Sprint(choice, " ", key)
	var call *callPieces
	switch {
	case numbered && (a.open[key] != nil || id != "" || c.Function.Name != ""):
		call = a.open[key]
	case id != "":
		for _, known := range a.calls {
			if known.id == id {
				call = known
			}
		}
	case len(a.calls) > 0:
		call = a.calls[len(a.calls)-1]
	}
	arguments := a.plain(c.Function.Arguments)
	if call == nil || !call.continues(id, c.Function.Name, arguments) {
		call = &callPieces{}
		a.calls = append(a.calls, call)
	}
	if a.open == nil {
		a.open = map[string]*callPieces{}
	}
	a.open[key] = call
	call.add(c, arguments)
}

// continues reports whether a piece belongs to the call, and does not begin another one under
// the same index: one with an ID and a name of its own, or with a name once the arguments of
// this one are whole.
func (p *callPieces) continues(id, name, arguments string) bool {
	other := id != "" && p.id != "" && id != p.id
	known := name == "" || name == p.name
	whole := p.whole()
	switch {
	case other && (name != "" || whole):
		return false
	case !known && p.name != "" && len(p.arguments) > 0 && !strings.HasPrefix(name, p.name):
		return false
	case whole && name != "" && id == "" &&
		strings.HasPrefix(arguments, "{") && arguments != p.joined():
		return false
	}
	return true
}

// whole reports whether the arguments are an object already.
func (p *callPieces) whole() bool {
	joined := strings.Join(p.arguments, "")
	return strings.HasSuffix(joined, "}") && json.Valid([]byte(joined))
}

// add adds a piece. Some endpoints repeat the name with every piece, or make it longer.
func (p *callPieces) add(c toolCall, arguments string) {
	id, _ := c.ID.(string)
	p.id = cmp.Or(p.id, id)
	if len(c.Extra) > 0 && string(c.Extra) != "null" {
		p.extra = c.Extra
	}
	switch name := c.Function.Name; {
	case strings.HasPrefix(name, p.name):
		p.name = name
	case !strings.HasPrefix(p.name, name):
		p.name += name
	}
	if arguments != "" {
		p.arguments = append(p.arguments, arguments)
	}
}

// joined returns the arguments. Where all pieces are no object together, the last one may have
// repeated them, alone or with each piece.
func (p *callPieces) joined() string {
	joined := strings.Join(p.arguments, "")
	n := len(p.arguments)
	if n < 2 || json.Valid([]byte(joined)) {
		return joined
	}
	last := p.arguments[n-1]
	before := strings.Join(p.arguments[:n-1], "")
	if json.Valid([]byte(last)) && (last == before || strings.HasPrefix(last, p.arguments[0]) &&
		strings.HasPrefix(last, "{")) {
		return last
	}
	return joined
}
