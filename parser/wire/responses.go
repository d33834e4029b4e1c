package wire

import (
	"cmp"
	"errors"
	"maps"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// Responses is OpenAI's Responses protocol: a whole response, its output, or one item
// of it.
var Responses = &Wire{
	Name: "responses",
	Doc:  `{"output":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]}`,
	shape: func(v value) bool {
		return v.str("object") == "response" &&
			v.has("output") || isOutput(v) || v.any(isOutput) ||
			v.get("output").any(isOutput)
	},
	read: func(text string, tools Schemas) (parser.Envelope, error) {
		return readParts(text, outputItems, func(m *message, item value) { readItem(m, item, tools) })
	},
	key: "input", list: answerResponses, define: defineResponses, turn: turnResponses,
}

// customCall is the kind of an item that calls a tool with one text.
const customCall = "custom_tool_call"

// An ownItem is an item that calls a tool of OpenAI. To a dialect it is a call of the tool that
// its kind names.
type ownItem struct {
	arguments string // the member that holds them
	output    func(a Answer) object
}

var ownItems = map[string]ownItem{
	"apply_patch_call": {"operation", func(a Answer) object {
		return object{"status": endOf(a, "failed"), "output": a.Text}
	}},
	"shell_call": {"action", func(a Answer) object {
		if a.Object == nil {
			failed := object{"stdout": "", "stderr": a.Text,
				"outcome": object{"type": "exit", "exit_code": 1}}
			return object{"output": []object{failed}}
		}
		o := split(a.Object).part("output")
		if most := split(a.Call.Arguments); most.has("max_output_length") {
			o["max_output_length"] = most.members["max_output_length"]
		}
		return o
	}},
	"local_shell_call": {"action", func(a Answer) object {
		return object{"id": a.Call.ID, "status": endOf(a, "incomplete"), "output": a.Text}
	}},
}

func endOf(a Answer, failed string) string {
	if a.Failed {
		return failed
	}
	return "completed"
}

var (
	isCall   = typed("function_call", customCall, "apply_patch_call", "shell_call", "local_shell_call")
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

func readItem(m *message, item value, tools Schemas) {
	kind := item.str("type")
	own, known := ownItems[kind]
	known = known && len(tools(kind)) > 0
	switch environment := item.get("environment").str("type"); {
	case strings.HasPrefix(environment, "container"):
		m.served = true
		return
	case known && item.str("status") == "in_progress":
		m.Calls = append(m.Calls, parser.ToolCall{ID: item.str("call_id"), Name: kind, Err: pendingError{},
			Kind: kind, Item: item.raw})
		return
	case known:
		m.call(item, item.str("call_id"), kind, item.members[own.arguments], objectArguments)
		last := &m.Calls[len(m.Calls)-1]
		last.Kind, last.Item = kind, item.raw
		return
	}
	switch kind {
	case "function_call":
		m.part(responsesPart(item), stringArguments)
		last := &m.Calls[len(m.Calls)-1]
		if last.Item = item.raw; last.ID == "" && last.Err == nil {
			last.Arguments, last.Err = nil, errors.New("the call has no call_id, so it was not run")
		}
		if status := item.str("status"); status == "incomplete" || status == "in_progress" {
			cutLast(m.Calls, status)
		}
	case customCall:
		c := parser.ToolCall{ID: item.str("call_id"), Name: item.str("name"), Err: errCustom, Kind: kind,
			Item: item.raw}
		switch {
		case item.str("status") == "in_progress":
			c.Err = pendingError{}
		case item.twice == "" && takesText(tools, c.Name):
			c.Arguments, c.Err = rawjson.Encode(object{textArgument: item.str("input")}), nil
		}
		m.Calls = append(m.Calls, c)
	case "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
		m.refused = "a " + item.str("type")
	case "message":
		m.part(responsesPart(item), stringArguments)
	}
}

// responsesPart reads an item.
func responsesPart(v value) (p Part) {
	switch v.str("type") {
	case "message":
		p.Kind = TextPart
		for _, c := range v.get("content").elements {
			refusal := split(c).piece("refusal")
			p.Text += split(c).piece("text") + refusal
			p.Refused = p.Refused || refusal != ""
		}
	case "function_call":
		return Part{Kind: CallPart, ID: cmp.Or(v.str("call_id"), v.str("callId")), Name: v.str("name"), Arguments: v.members["arguments"],
			in: v}
	case "reasoning":
		p = Part{Kind: ThoughtPart, Item: v.raw}
		for _, s := range v.get("summary").elements {
			p.Text += split(s).str("text") + "\n"
		}
		p.Back = v.str("encrypted_content") != "" // else the endpoint keeps nothing that it could be referred to by
	}
	return p
}

// A responsesItem is a part in a request.
type responsesItem struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   string `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

func turnResponses(role string, parts []Part) (items []any) {
	for _, p := range parts {
		switch {
		case p.Kind == TextPart && (p.Text != "" || role != "assistant"):
			items = append(items, responsesItem{Type: "message", Role: role, Content: p.Text})
		case p.Kind == CallPart:
			items = append(items, responsesItem{Type: "function_call", CallID: p.ID, Name: p.Name,
				Arguments: string(p.Arguments)})
		case p.Item != nil:
			items = append(items, p.Item)
		}
	}
	return items
}

// A pendingError is the error of a call that is not complete yet.
type pendingError struct{}

func (pendingError) Error() string { return "The call is not complete; send it again" }

// errCustom is the error of a custom call of a tool that takes several arguments.
var errCustom = errors.New("the tool is a function with JSON arguments, not a custom tool")

// answerResponses returns an item for each call.
func answerResponses(answers []Answer) []any {
	items := make([]any, len(answers))
	for i, a := range answers {
		item := object{"type": "function_call_output", "call_id": a.Call.ID, "output": a.Text}
		if a.Call.Kind != "" {
			item["type"] = a.Call.Kind + "_output"
		}
		maps.Copy(item, split(a.Call.Item).part("caller"))
		if own, ok := ownItems[a.Call.Kind]; ok {
			maps.Copy(item, own.output(a))
			if item["id"] != nil {
				delete(item, "call_id")
			}
			items[i] = item
			continue
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
		list[i] = object{"type": "function", "name": t.Name, "description": t.Doc, "parameters": t.Schema,
			"strict": false}
	}
	return list
}
