package wire

import (
	"encoding/json"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// Ollama is the protocol of Ollama's chat: a whole response, or its message.
var Ollama = &Wire{
	Name: "ollama",
	Doc:  `{"message":{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true}`,
	shape: func(v value) bool {
		untyped := func(c value) bool { return c.get("function", "arguments").members != nil && !c.has("type") }
		return v.get("message").str("role") == "assistant" &&
			(v.has("done") || v.get("message", "tool_calls").elements != nil) ||
			v.str("role") == "assistant" && v.get("tool_calls").any(untyped)
	},
	read: func(text string, _ Schemas) (parser.Envelope, error) {
		return readParts(text, ollamaCalls, func(m *message, part value) {
			f := part.get("function")
			if part.members["function"] == nil {
				m.said = append(m.said, part.str("content"))
				return
			}
			m.call(f, part.str("id"), f.str("name"), f.members["arguments"], eitherArguments)
		})
	},
	key: "messages", list: answerOllama, define: defineOllama,
}

// eitherArguments reads arguments that are an object, or a string that holds one.
func eitherArguments(raw json.RawMessage) (json.RawMessage, []string, error) {
	if len(raw) > 0 && raw[0] == '"' {
		return stringArguments(raw)
	}
	return objectArguments(raw)
}

// ollamaCalls returns the calls of a message, or the message itself if it has none.
func ollamaCalls(v value) (value, error) {
	if v.has("message") {
		v = v.get("message")
	}
	switch {
	case len(v.get("tool_calls").elements) > 0:
		return v.get("tool_calls"), nil
	case v.has("content"):
		return v.alone(), nil
	}
	return value{}, parser.NoCalls(`the message is missing; want {"message":{"tool_calls":[{"function":{"name":…,"arguments":{…}}}]}}`, nil)
}

// answerOllama returns a message for each call, by its name; a call has an id only from
// newer servers.
func answerOllama(answers []Answer) []any {
	messages := make([]any, len(answers))
	for i, a := range answers {
		m := object{"role": "tool", "tool_name": a.Call.Name, "content": a.withoutMedia(Media.isImage)}
		if a.Call.ID != "" {
			m["tool_call_id"] = a.Call.ID
		}
		var images []string
		for _, shown := range a.Media {
			if shown.isImage() {
				images = append(images, shown.base64())
			}
		}
		if images != nil {
			m["images"] = images
		}
		messages[i] = m
	}
	return messages
}

// defineOllama returns the definitions with what Ollama's clients know of JSON Schema.
func defineOllama(tools []Tool) any {
	list := make([]definition, len(tools))
	for i, t := range tools {
		schema := split(t.Schema)
		properties := object{}
		for name, raw := range schema.get("properties").members {
			properties[name] = split(raw).part("type", "description", "enum", "items")
		}
		parameters := object{"type": "object", "properties": properties,
			"required": schema.members["required"]}
		list[i] = definition{"function", function{t.Name, t.Doc, rawjson.Encode(parameters)}}
	}
	return list
}
