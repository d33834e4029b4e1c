package provider

import (
	"crypto/rand"

	"textskill/skill/agent"
)

func newMessage(kind agent.MessageType, parts ...agent.Part) agent.Message {
	return agent.Message{Type: kind, Contents: parts, ID: rand.Text()}
}

func textPart(text string) agent.Part { return agent.Part{Type: agent.TextPart, Text: text} }

func callPart(c agent.ToolCall) agent.Part {
	return agent.Part{Type: agent.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args}
}
