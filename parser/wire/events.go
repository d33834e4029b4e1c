package wire

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// AgentEvents is the protocol of Anthropic's managed agents: the events of a session, in a
// list, alone, or one a line.
var AgentEvents = &Wire{
	Name:  "agent-events",
	Doc:   `{"type":"agent.tool_use","id":"1","name":"f","input":{}}`,
	shape: func(v value) bool { return isUse(v) || v.any(isUse) },
	read:  readEvents, key: "events", list: answerEvents,
}

// The kinds of events that are calls. Calls of other kinds are of the provider's own tools.
const (
	toolUse   = "agent.tool_use"
	customUse = "agent.custom_tool_use"
)

var (
	isEvent = typed(toolUse, customUse)
	isUse   = typed(toolUse, customUse, "agent.mcp_tool_use") // a server carries out the last one
)

// eventLines returns the events of a text that has one on each line, as a list.
func eventLines(text string) (json.RawMessage, bool) {
	if !strings.Contains(text, `"agent.`) {
		return nil, false
	}
	list := []json.RawMessage{}
	for line := range strings.Lines(text) {
		if line = strings.Trim(line, rawjson.Space); line == "" {
			continue
		}
		if line[0] != '{' || !json.Valid([]byte(line)) {
			return nil, false
		}
		list = append(list, json.RawMessage(line))
	}
	return rawjson.Encode(list), len(list) > 1
}

// readEvents reads the calls that are to be carried out: those that the provider allows, or
// that a confirmation allows later, and that have no result yet.
func readEvents(text string, _ Schemas) (parser.Envelope, error) {
	if lines, ok := eventLines(text); ok {
		text = string(lines)
	}
	raw, repairs, err := rawjson.Decode(text)
	if err != nil {
		return parser.Envelope{}, parser.NoCalls(err.Error(), err)
	}
	v := split(raw)
	switch {
	case v.get("events").elements != nil:
		v = v.get("events")
	case v.str("type") != "":
		v = v.alone()
	case v.elements == nil:
		return parser.Envelope{},
			parser.NoCalls(`the events are missing; want {"type":"agent.tool_use",…}`, nil)
	}
	if err := givenTwice(v); err != nil {
		return parser.Envelope{}, err
	}
	m := message{Envelope: parser.Envelope{Calls: []parser.ToolCall{}, Repairs: repairs}}
	events := make([]value, len(v.elements))
	for i, e := range v.elements {
		events[i] = split(e)
	}
	for i, e := range events {
		if isEvent(e) && isAllowed(e, events[i+1:]) {
			m.call(e, e.str("id"), e.str("name"), e.members["input"], objectArguments)
			last := &m.Calls[len(m.Calls)-1]
			last.Kind, last.Item = e.str("type"), e.raw
			if last.ID == "" {
				last.Arguments, last.Err = nil, errors.New("the event has no id")
			}
		}
	}
	return m.Envelope, nil
}

// isAllowed reports whether a call may be carried out, by what it says and by what comes later.
func isAllowed(call value, later []value) bool {
	id, permission := call.str("id"), call.str("evaluated_permission")
	allowed := !call.has("evaluated_permission") || permission == "allow"
	for _, e := range later {
		switch e.str("type") {
		case "user.tool_result", "user.custom_tool_result":
			if slices.Contains([]string{e.str("tool_use_id"), e.str("custom_tool_use_id")}, id) {
				return false
			}
		case "user.tool_confirmation":
			if e.str("tool_use_id") == id && permission != "deny" {
				allowed = e.str("result") == "allow"
			}
		}
	}
	return allowed
}

// answerEvents returns an event for each call.
func answerEvents(answers []Answer) []any {
	events := make([]any, len(answers))
	for i, a := range answers {
		text := a.Text
		if text == "" {
			text = "(no output)"
		}
		content := []object{{"type": "text", "text": text}}
		for _, m := range a.Media {
			content = append(content, m.block())
		}
		kind := "tool_"
		if a.Call.Kind == customUse {
			kind = "custom_tool_"
		}
		events[i] = object{"type": "user." + kind + "result", kind + "use_id": a.Call.ID,
			"is_error": a.Failed, "content": content}
	}
	return events
}
