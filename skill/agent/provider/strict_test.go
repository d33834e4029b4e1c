package provider_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// wrongConversation holds a request to the rules that the strictest endpoints of a provider
// have for conversations: it says what is wrong, "" for nothing.
func wrongConversation(provider string, request []byte) string {
	switch provider {
	case "anthropic":
		return wrongAnthropic(request)
	case "google":
		return wrongGoogle(request)
	case "responses":
		return wrongResponses(request)
	}
	return wrongChat(request)
}

var nameOfTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func isObject(raw []byte) bool {
	var object map[string]any
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// wrongChat wants each call answered once, behind its message, and no empty message.
func wrongChat(request []byte) string {
	var r struct {
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID *string         `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools      []json.RawMessage
		ToolChoice any `json:"tool_choice"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err.Error()
	}
	open := map[string]bool{}
	for i, m := range r.Messages {
		at := fmt.Sprintf("message %d (%s): ", i, m.Role)
		if m.Role == "tool" {
			if m.ToolCallID == nil || !open[*m.ToolCallID] {
				return at + "it answers no open call"
			}
			delete(open, *m.ToolCallID)
		} else if len(open) > 0 {
			return at + fmt.Sprintf("calls are open: %v", open)
		}
		if empty := len(m.Content) == 0 || string(m.Content) == `""` || string(m.Content) == "null"; empty && len(m.ToolCalls) == 0 {
			return at + "it is empty"
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || open[c.ID] || c.Type != "function" ||
				!nameOfTool.MatchString(c.Function.Name) ||
				!isObject([]byte(c.Function.Arguments)) {
				return at + fmt.Sprintf("the call %+v", c)
			}
			open[c.ID] = true
		}
	}
	switch {
	case len(open) > 0:
		return "calls are open at the end"
	case len(r.Messages) == 0 || r.Messages[len(r.Messages)-1].Role == "assistant":
		return "the last message is the model's"
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return "there is a tool_choice without tools"
	}
	return ""
}

// wrongAnthropic wants the results of all calls in the next message, and no blank text.
func wrongAnthropic(request []byte) string {
	var r struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, ID, Name string
				Input                json.RawMessage
				ToolUseID            string `json:"tool_use_id"`
			}
		}
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err.Error()
	}
	open := map[string]bool{}
	for i, m := range r.Messages {
		at := fmt.Sprintf("message %d (%s): ", i, m.Role)
		if i == 0 && m.Role != "user" || len(m.Content) == 0 {
			return at + "it begins the conversation, or is empty"
		}
		answered := map[string]bool{}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				if !open[b.ToolUseID] || answered[b.ToolUseID] {
					return at + "it answers no open call"
				}
				answered[b.ToolUseID] = true
			}
			if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
				return at + "a text is blank"
			}
		}
		if len(answered) != len(open) {
			return at + "calls are open"
		}
		open = map[string]bool{}
		for _, b := range m.Content {
			if b.Type != "tool_use" {
				continue
			}
			if m.Role != "assistant" || b.ID == "" ||
				open[b.ID] || !nameOfTool.MatchString(b.Name) ||
				!isObject(b.Input) {
				return at + fmt.Sprintf("the call %+v", b)
			}
			open[b.ID] = true
		}
	}
	if len(open) > 0 || r.Messages[len(r.Messages)-1].Role != "user" {
		return "calls are open at the end, or the last message is the model's"
	}
	return ""
}

// wrongGoogle wants as many responses in the next turn as there are calls.
func wrongGoogle(request []byte) string {
	var r struct {
		Contents []struct {
			Role  string
			Parts []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err.Error()
	}
	open := 0
	for i, c := range r.Contents {
		at := fmt.Sprintf("content %d (%s): ", i, c.Role)
		calls, responses := 0, 0
		for _, p := range c.Parts {
			if p["functionCall"] != nil {
				calls++
			}
			if p["functionResponse"] != nil {
				responses++
			}
		}
		switch {
		case len(c.Parts) == 0:
			return at + "it is empty"
		case i == 0 && c.Role != "user":
			return at + "it begins the conversation"
		case responses != open:
			return at + fmt.Sprintf("%d responses to %d calls", responses, open)
		}
		open = calls
	}
	if open > 0 || r.Contents[len(r.Contents)-1].Role != "user" {
		return "calls are open at the end, or the last content is the model's"
	}
	return ""
}

// wrongResponses wants one output for each call.
func wrongResponses(request []byte) string {
	var r struct {
		Input []struct {
			Type      string
			Role      string
			CallID    string `json:"call_id"`
			Name      string
			Arguments string
			Output    json.RawMessage
			Content   json.RawMessage
		}
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err.Error()
	}
	open := map[string]bool{}
	for i, item := range r.Input {
		at := fmt.Sprintf("item %d (%s): ", i, item.Type)
		switch item.Type {
		case "function_call":
			if item.CallID == "" || open[item.CallID] || !nameOfTool.MatchString(item.Name) ||
				!isObject([]byte(item.Arguments)) {
				return at + "the call"
			}
			open[item.CallID] = true
		case "function_call_output":
			if !open[item.CallID] || len(item.Output) == 0 || string(item.Output) == "[]" {
				return at + "it answers no open call, or is empty"
			}
			delete(open, item.CallID)
		case "message":
			if len(open) > 0 || len(item.Content) == 0 || string(item.Content) == `""` {
				return at + "calls are open, or it is empty"
			}
		}
	}
	if len(open) > 0 {
		return "calls are open at the end"
	}
	return ""
}
