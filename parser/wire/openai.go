package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// OpenAI is the chat completions protocol: a whole response, or its message.
var OpenAI = &Wire{
	Name: "openai",
	Doc:  `{"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
	shape: func(v value) bool {
		calls := v.get("tool_calls")
		function := func(c value) bool {
			return c.get("function").members != nil && (c.str("type") == "function" ||
				isPlain(c, v) && c.str("id") != "" && c.get("function").str("arguments") != "") || isCustom(c)
		}
		return v.get("choices").any(func(c value) bool { return c.get("message").members != nil }) ||
			calls.any(function) ||
			isAnswer(v) && (v.str("content") != "" ||
				v.has("refusal") || v.has("function_call")) &&
				v.surplus(messageKeys...) == ""
	},
	read: readOpenAI, key: "messages", list: answerOpenAI, define: defineOpenAI,
}

// messageKeys are the keys of a message of the model, by OpenAI and the servers that speak its
// protocol. Calls may be under others.
var messageKeys = []string{"role", "content", "refusal", "annotations", "audio", "function_call",
	"tool_calls", "name", "id",
	"reasoning", "reasoning_content", "reasoning_details", "thinking", "images"}

// isAnswer reports whether a value is a message of the model without calls.
func isAnswer(v value) bool {
	return v.str("role") == "assistant" && len(v.get("tool_calls").elements) == 0
}

// isCustom reports whether a value is a call whose one argument is a text.
func isCustom(c value) bool { return c.str("type") == "custom" && c.get("custom").members != nil }

// isPlain reports whether a call of a model's message has no type, which some servers leave out, as
// functions are the only one that they have.
func isPlain(c, message value) bool { return !c.has("type") && message.str("role") == "assistant" }

// functionCalls returns a message with its calls as parser.ToolCalls reads them: plain ones have the type,
// and arguments that are an object are in a string. Calls of custom tools are calls of functions with
// the argument input, if the tools are functions that take it.
func functionCalls(message value, tools Schemas) (json.RawMessage, bool) {
	calls, changed := message.get("tool_calls").elements, false
	for i, raw := range calls {
		c := split(raw)
		if f := c.get("function"); f.members != nil && f.twice == "" && isPlain(c, message) {
			if arguments := f.members["arguments"]; len(arguments) > 0 && arguments[0] == '{' {
				f.members["arguments"] = rawjson.Encode(string(arguments))
			}
			c.members["type"], c.members["function"] = rawjson.Encode("function"), rawjson.Encode(f.members)
			calls[i], changed = rawjson.Encode(c.members), true
			continue
		}
		name := c.get("custom").str("name")
		if c.twice != "" || !isCustom(c) || !takesText(tools, name) {
			continue
		}
		arguments := rawjson.Encode(object{textArgument: c.get("custom").str(textArgument)})
		calls[i], changed = rawjson.Encode(object{"id": c.members["id"], "type": "function",
			"function": object{"name": name, "arguments": string(arguments)}}), true
	}
	if !changed || message.twice != "" {
		return nil, false
	}
	message.members["tool_calls"] = rawjson.Encode(calls)
	return rawjson.Encode(message.members), true
}

// textArgument is the argument of a function that takes the one text of a custom tool.
const textArgument = "input"

// takesText reports whether a tool is a function that can be called as a custom tool.
func takesText(tools Schemas, name string) bool {
	return split(tools(name)).get("properties", textArgument).str("type") == "string"
}

// readOpenAI reads the message of a response, a message, or what parser.ToolCalls reads.
func readOpenAI(text string, tools Schemas) (parser.Envelope, error) {
	raw, ok := whole(text)
	v := split(raw)
	if !ok || !v.has("choices") && !isAnswer(v) {
		if functions, found := functionCalls(v, tools); ok && found {
			text = string(functions)
		}
		e, err := parser.ToolCalls(text)
		if v.str("role") == "assistant" {
			needIDs(e.Calls)
		}
		return e, err
	}
	raw, repairs, err := rawjson.Decode(text, parser.EnvelopeKeys...)
	if err != nil {
		return parser.Envelope{}, parser.NoCalls(err.Error(), err)
	}
	whole, ended := split(raw), ""
	message := whole
	if message.has("choices") {
		choice, err := only(message.get("choices").elements, "choices", func(c value) bool {
			return len(c.get("message", "tool_calls").elements) > 0
		})
		if err != nil {
			return parser.Envelope{}, err
		}
		message, ended = choice.get("message"), choice.str("finish_reason")
	}
	if err := givenTwice(whole, message); err != nil {
		return parser.Envelope{}, err
	}
	if len(message.get("tool_calls").elements) == 0 {
		m := readContent(message)
		m.Repairs = repairs
		if message.has("function_call") {
			m.refused = "a function_call, which tool_calls replaced,"
		}
		return m.finish()
	}
	if functions, found := functionCalls(message, tools); found {
		message.raw = functions
	}
	e, err := parser.EnvelopeOf([]json.RawMessage{message.raw}, repairs)
	if n := len(e.Calls); ended == "length" && n > 0 && errors.Is(e.Calls[n-1].Err, parser.ErrNoArguments) {
		cutLast(e.Calls, ended)
	}
	needIDs(e.Calls)
	return e, err
}

// readContent reads the text of a message, or why the model refused.
func readContent(message value) (m message) {
	if text := message.str("content"); text != "" {
		m.said = append(m.said, text)
	}
	for _, part := range message.get("content").elements {
		m.said = append(m.said, split(part).str("text"))
	}
	m.said = append(m.said, message.str("refusal"))
	return m
}

// only returns the one element that holds calls, or the first if none does.
func only(list []json.RawMessage, what string, holds func(v value) bool) (picked value, err error) {
	n := 0
	for i, raw := range list {
		v := split(raw)
		if calls := holds(v); calls || i == 0 {
			picked = v
			if calls {
				n++
			}
		}
	}
	if n > 1 {
		return value{}, parser.NoCalls(fmt.Sprintf("%d %s hold calls, where one is wanted, so nothing of it was run", n, what), nil)
	}
	return picked, nil
}

// A ToolMessage is the answer to one call.
type ToolMessage struct {
	Role       string `json:"role"` // "tool"
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
	Undo       string `json:"undo,omitempty"`     // as in [Answer]
	NotKept    string `json:"not_kept,omitempty"` // as in [Answer]
}

// answerOpenAI returns a message for each call. A message of the role "tool" holds text
// only, so pictures and files follow in one of the user.
func answerOpenAI(answers []Answer) (messages []any) {
	var shown []any
	for _, a := range answers {
		messages = append(messages, ToolMessage{Role: "tool", ToolCallID: a.Call.ID, Content: a.Text,
			Undo: a.Undo, NotKept: a.NotKept})
		for _, m := range a.Media {
			shown = append(shown, object{"type": "text", "text": a.Call.Name + " " + a.Call.ID +
				": " + m.Name})
			if m.isImage() {
				shown = append(shown, object{"type": "image_url", "image_url": object{"url": m.dataURL()}})
			} else {
				shown = append(shown, object{"type": "file",
					"file": object{"filename": m.Name, "file_data": m.dataURL()}})
			}
		}
	}
	if shown != nil {
		messages = append(messages, object{"role": "user", "content": shown})
	}
	return messages
}

// A definition is a tool as a chat completion request has it.
type definition struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func defineOpenAI(tools []Tool) any {
	list := make([]definition, len(tools))
	for i, t := range tools {
		list[i] = definition{"function", function{t.Name, t.Doc, t.Schema}}
	}
	return list
}
