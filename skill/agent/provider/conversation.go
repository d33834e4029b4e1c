package provider

import (
	"slices"

	"textskill/llmfallback/remote"
	"textskill/skill/agent"
)

// An encoding is a conversation as the endpoint is sent it. Each message is encoded once:
// with 1 MB of conversation that is 25 % of a step.
type encoding struct {
	ids      []string // of the messages
	answered int      // messages of requests that were answered
	remote.List
}

// maxEncodings is how many conversations stay encoded: those of all experts that can wait
// for each other.
const maxEncodings = agent.MaxDepth + 1

// A spelling is what the words for a message depend on besides the message.
type spelling struct {
	model    string            // as PROVIDER/NAME
	refused  []string          // parameters to leave out
	refusals map[string]string // of images and files: what the endpoint said, by the ids of messages
}

func (s spelling) accepts(parameter string) bool { return !slices.Contains(s.refused, parameter) }

// thinking returns the part of a message that says what this model thought, nil for none
// and for that of another model.
func (s spelling) thinking(m agent.Message) *agent.Part {
	for i, p := range m.Contents {
		if p.Type == agent.ThinkingPart && p.Model == s.model {
			return &m.Contents[i]
		}
	}
	return nil
}

// question returns a request with its messages as the protocol has them. It encodes only
// those that the conversation has gained.
func (m *Model) question(r agent.Request) (question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := question{Request: r, spelling: spelling{m.name, slices.Clone(m.refused), m.media.refused}}
	i := slices.IndexFunc(m.encoded, func(e *encoding) bool { return e.begins(r.Messages) })
	e := &encoding{}
	if i >= 0 {
		e = m.encoded[i]
		m.encoded = slices.Delete(m.encoded, i, i+1)
	} else if len(r.Messages) > 0 { // one with the same beginning was compacted since
		m.encoded = slices.DeleteFunc(m.encoded, func(e *encoding) bool { return len(e.ids) > len(r.Messages) && e.ids[0] == r.Messages[0].ID })
	}
	for _, message := range r.Messages[len(e.ids):] {
		if err := e.Append(m.spell(message, q.spelling)...); err != nil {
			return q, err
		}
		e.ids = append(e.ids, message.ID)
	}
	m.encoded = slices.Insert(m.encoded, 0, e)
	m.encoded = m.encoded[:min(len(m.encoded), maxEncodings)]
	q.conversation = e.List
	return q, nil
}

// begins reports whether e is the beginning of a conversation.
func (e *encoding) begins(messages []agent.Message) bool {
	return len(e.ids) > 0 && len(e.ids) <= len(messages) &&
		slices.EqualFunc(e.ids, messages[:len(e.ids)], func(id string, m agent.Message) bool { return id == m.ID })
}
