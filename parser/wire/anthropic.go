package wire

import (
	"strings"

	"textskill/parser"
	rawjson "textskill/parser/json"
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
		switch last = isToolUse(block); {
		case last:
			m.call(block, block.str("id"), block.str("name"), block.members["input"], objectArguments)
		case block.str("type") == "text":
			m.said = append(m.said, block.str("text"))
		}
	})
	if last && stopped == "max_tokens" { // its input may lack what was to come
		cutLast(e.Calls, stopped)
	}
	return e, err
}

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
				kind := "document"
				if m.isImage() {
					kind = "image"
				}
				parts = append(parts, object{"type": kind,
					"source": object{"type": "base64", "media_type": m.Type, "data": m.base64()}})
			}
			block["content"] = parts
		}
		blocks[i] = block
	}
	return []any{object{"role": "user", "content": blocks}}
}

func defineAnthropic(tools []Tool) any {
	list := make([]object, len(tools))
	for i, t := range tools {
		list[i] = object{"name": t.Name, "description": t.Doc, "input_schema": t.Schema}
	}
	return list
}
