package wire

import (
	"encoding/json"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// Anthropic is the Messages protocol: a whole message, its content, or one block of it.
var Anthropic = &Wire{
	Name: "anthropic",
	Doc:  `{"content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}`,
	shape: func(v value) bool {
		return v.str("type") == "message" && v.str("role") == "assistant" &&
			v.get("content").elements != nil ||
			isToolUse(v) || v.any(isToolUse) || v.get("content").any(isToolUse) ||
			isText(v) || v.str("role") == "assistant" && isText(v.get("content"))
	},
	read: readAnthropic, key: "messages", list: answerAnthropic, define: defineAnthropic,
	turn: turnAnthropic,
}

var (
	isToolUse = typed("tool_use")
	isBlock   = typed("text", "thinking", "redacted_thinking", "server_tool_use")
)

// isText reports whether a value is the content of a message without calls. Blocks of other
// types may be calls of somebody else.
func isText(v value) bool {
	return v.any(typed("text")) && !v.any(func(b value) bool { return !isBlock(b) && !isServed(b) })
}

// isServed reports whether a block is the result of a tool that the provider has run.
func isServed(b value) bool {
	return b.has("tool_use_id") && strings.HasSuffix(b.str("type"), "_tool_result")
}

func readAnthropic(text string, _ Schemas) (parser.Envelope, error) {
	stopped := ""
	blocks := func(v value) (value, error) {
		stopped = v.str("stop_reason")
		switch {
		case v.elements != nil:
			return v, nil
		case v.get("content").elements != nil:
			return v.get("content"), nil
		case v.str("content") != "":
			return split(rawjson.Encode(object{"type": "text", "text": v.str("content")})).alone(), nil
		case v.str("type") != "":
			return v.alone(), nil
		}
		return value{}, parser.NoCalls(`the content is missing; want {"content":[{"type":"tool_use",…}]}`, nil)
	}
	last := false // the last block is a call
	e, err := readParts(text, blocks, func(m *message, block value) {
		last = isToolUse(block)
		m.part(anthropicPart(block), objectArguments)
	})
	if last && (stopped == "max_tokens" || stopped == "model_context_window_exceeded") { // its input may lack what was to come
		cutLast(e.Calls, stopped)
	}
	needIDs(e.Calls)
	return e, err
}

// anthropicPart reads a block, or what a stream adds to one.
func anthropicPart(v value) Part {
	switch v.str("type") {
	case "text", "text_delta":
		return Part{Kind: TextPart, Text: v.piece("text")}
	case "tool_use":
		return Part{Kind: CallPart, ID: v.str("id"), Name: v.str("name"), Arguments: v.members["input"], in: v}
	case "input_json_delta":
		return Part{Kind: CallPart, Text: v.piece("partial_json")}
	case "thinking", "thinking_delta", "signature_delta":
		return Part{Kind: ThoughtPart, Text: v.piece("thinking"), Sign: v.str("signature"), Back: true}
	case "redacted_thinking":
		return Part{Kind: ThoughtPart, Item: v.raw, Back: true}
	}
	return Part{}
}

// An anthropicBlock is a part in a request.
type anthropicBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
}

// turnAnthropic leaves out blank texts, which endpoints refuse.
func turnAnthropic(role string, parts []Part) []any {
	out := turn{Role: role}
	for _, p := range parts {
		switch {
		case p.Kind == TextPart && strings.TrimSpace(p.Text) != "":
			out.Content = append(out.Content, anthropicBlock{Type: "text", Text: p.Text})
		case p.Kind == CallPart:
			out.Content = append(out.Content,
				anthropicBlock{Type: "tool_use", ID: p.ID, Name: p.Name, Input: p.Arguments})
		case p.Item != nil:
			out.Content = append(out.Content, p.Item)
		case p.Kind == ThoughtPart:
			out.Content = append(out.Content,
				anthropicBlock{Type: "thinking", Thinking: &p.Text, Signature: &p.Sign})
		}
	}
	if out.Content == nil {
		out.Content = []any{anthropicBlock{Type: "text", Text: nothing}}
	}
	return []any{out}
}

// nothing is the text of a message without parts, which endpoints refuse.
const nothing = "(nothing)"

// answerAnthropic returns one message with a block for each call.
func answerAnthropic(answers []Answer) []any {
	blocks := make([]object, len(answers))
	for i, a := range answers {
		block := object{"type": "tool_result", "tool_use_id": a.Call.ID, "content": a.Text}
		if a.Failed {
			block["is_error"] = true
		}
		if len(a.Media) > 0 {
			parts := []object{{"type": "text", "text": a.Text}}
			for _, m := range a.Media {
				parts = append(parts, m.block())
			}
			block["content"] = parts
		}
		blocks[i] = block
	}
	return []any{object{"role": "user", "content": blocks}}
}

// block returns the media as Anthropic has it.
func (m Media) block() object {
	kind := "document"
	if m.isImage() {
		kind = "image"
	}
	return object{"type": kind, "source": object{"type": "base64", "media_type": m.Type, "data": m.base64()}}
}

func defineAnthropic(tools []Tool) any {
	list := make([]object, len(tools))
	for i, t := range tools {
		list[i] = object{"name": t.Name, "description": t.Doc, "input_schema": t.Schema}
	}
	return list
}
