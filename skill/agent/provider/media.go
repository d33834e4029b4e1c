package provider

import (
	"encoding/base64"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
	"textskill/skill/internal/words"
)

// mediaState says which messages' images and files an endpoint takes, by the messages' ids.
type mediaState struct {
	shown   map[string]bool   // were in a request that was answered
	refused map[string]string // are left out, because the endpoint said this of them
}

// mediaKinds are what complaints call images and files. The protocols have no other parts.
var mediaKinds = map[agent.PartType]string{agent.ImageInlinePart: images, agent.FileInlinePart: files}

// hidden says why an image or file of a message is not shown to the model, "" if it is.
func (s spelling) hidden(message agent.Message, p agent.Part) string {
	said, refused := s.refusals[message.ID]
	kind := mediaKinds[p.Type]
	switch {
	case refused:
		return "\n(This model cannot be shown it: its endpoint refused this " + p.MimeType + ": " + said + ")"
	case kind == "" || !s.accepts(kind):
		return "\n(This model cannot be shown it: its endpoint takes no " + p.MimeType + ".)"
	}
	return ""
}

// answers returns the results in a message, with the images and files that the endpoint takes.
func (s spelling) answers(m agent.Message) []wire.Answer {
	list := make([]wire.Answer, len(m.Contents))
	for i, r := range m.Contents {
		a := &list[i]
		a.Call.ID, a.Call.Name = s.id(r.ToolCallID), callName(r)
		for _, p := range r.Contents {
			why := s.hidden(m, p)
			switch data, _ := base64.StdEncoding.DecodeString(p.EncodedData); {
			case p.Type == agent.TextPart:
				if a.Text != "" && !strings.HasSuffix(a.Text, "\n") {
					a.Text += "\n" // else the last word and the next become one
				}
				a.Text += p.Text
			case why != "":
				a.Text += why
			case p.Type == agent.ImageInlinePart:
				a.Media = append(a.Media, wire.Media{Type: p.MimeType, Name: "image", Data: data})
			default:
				a.Media = append(a.Media, wire.Media{Type: p.MimeType, Name: "document.pdf", Data: data})
			}
		}
		switch { // endpoints refuse a blank result
		case strings.TrimSpace(a.Text) != "":
		case a.Media != nil:
			a.Text = "(It is shown below.)"
		default:
			a.Text = "(nothing)"
		}
	}
	return list
}

// answered notes that the endpoint takes the images and files of a conversation.
func (m *Model) answered(messages []agent.Message) {
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
		if agent.Inlined(message.Contents) {
			m.media.shown[message.ID] = true
		}
	}
	e.answered = len(messages)
}

// takesNone recognises a complaint about images or files as such, not about one of them.
var takesNone = words.Pattern(`(?i)support|takes? no|accepts? (no|only)|not accept|no (image|file|vision)|only (text|accept)|text.only|modal|unknown (variant|type|field)|unrecognized|not allowed|cannot (see|read|process) images`)

// refuseMedia leaves out the images and files that the endpoint has not taken before, if
// it complains about one of them. It reports whether there are any.
func (m *Model) refuseMedia(messages []agent.Message, fault *remote.Error) bool {
	if fault.Parameter != images && fault.Parameter != files || takesNone().MatchString(fault.Said) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	for _, message := range messages {
		if _, refused := m.media.refused[message.ID]; refused || m.media.shown[message.ID] ||
			!agent.Inlined(message.Contents) {
			continue
		}
		m.media.refused[message.ID], found = fault.Said, true
	}
	if found {
		m.encoded = nil
	}
	return found
}
