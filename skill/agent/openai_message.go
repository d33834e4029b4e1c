package agent

import (
	"cmp"
	"slices"
	"strings"

	"textskill/llmfallback/openai"
)

// An encoding is a conversation as the endpoint is sent it. Each message is encoded once:
// with 1 MB of conversation that is 25 % of a step.
type encoding struct {
	ids           []string // of the messages
	images, files bool     // whether they are part of it
	openai.Conversation
}

// maxEncodings is how many conversations stay encoded: those of all experts that can wait
// for each other.
const maxEncodings = maxDepth + 1

// conversation returns the messages as the protocol has them. It encodes only those that
// the conversation has gained.
func (m *OpenAI) conversation(messages []Message, accepts func(parameter string) bool) (openai.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.encoded, func(e *encoding) bool { return e.begins(messages, accepts) })
	e := &encoding{images: accepts(images), files: accepts(files)}
	if i >= 0 {
		e = m.encoded[i]
		m.encoded = slices.Delete(m.encoded, i, i+1)
	}
	for _, message := range messages[len(e.ids):] {
		if err := e.Append(spelled(message, accepts)...); err != nil {
			return e.Conversation, err
		}
		e.ids = append(e.ids, message.ID)
	}
	m.encoded = slices.Insert(m.encoded, 0, e)
	m.encoded = m.encoded[:min(len(m.encoded), maxEncodings)]
	return e.Conversation, nil
}

// begins reports whether e is the beginning of a conversation.
func (e *encoding) begins(messages []Message, accepts func(parameter string) bool) bool {
	return len(e.ids) > 0 && len(e.ids) <= len(messages) && e.images == accepts(images) && e.files == accepts(files) &&
		slices.EqualFunc(e.ids, messages[:len(e.ids)], func(id string, m Message) bool { return id == m.ID })
}

// spelled returns a message as the protocol has it.
func spelled(m Message, accepts func(parameter string) bool) []openai.Message {
	out := openai.Message{Role: "assistant"}
	switch m.Type {
	case InstructionMessage:
		out.Role = "system"
	case UserMessage:
		out.Role = "user"
	case ToolMessage:
		return spelledResults(m, accepts)
	}
	text := ""
	for _, p := range m.Contents {
		switch p.Type {
		case TextPart:
			text += p.Text
		case ToolCallPart:
			out.ToolCalls = append(out.ToolCalls, openai.Call{ID: p.ToolCallID, Name: cmp.Or(toolName(p.ToolName), "_"), Arguments: string(p.Args)})
		}
	}
	if text != "" || out.ToolCalls == nil {
		out.Content = text
	}
	return []openai.Message{out}
}

// spelledResults returns the results of calls. A result can only be text, so
// images and files follow in a message of the user's.
func spelledResults(m Message, accepts func(parameter string) bool) (list []openai.Message) {
	var shown []openai.Part
	for _, r := range m.Contents {
		note := openai.Part{Text: "What " + r.ToolName + " (call " + r.ToolCallID + ") shows:"}
		var text strings.Builder
		for _, p := range r.Contents {
			data := "data:" + p.MimeType + ";base64," + p.EncodedData
			switch {
			case p.Type == TextPart:
				text.WriteString(p.Text)
			case p.Type == ImageInlinePart && accepts(images):
				shown = append(shown, note, openai.Part{Image: data})
			case p.Type == FileInlinePart && accepts(files):
				shown = append(shown, note, openai.Part{File: data})
			default:
				text.WriteString("\n(This model cannot be shown it: its endpoint takes no " + p.MimeType + ".)")
			}
		}
		list = append(list, openai.Message{Role: "tool", ToolCallID: r.ToolCallID, Content: text.String()})
	}
	if shown != nil {
		list = append(list, openai.Message{Role: "user", Content: shown})
	}
	return list
}
