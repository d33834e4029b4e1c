package wire

import (
	"textskill/parser"
)

// AISDK is how Vercel's AI SDK has a model's message: a message with parts, its parts, or the toolCalls of a
// result. Of a conversation, the last message counts.
var AISDK = &Wire{
	Name: "ai-sdk",
	Doc:  `{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"f","input":{}}]}`,
	shape: func(v value) bool {
		parts := aiSDKParts(v)
		return isAISDKCall(parts) || parts.any(isAISDKCall)
	},
	read: readAISDK, key: "messages", list: answerAISDK,
}

var isAISDKCall = typed("tool-call")

// aiSDKParts returns the parts of a message, of the last message of a conversation, or of a result.
func aiSDKParts(v value) value {
	if n := len(v.elements); n > 0 {
		if last := split(v.elements[n-1]); last.has("role") {
			v = last
		}
	}
	switch {
	case v.has("toolCalls"):
		return v.get("toolCalls")
	case v.has("role"):
		return v.get("content")
	}
	return v
}

func readAISDK(text string, _ Schemas) (parser.Envelope, error) {
	ended := ""
	parts := func(v value) (value, error) {
		ended = v.str("finishReason")
		if parts := aiSDKParts(v); isAISDKCall(parts) {
			return parts.alone(), nil
		} else if parts.elements != nil {
			return parts, nil
		}
		return value{}, parser.NoCalls(`the content is missing; want {"role":"assistant","content":[{"type":"tool-call",…}]}`, nil)
	}
	e, err := readParts(text, parts, func(m *message, part value) {
		switch {
		case !isAISDKCall(part):
			if part.str("type") == "text" {
				m.said = append(m.said, part.str("text"))
			}
		case string(part.members["providerExecuted"]) == "true":
			m.served = true
		case part.has("input"):
			m.call(part, part.str("toolCallId"), part.str("toolName"), part.members["input"], objectArguments)
		default: // before version 5
			m.call(part, part.str("toolCallId"), part.str("toolName"), part.members["args"], objectArguments)
		}
	})
	if ended == "length" {
		cutLast(e.Calls, ended)
	}
	needIDs(e.Calls)
	return e, err
}

// answerAISDK returns one message with a part for each call.
func answerAISDK(answers []Answer) []any {
	parts := make([]object, len(answers))
	for i, a := range answers {
		output := object{"type": "text", "value": a.Text}
		if a.Failed {
			output["type"] = "error-text"
		}
		if len(a.Media) > 0 {
			blocks := []object{{"type": "text", "text": a.Text}}
			for _, m := range a.Media {
				blocks = append(blocks, object{"type": "file", "mediaType": m.Type,
					"data": object{"type": "data", "data": m.base64()}})
			}
			output = object{"type": "content", "value": blocks}
		}
		parts[i] = object{"type": "tool-result", "toolCallId": a.Call.ID, "toolName": a.Call.Name, "output": output}
	}
	return []any{object{"role": "tool", "content": parts}}
}
