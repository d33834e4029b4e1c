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
	role     string   // of the last message
	carried  string   // an instruction, for the beginning of the next message
	tools    string   // names of those that the instruction describes
	remote.List
}

// maxEncodings is how many conversations stay encoded: one per expert that can wait
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
		if p.Type == agent.ThinkingPart && p.Model == s.model && s.accepts(remote.NoThoughts) {
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
	q.offer()
	described := toolsInWords(q.worded)
	m.encoded = slices.DeleteFunc(m.encoded, func(e *encoding) bool { return e.tools != described })
	i := slices.IndexFunc(m.encoded, func(e *encoding) bool { return e.begins(r.Messages) })
	e := &encoding{tools: described}
	if i >= 0 {
		e = m.encoded[i]
		m.encoded = slices.Delete(m.encoded, i, i+1)
	} else if len(r.Messages) > 0 { // one with the same beginning was compacted since
		m.encoded = slices.DeleteFunc(m.encoded,
			func(e *encoding) bool { return len(e.ids) > len(r.Messages) && e.ids[0] == r.Messages[0].ID })
	}
	for _, message := range r.Messages[len(e.ids):] {
		e.ids = append(e.ids, message.ID)
		message = q.words(message)
		if message.Type == agent.InstructionMessage && !q.accepts(remote.NoSystem) {
			e.carried += message.Text() + "\n\n"
			continue
		}
		if e.carried != "" && message.Type == agent.UserMessage {
			message.Contents = slices.Insert(slices.Clone(message.Contents),
				0, agent.Part{Type: agent.TextPart, Text: e.carried})
			e.carried = ""
		}
		if err := e.turn(m.spell(message, q.spelling), q.spelling, m.spell); err != nil {
			return q, err
		}
	}
	m.encoded = slices.Insert(m.encoded, 0, e)
	m.encoded = m.encoded[:min(len(m.encoded), maxEncodings)]
	q.conversation = e.List
	return q, nil
}

// begins reports whether e is the beginning of a conversation.
func (e *encoding) begins(messages []agent.Message) bool {
	return len(e.ids) > 0 && len(e.ids) <= len(messages) &&
		slices.EqualFunc(e.ids, messages[:len(e.ids)],
			func(id string, m agent.Message) bool { return id == m.ID })
}
