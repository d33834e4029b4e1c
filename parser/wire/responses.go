package wire

import (
	"errors"

	"textskill/parser"
)

// Responses is OpenAI's Responses protocol: a whole response, its output, or one item
// of it.
var Responses = &Wire{
	Name: "responses",
	Doc:  `{"output":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]}`,
	shape: func(v value) bool {
		return v.str("object") == "response" && v.has("output") || isOutput(v) || v.any(isOutput) || v.get("output").any(isOutput)
	},
	read: func(text string, _ Schemas) (parser.Envelope, error) {
		return readParts(text, outputItems, readItem)
	},
	key: "input", list: answerResponses, define: defineResponses,
}

var (
	isCall   = typed("function_call", "custom_tool_call")
	isSaying = typed("output_text", "refusal")
)

func isOutput(v value) bool { return isCall(v) || v.get("content").any(isSaying) }

func outputItems(v value) (value, error) {
	switch {
	case v.elements != nil:
		return v, nil
	case v.get("output").elements != nil:
		return v.get("output"), nil
	case v.str("type") != "":
		return v.alone(), nil
	}
	return value{}, parser.NoCalls(`the output is missing; want {"output":[{"type":"function_call",…}]}`, nil)
}

func readItem(m *message, item value) {
	switch item.str("type") {
	case "function_call":
		m.call(item, item.str("call_id"), item.str("name"), item.members["arguments"], stringArguments)
		if status := item.str("status"); status == "incomplete" || status == "in_progress" {
			cutLast(m.Calls, status)
		}
	case "custom_tool_call":
		m.Calls = append(m.Calls, parser.ToolCall{ID: item.str("call_id"), Name: item.str("name"), Err: errCustom})
	case "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
		m.refused = "a " + item.str("type")
	case "message":
		for _, part := range item.get("content").elements {
			m.said = append(m.said, split(part).str("text"), split(part).str("refusal"))
		}
	}
}

// errCustom is the error of a custom tool call, whose answer has a type of its own.
var errCustom = errors.New("the tool is a function with JSON arguments, not a custom tool")

// answerResponses returns an item for each call.
func answerResponses(answers []Answer) any {
	items := make([]object, len(answers))
	for i, a := range answers {
		item := object{"type": "function_call_output", "call_id": a.Call.ID, "output": a.Text}
		if a.Call.Err == errCustom {
			item["type"] = "custom_tool_call_output"
		}
		if len(a.Media) > 0 {
			parts := []object{{"type": "input_text", "text": a.Text}}
			for _, m := range a.Media {
				part := object{"type": "input_file", "filename": m.Name, "file_data": m.dataURL()}
				if m.isImage() {
					part = object{"type": "input_image", "image_url": m.dataURL(), "detail": "auto"}
				}
				parts = append(parts, part)
			}
			item["output"] = parts
		}
		items[i] = item
	}
	return items
}

// defineResponses says of each tool that it is not strict: strict schemas must require
// every argument.
func defineResponses(tools []Tool) any {
	list := make([]object, len(tools))
	for i, t := range tools {
		list[i] = object{"type": "function", "name": t.Name, "description": t.Doc, "parameters": t.Schema, "strict": false}
	}
	return list
}
