package wire

import (
	"encoding/json"
	"reflect"
	"strings"

	"textskill/parser/rawjson"
)

// A Part is one part of a model's message: a block of Anthropic's, a part of Google's, an item of
// the Responses, or a piece of one that a stream brings.
type Part struct {
	Kind PartKind
	// of a text or a thought, and of a piece of a call; a piece may end with half of a surrogate pair
	Text      string
	ID, Name  string          // of a call
	Arguments json.RawMessage // of a call, as they came; nil for none
	Sign      string          // shows the provider that its model made the part
	Back      bool            // a thought that the provider wants back
	Item      json.RawMessage // that thought, if Text and Sign are not all of it
	Refused   bool            // a text in which the model refuses

	in value // the object that has the call
}

// A PartKind says what a part holds.
type PartKind string

// The kinds of parts. All others have the kind "".
const (
	TextPart    PartKind = "text"
	CallPart    PartKind = "call"
	ThoughtPart PartKind = "thought"
)

// The parts of each protocol, as JSON has them.
type (
	AnthropicPart struct{ Part }
	GeminiPart    struct{ Part }
	ResponsesPart struct{ Part }
)

// UnmarshalJSON reads a block of a message, or what a stream adds to it.
func (p *AnthropicPart) UnmarshalJSON(data []byte) error { return p.decode(data, anthropicPart) }

// UnmarshalJSON reads a part of a content.
func (p *GeminiPart) UnmarshalJSON(data []byte) error { return p.decode(data, geminiPart) }

// UnmarshalJSON reads an item of the output.
func (p *ResponsesPart) UnmarshalJSON(data []byte) error { return p.decode(data, responsesPart) }

func (p *Part) decode(data []byte, read func(v value) Part) error {
	switch {
	case data[0] == '{':
		*p = read(split(json.RawMessage(strings.Clone(string(data)))))
	case string(data) != "null":
		return &json.UnmarshalTypeError{Value: rawjson.Kind(data), Type: reflect.TypeFor[Part]()}
	}
	return nil
}

// piece returns the string under a key, which may have halves of surrogate pairs.
func (v value) piece(key string) string {
	if raw := v.members[key]; len(raw) > 1 && raw[0] == '"' {
		return rawjson.Unquote(raw)
	}
	return ""
}

// part adds a part, the arguments of a call as a function reads them.
func (m *message) part(p Part, read func(json.RawMessage) (json.RawMessage, []string, error)) {
	switch p.Kind {
	case CallPart:
		m.call(p.in, p.ID, p.Name, p.Arguments, read)
	case TextPart:
		m.said = append(m.said, rawjson.ReplaceHalves(p.Text))
	}
}

// A turn is a message of a request: Anthropic's has content, Google's has parts.
type turn struct {
	Role    string `json:"role"`
	Content []any  `json:"content,omitempty"`
	Parts   []any  `json:"parts,omitempty"`
}

// Turn returns the elements of a request's conversation for a message of a role: "system", "user"
// or "assistant". The wire must be Anthropic, Gemini or Responses.
func (w *Wire) Turn(role string, parts []Part) []any { return w.turn(role, parts) }
