package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

// An encoding is a conversation as the endpoint is sent it. Each message is encoded once:
// with 1 MB of conversation that is 25 % of a step.
type encoding struct {
	ids           []string // of the messages
	images, files bool     // whether they are part of it
	answered      int      // messages of requests that were answered
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
	} else if len(messages) > 0 { // one with the same beginning was compacted since
		m.encoded = slices.DeleteFunc(m.encoded, func(e *encoding) bool { return len(e.ids) > len(messages) && e.ids[0] == messages[0].ID })
	}
	for _, message := range messages[len(e.ids):] {
		if err := e.Append(spelled(message, m.shows(message, accepts))...); err != nil {
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

// mediaState says which messages' images and files an endpoint takes, by the messages' ids.
type mediaState struct {
	shown   map[string]bool   // were in a request that was answered
	refused map[string]string // are left out, because the endpoint said this of them
}

// shows returns a function that says why an image or file of a message is not shown to the
// model, "" if it is.
func (m *OpenAI) shows(message Message, accepts func(parameter string) bool) func(parameter, mimeType string) string {
	said, refused := m.media.refused[message.ID]
	return func(parameter, mimeType string) string {
		switch {
		case refused:
			return "\n(This model cannot be shown it: its endpoint refused this " + mimeType + ": " + said + ")"
		case parameter == "" || !accepts(parameter):
			return "\n(This model cannot be shown it: its endpoint takes no " + mimeType + ".)"
		}
		return ""
	}
}

// answered notes that the endpoint takes the images and files of a conversation.
func (m *OpenAI) answered(messages []Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.encoded, func(e *encoding) bool {
		return len(e.ids) > 0 && len(e.ids) == len(messages) && e.ids[0] == messages[0].ID
	})
	if i < 0 {
		return
	}
	e := m.encoded[i]
	for _, message := range messages[e.answered:] {
		if inlined(message.Contents) {
			if m.media.shown == nil {
				m.media.shown = map[string]bool{}
			}
			m.media.shown[message.ID] = true
		}
	}
	e.answered = len(messages)
}

// takesNone recognises a complaint about images or files as such, not about one of them.
var takesNone = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)support|takes? no|accepts? (no|only)|not accept|no (image|file|vision)|only (text|accept)|text.only|modal|unknown (variant|type|field)|unrecognized|not allowed|cannot (see|read|process) images`)
})

// refuseMedia leaves out the images and files that the endpoint has not taken before, if
// it complains about one of them. It reports whether there are any.
func (m *OpenAI) refuseMedia(messages []Message, fault *remote.Error) bool {
	if fault.Parameter != images && fault.Parameter != files || takesNone().MatchString(fault.Said) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	for _, message := range messages {
		if _, refused := m.media.refused[message.ID]; refused || m.media.shown[message.ID] || !inlined(message.Contents) {
			continue
		}
		if m.media.refused == nil {
			m.media.refused = map[string]string{}
		}
		m.media.refused[message.ID], found = fault.Said, true
	}
	if found {
		m.encoded = nil
	}
	return found
}

// spelled returns a message as the protocol has it.
func spelled(m Message, hidden func(parameter, mimeType string) string) []openai.Message {
	out := openai.Message{Role: "assistant"}
	switch m.Type {
	case InstructionMessage:
		out.Role = "system"
	case UserMessage:
		out.Role = "user"
	case ToolMessage:
		return spelledResults(m, hidden)
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
	out.Content = text // also if empty: some endpoints require the field
	return []openai.Message{out}
}

// spelledResults returns the results of calls. A result can only be text, so
// images and files follow in a message of the user's.
func spelledResults(m Message, hidden func(parameter, mimeType string) string) (list []openai.Message) {
	var shown []openai.Part
	for _, r := range m.Contents {
		note := openai.Part{Text: "What " + r.ToolName + " (call " + r.ToolCallID + ") shows:"}
		var text strings.Builder
		for _, p := range r.Contents {
			kind, medium := "", openai.Part{}
			switch data := "data:" + p.MimeType + ";base64," + p.EncodedData; p.Type {
			case TextPart:
				text.WriteString(p.Text)
				continue
			case ImageInlinePart:
				kind, medium.Image = images, data
			case FileInlinePart:
				kind, medium.File = files, data
			}
			if why := hidden(kind, p.MimeType); why != "" {
				text.WriteString(why)
				continue
			}
			shown = append(shown, note, medium)
		}
		if text.Len() == 0 { // endpoints refuse an empty result
			text.WriteString("(It is in the message after this one.)")
		}
		list = append(list, openai.Message{Role: "tool", ToolCallID: r.ToolCallID, Content: text.String()})
	}
	if shown != nil {
		list = append(list, openai.Message{Role: "user", Content: shown})
	}
	return list
}
