package provider

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
)

// An endpoint has rules beside its parameters, which it tells by refusing a request: see
// [remote.ToolsStay] and those after it. A Model learns them as it learns parameters.

// lasts reports whether a rule is one of the endpoint and its model, and not only of this
// conversation.
func lasts(rule string) bool { return rule != remote.NoThoughts }

// learnable returns the rule that an endpoint has told, with the name of a refused tool, "" if
// nothing can be done.
func (q question) learnable(rule string) string {
	name, ok := strings.CutPrefix(rule, remote.RefusedTool+" ")
	if !ok {
		return rule
	}
	tools := q.Tools
	if tools == nil {
		tools = q.Withheld
	}
	if number, ok := strings.CutPrefix(name, "#"); ok {
		i, _ := strconv.Atoi(number)
		if i >= len(tools) {
			return ""
		}
		name = tools[i].Name
	}
	if name == agent.CompletionTool ||
		!slices.ContainsFunc(tools, func(t agent.Tool) bool { return t.Name == name }) {
		return ""
	}
	return remote.RefusedTool + " " + name
}

// offer leaves out the tools that the endpoint refuses: some, or all.
func (q *question) offer() {
	refused := func(t agent.Tool) bool { return !q.accepts(remote.RefusedTool + " " + t.Name) }
	if slices.ContainsFunc(q.refused,
		func(rule string) bool { return strings.HasPrefix(rule, remote.RefusedTool) }) {
		q.Tools, q.Withheld = slices.DeleteFunc(slices.Clone(q.Tools), refused),
			slices.DeleteFunc(slices.Clone(q.Withheld), refused)
	}
	if !q.accepts(remote.NoTools) {
		q.worded = q.Tools
		if q.worded == nil {
			q.worded = q.Withheld
		}
		q.Tools, q.Withheld = nil, nil
	}
}

// schema returns the schema of a tool's arguments, nil if there is no such tool.
func (q question) schema(name string) json.RawMessage {
	for _, t := range q.Tools {
		if t.Name == name {
			return t.Schema
		}
	}
	return nil
}

// definitions returns tools as a request of a wire has them.
func definitions(w *wire.Wire, tools []agent.Tool) json.RawMessage {
	if len(tools) == 0 {
		return nil
	}
	list := make([]wire.Tool, len(tools))
	for i, t := range tools {
		list[i] = wire.Tool{Name: t.Name, Doc: t.Doc, Schema: schemaOf(t)}
	}
	return w.Definitions(list)
}

// words returns a message without what the endpoint has no place for: the calls and results
// of a model without tools are written in its texts.
func (q question) words(m agent.Message) agent.Message {
	if q.accepts(remote.NoTools) {
		return m
	}
	text := m.Text()
	switch m.Type {
	case agent.InstructionMessage:
		text += toolsInWords(q.worded)
	case agent.ExpertMessage:
		for _, c := range m.Contents {
			if c.Type == agent.ToolCallPart {
				data, _ := json.Marshal(map[string]any{"name": callName(c), "arguments": c.Args})
				text += "\n<tool_call>\n" + string(data) + "\n</tool_call>"
			}
		}
	case agent.ToolMessage:
		m.Type = agent.UserMessage
		text = wire.Hermes.Answer(q.answers(m), nil)
	}
	m.Contents = []agent.Part{{Type: agent.TextPart, Text: strings.TrimSpace(text)}}
	return m
}

// toolsInWords describes tools to a model that has no other way to be told of them.
func toolsInWords(tools []agent.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n---\n\nTo call a tool, write its name and arguments as JSON in these tags, and end your answer there:\n" +
		"<tool_call>\n{\"name\": NAME, \"arguments\": {…}}\n</tool_call>\nThe tools, with the JSON Schema of their arguments:\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "- %s: %s %s\n", t.Name, t.Doc, schemaOf(t))
	}
	return b.String()
}

// turn appends the elements of a message to a conversation. Where roles take turns, a short
// message of the other role stands between two of one role, and between a result and a user.
func (e *encoding) turn(elements []any, s spelling, spell func(m agent.Message, s spelling) []any) error {
	if s.accepts(remote.RolesTurn) {
		return e.Append(elements...)
	}
	for _, element := range elements {
		var m struct{ Role string }
		data, err := json.Marshal(element)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			return err
		}
		bridge := agent.MessageType("")
		switch role := strings.Replace(m.Role, "model", "assistant", 1); {
		case role == "user" && (e.role == "user" || e.role == "tool"):
			bridge = agent.ExpertMessage
		case role == "assistant" && (e.role == role || e.role == "model"):
			bridge = agent.UserMessage
		}
		if bridge != "" {
			text := agent.Part{Type: agent.TextPart, Text: "Go on."}
			if err := e.Append(spell(agent.Message{Type: bridge, Contents: []agent.Part{text}}, s)...); err != nil {
				return err
			}
		}
		if err := e.Append(json.RawMessage(data)); err != nil {
			return err
		}
		e.role = m.Role
	}
	return nil
}

var shortID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{9}$`) })

// id returns the ID of a call as the endpoint takes it.
func (s spelling) id(id string) string {
	if s.accepts(remote.ShortIDs) || shortID().MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:9]
}
