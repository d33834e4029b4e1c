package openai

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"textskill/llmfallback/remote"
)

// A Request is one question to a model, in the fields of the protocol. A zero
// field is left out. go-openai's type of a whole request cannot be used for conversations: it
// leaves out a temperature of 0 and an empty content as well, and it has no files.
type Request struct {
	Messages []Message `json:"messages"`
	Model    string    `json:"model"`
	// "none", "minimal", "low", "medium" or "high"
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	ResponseFormat  json.RawMessage `json:"response_format,omitempty"`
	// the answer may come in pieces; a whole one is accepted all the same
	Stream        bool                  `json:"stream"`
	StreamOptions *openai.StreamOptions `json:"stream_options,omitempty"`
	Temperature   *float64              `json:"temperature,omitempty"`
	ToolChoice    any                   `json:"tool_choice,omitempty"` // "required" for any of Tools
	Tools         []openai.Tool         `json:"tools,omitempty"`

	Conversation remote.List `json:"-"` // if not empty, sent instead of Messages

	// Heard is called with each piece of the answer's text that comes in a stream, and
	// with "" for any other sign of life. It may be nil.
	Heard func(text string) `json:"-"`
}

func (r Request) body() (remote.Body, error) {
	messages := r.Conversation
	if messages.Empty() {
		for _, m := range r.Messages {
			if err := messages.Append(m); err != nil {
				return remote.Body{}, &remote.Error{Reason: "the request cannot be written as JSON: " +
					err.Error(), Err: err}
			}
		}
	}
	r.Messages = nil
	return remote.NewBody(r, "messages", messages) // its first field
}

// has reports whether the request has a parameter, or something in its messages that an
// endpoint may not accept.
func has(b remote.Body, parameter string) bool {
	switch parameter {
	case "image", "file":
		return b.ListHas(`"type":"` + parameter)
	case "reasoning_content", "reasoning_details", "extra_content":
		return b.ListHas(`"` + parameter + `":`)
	}
	return b.Has(parameter)
}

// A Message is one turn of a conversation.
type Message struct {
	Content any    `json:"content,omitempty"` // a string; nil leaves it out
	Role    string `json:"role"`              // "system", "user" or "assistant"
}

// A Call is a tool call. Its arguments are the JSON of an object if the model
// got them right.
type Call struct{ ID, Name, Arguments string }

// MarshalJSON spells a call as the protocol does.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(c.strict())
}

func (c Call) strict() openai.ToolCall {
	return openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction,
		Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments}}
}

// WithUsage asks for the usage at the end of a stream. Whole answers have it unasked.
func (r *Request) WithUsage() { r.StreamOptions = &openai.StreamOptions{IncludeUsage: true} }

// AddTool offers a function that the model may call. Its parameters are the JSON Schema of an object.
func (r *Request) AddTool(name, doc string, parameters json.RawMessage) {
	r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: name, Description: doc, Parameters: parameters}})
}
