package wire

import (
	"encoding/json"
	"errors"
	"slices"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// LangChain is how LangChain writes a model's message as JSON: its fields, what messages_to_dict
// makes of them, or dumpd. Of a conversation, the last message counts.
var LangChain = &Wire{
	Name: "langchain",
	Doc:  `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"1","type":"tool_call"}]}`,
	shape: func(v value) bool {
		m, _ := langChainMessage(v)
		return m.members != nil && (m.str("content") != "" || m.get("content").elements != nil ||
			len(langChainCalls(m)) > 0)
	},
	read: readLangChain, key: "messages", list: answerLangChain,
}

// The forms of a message, as the Item of its calls has them: its fields alone, or under data. That of a constructor,
// with the fields under kwargs, is the list that names its class: Python's and JavaScript's LangChain have their own.
const (
	langChainFields = `"fields"`
	langChainData   = `"data"`
)

// langChainMessage returns the fields of a model's message and their form; no fields for other values.
func langChainMessage(v value) (fields value, form string) {
	if n := len(v.elements); n > 0 {
		v = split(v.elements[n-1])
	}
	isModel := typed("ai", "AIMessageChunk")
	id := v.get("id").elements
	switch {
	case v.has("lc") && len(id) > 0:
		class, _ := rawjson.String(id[len(id)-1])
		if class == "AIMessage" || class == "AIMessageChunk" {
			return v.get("kwargs"), string(v.members["id"])
		}
	case isModel(v) && v.has("data"):
		return v.get("data"), langChainData
	case isModel(v):
		return v, langChainFields
	}
	return value{}, ""
}

// langChainCalls returns the calls of a message, and after them those that LangChain could not read.
func langChainCalls(m value) []json.RawMessage {
	return slices.Concat(m.get("tool_calls").elements, m.get("invalid_tool_calls").elements)
}

func readLangChain(text string, _ Schemas) (parser.Envelope, error) {
	var fields value
	var form string
	parts := func(v value) (value, error) {
		fields, form = langChainMessage(v)
		switch calls := langChainCalls(fields); {
		case len(calls) > 0:
			return value{elements: calls, twice: fields.twice}, nil
		case fields.get("content").elements != nil:
			return fields.get("content"), nil
		case fields.has("content"):
			return fields.alone(), nil
		}
		return value{}, parser.NoCalls(`the message is missing; want {"type":"ai","tool_calls":[{"name":…,"args":{…},"id":…}]}`, nil)
	}
	valid := 0
	e, err := readParts(text, parts, func(m *message, part value) {
		if len(langChainCalls(fields)) == 0 {
			said, ok := rawjson.String(part.raw)
			if !ok && part.has("content") {
				said = part.str("content")
			}
			m.said = append(m.said, said, part.str("text"))
			return
		}
		m.call(part, part.str("id"), part.str("name"), part.members["args"], objectArguments)
		last := &m.Calls[len(m.Calls)-1]
		if valid++; valid > len(fields.get("tool_calls").elements) {
			last.Arguments, last.Err = nil, errors.New("the arguments are no JSON object, so this call was not run")
		}
		last.Item = json.RawMessage(form)
	})
	ended := fields.get("response_metadata")
	for _, reason := range []string{ended.str("finish_reason"), ended.str("stop_reason"), ended.str("done_reason")} {
		if slices.Contains([]string{"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}, reason) {
			cutLast(e.Calls, reason)
		}
	}
	needIDs(e.Calls)
	return e, err
}

// answerLangChain returns a message for each call, in the form of the message with the calls.
func answerLangChain(answers []Answer) []any {
	messages := make([]any, len(answers))
	for i, a := range answers {
		fields := object{"type": "tool", "content": a.Text, "tool_call_id": a.Call.ID, "name": a.Call.Name,
			"status": map[bool]string{false: "success", true: "error"}[a.Failed]}
		if len(a.Media) > 0 {
			blocks := []object{{"type": "text", "text": a.Text}}
			for _, m := range a.Media {
				kind := "file"
				if m.isImage() {
					kind = "image"
				}
				blocks = append(blocks, object{"type": kind, "base64": m.base64(), "mime_type": m.Type})
			}
			fields["content"] = blocks
		}
		messages[i] = fields
		var class []string
		switch {
		case string(a.Call.Item) == langChainData:
			messages[i] = object{"type": "tool", "data": fields}
		case json.Unmarshal(a.Call.Item, &class) == nil && len(class) > 0:
			class[len(class)-1] = "ToolMessage"
			messages[i] = object{"lc": 1, "type": "constructor", "kwargs": fields, "id": class}
		}
	}
	return messages
}
