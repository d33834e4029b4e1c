package agent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Message is one turn of the conversation between an expert and its model.
type Message struct {
	Type     MessageType `json:"type"`
	Contents []Part      `json:"contents"`
	ID       string      `json:"id"`
	// it starts every request of the task, so a provider may cache it
	Cache bool `json:"cache,omitempty"`
}

// Text returns the texts of a message without its other parts, "" for nil.
func (m *Message) Text() (text string) {
	if m == nil {
		return ""
	}
	for _, p := range m.Contents {
		if p.Type == TextPart {
			text += p.Text
		}
	}
	return text
}

// MessageType says whose turn a message is.
type MessageType string

// The types of messages.
const (
	// rules of the loop and the instruction of the expert
	InstructionMessage MessageType = "instructionMessage"
	UserMessage        MessageType = "userMessage"
	ExpertMessage      MessageType = "expertMessage" // the model: tool calls, then text
	ToolMessage        MessageType = "toolMessage"   // results, one for each call of the previous message
)

// A Part is a piece of a message. Its type says which fields are set.
type Part struct {
	Type        PartType        `json:"type"`
	Text        string          `json:"text,omitempty"`
	ToolCallID  string          `json:"toolCallId,omitempty"`
	ToolName    string          `json:"toolName,omitempty"`
	Args        json.RawMessage `json:"args,omitempty"`        // of a call: an object
	Contents    []Part          `json:"contents,omitzero"`     // of a result
	EncodedData string          `json:"encodedData,omitempty"` // base64
	MimeType    string          `json:"mimeType,omitempty"`
	Model       string          `json:"model,omitempty"` // that thought, as PROVIDER/NAME
	// of thinking: what its model is given back, such as signatures
	Replay json.RawMessage `json:"replay,omitempty"`
	ID     string          `json:"id"`
}

// PartType says what a Part holds.
type PartType string

// The types of parts.
const (
	TextPart        PartType = "textPart"
	ThinkingPart    PartType = "thinkingPart" // of the model, after its text and its calls
	ToolCallPart    PartType = "toolCallPart"
	ToolResultPart  PartType = "toolResultPart"
	ImageInlinePart PartType = "imageInlinePart"
	FileInlinePart  PartType = "fileInlinePart"
)

// A ToolCall is a call that a model asks for.
type ToolCall struct {
	ID        string          `json:"id"`
	SkillName string          `json:"skillName"` // "" if no skill has such a tool
	ToolName  string          `json:"toolName"`
	Args      json.RawMessage `json:"args"` // an object
}

// A ToolResult is the result of a call.
type ToolResult struct {
	ID        string `json:"id"` // of the call
	SkillName string `json:"skillName"`
	ToolName  string `json:"toolName"`
	Result    []Part `json:"result"`

	IsError bool `json:"isError,omitempty"` // in an event: the call failed
	// in an event: the todos and what the call changed; nil if it changed nothing
	Session *SessionState `json:"session,omitempty"`
}

// newID returns a random identifier of lower-case letters and digits, of 115 bits.
func newID() string { return "c" + strings.ToLower(rand.Text()[:23]) }

func newMessage(t MessageType, parts ...Part) Message {
	return Message{Type: t, Contents: parts, ID: newID()}
}

func textPart(text string) Part { return Part{Type: TextPart, Text: text, ID: newID()} }

func callPart(c ToolCall) Part {
	return Part{Type: ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args, ID: newID()}
}

// resultMessage returns the message with the results of calls, in the order of the
// calls.
func resultMessage(order []string, results []ToolResult) Message {
	m := newMessage(ToolMessage)
	for _, id := range order {
		i := slices.IndexFunc(results, func(r ToolResult) bool { return r.ID == id })
		if i < 0 {
			continue
		}
		r := results[i]
		m.Contents = append(m.Contents, Part{Type: ToolResultPart, ToolCallID: r.ID, ToolName: r.ToolName,
			Contents: r.Result, ID: newID()})
	}
	return m
}

// thin returns messages without the data of images and files, which is recorded in
// checkpoints and in the event that adds the message only.
func thin(messages []Message) []Message {
	if !slices.ContainsFunc(messages, func(m Message) bool { return Inlined(m.Contents) }) {
		return messages
	}
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Contents = thinParts(messages[i].Contents)
	}
	return messages
}

func thinParts(parts []Part) []Part {
	if !Inlined(parts) {
		return parts
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].EncodedData = ""
		parts[i].Contents = thinParts(parts[i].Contents)
	}
	return parts
}

// Inlined reports whether parts hold data of images or files.
func Inlined(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.EncodedData != "" || Inlined(p.Contents) })
}

// limitParts cuts parts to so many bytes together, and says so in a text. The first part stays
// if it is not text.
func limitParts(parts []Part, most int) []Part {
	used := 0
	for i, p := range parts {
		size := len(p.Text)
		if p.EncodedData != "" {
			size += mediaTokens * bytesPerToken
		}
		if used+size <= most || i == 0 && p.Text == "" {
			used += size
			continue
		}
		rest, kept := parts[i+1:], parts[:i:i]
		if p.Text == "" {
			rest = parts[i:]
		} else {
			kept = append(kept, textPart(limitText(p.Text, max(most-used, 0))))
		}
		if len(rest) > 0 {
			kept = append(kept, textPart(fmt.Sprintf("… %d further parts of this result are not shown",
				len(rest))))
		}
		return kept
	}
	return parts
}

// limitText cuts a text to n bytes, and says so in the text.
func limitText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s\n… %d bytes of %d are not shown; ask for a part at once, for example from a line to a line", shorten(text, n), len(text)-n, len(text))
}

// shorten returns the longest prefix of a text with at most n bytes and whole characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
