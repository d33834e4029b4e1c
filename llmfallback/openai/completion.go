package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"textskill/llmfallback/remote"
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

	Under string                  // the field that the reasoning came in: "reasoning_content" or "reasoning"
	Extra map[int]json.RawMessage // extra_content of calls by their index, such as signatures; for sending back

	Details []map[string]json.RawMessage // reasoning_details of OpenRouter: texts, summaries, signatures; for sending back
}

// Usage counts tokens. What the endpoint does not count is 0.
type Usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // of OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// An answer is put together from the pieces of a stream, or from one.
type answer struct {
	whole                    bool
	got                      Completion
	text, refusal, reasoning strings.Builder
	arguments                [][]byte // of the calls
}

func (a *answer) completion() Completion {
	c := a.got
	c.Text, c.Refusal, c.Reasoning = a.text.String(), a.refusal.String(), a.reasoning.String()
	for i, text := range a.arguments {
		c.Calls[i].Arguments = string(text)
	}
	return c
}

// A chunk is a whole answer or a piece of one. Values that endpoints spell in
// several ways are kept as they came.
type chunk struct {
	Error   *json.RawMessage `json:"error"`
	Model   string           `json:"model"`
	Choices []struct {
		Error        *json.RawMessage `json:"error"`
		Delta        *message         `json:"delta"`
		Message      *message         `json:"message"`
		FinishReason string           `json:"finish_reason"`
	} `json:"choices"`
	Usage *Usage `json:"usage"`
}

type message struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	Reasoning        any             `json:"reasoning"`
	ReasoningContent any             `json:"reasoning_content"`
	Details          json.RawMessage `json:"reasoning_details"`
	ToolCalls        []toolCall      `json:"tool_calls"`
}

type toolCall struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// add adds a piece, which must be one JSON value.
func (a *answer) add(piece []byte) error {
	c, err := decode(piece)
	if err != nil {
		return err
	}
	switch {
	case c.Error != nil:
		return remote.Failure(*c.Error)
	case a.whole && len(c.Choices) == 0:
		return &remote.Error{Reason: ErrNoChoices.Error(), Retry: true, Err: ErrNoChoices}
	}
	for i, choice := range c.Choices {
		switch {
		case choice.Error != nil:
			return remote.Failure(*choice.Error)
		case choice.FinishReason == "error":
			return remote.Failure(nil)
		case a.whole && choice.Message == nil:
			return &remote.Error{Reason: "the answer is not a chat completion"}
		case i == 0:
			a.got.Finish = cmp.Or(choice.FinishReason, a.got.Finish)
			a.message(cmp.Or(choice.Message, choice.Delta, &message{}))
		}
	}
	a.got.Model = cmp.Or(c.Model, a.got.Model)
	if c.Usage != nil {
		a.got.Usage = *c.Usage
	}
	return nil
}

func decode(piece []byte) (c chunk, err error) {
	dec := json.NewDecoder(bytes.NewReader(piece))
	err = dec.Decode(&c)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == io.EOF:
		return c, &remote.Error{Reason: "the answer is empty", Retry: true}
	case mistyped:
		return c, &remote.Error{Reason: "the answer is not a chat completion", Err: err}
	case err != nil:
		return c, &remote.Error{Reason: "the answer is not valid JSON", Retry: true, Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return c, &remote.Error{Reason: "the answer goes on after its end"}
	}
	return c, nil
}

func (a *answer) message(m *message) {
	a.text.WriteString(a.content(m.Content))
	a.refusal.WriteString(m.Refusal)
	reasoning, ok := m.ReasoningContent.(string)
	under := "reasoning_content"
	if !ok {
		reasoning, ok = m.Reasoning.(string)
		under = "reasoning"
	}
	if ok && reasoning != "" {
		a.got.Under = under
	}
	a.reasoning.WriteString(reasoning)
	a.details(m.Details)
	for i, c := range m.ToolCalls {
		if a.whole {
			c.Index = &i
		}
		a.call(c)
	}
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
			case (name == "text" || name == "summary") && json.Unmarshal(last[name], &before) == nil && json.Unmarshal(value, &more) == nil:
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
func (a *answer) plain(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil || len(raw) == 0 {
		return text
	}
	a.got.Object = a.got.Object || raw[0] == '{'
	return string(raw)
}

// call adds a piece of a call. One without an index goes on with the last call
// unless it has an id of its own; an index that leaves some out is a new call.
func (a *answer) call(c toolCall) {
	n := len(a.got.Calls)
	i := n - 1
	switch {
	case c.Index != nil:
		i = *c.Index
	case c.ID != "":
		i = n
	}
	if i < 0 || i >= n {
		i = n
		a.got.Calls, a.arguments = append(a.got.Calls, Call{}), append(a.arguments, nil)
	}
	call := &a.got.Calls[i]
	call.ID = cmp.Or(call.ID, c.ID)
	if len(c.Extra) > 0 && string(c.Extra) != "null" {
		if a.got.Extra == nil {
			a.got.Extra = map[int]json.RawMessage{}
		}
		a.got.Extra[i] = c.Extra
	}
	if c.Function.Name != call.Name { // some endpoints repeat it with every piece
		call.Name += c.Function.Name
	}
	a.arguments[i] = append(a.arguments[i], a.plain(c.Function.Arguments)...)
}
