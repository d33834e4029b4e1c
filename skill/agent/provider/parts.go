package provider

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
	"textskill/parser/wire"
	"textskill/skill/agent"
)

// An assembly is an answer that is put together from the parts of a message, or from the pieces
// of them that a stream brings.
type assembly struct {
	heard func(text string)
	parts []*assembled
	usage agent.Usage
	stop  string // why the model stopped, as its provider says it
	cut   bool   // it reached its limit of tokens
}

// exchange sends a request, and has add put the answer together.
func (q question) exchange(ctx context.Context, c *remote.Client, r remote.Request, a *assembly,
	add func(data []byte, whole bool) (complete bool, err error)) (agent.Answer, error) {
	a.heard, r.Heard = q.Heard, func() { q.Heard("") }
	_, err := c.Ask(ctx, r, add)
	return a.answer(), err
}

// An assembled part grows with each piece of it.
type assembled struct {
	wire.Part
	index  int
	done   bool
	pieces strings.Builder // of the text or the thought, or of the arguments of a call
}

// begin adds a part.
func (a *assembly) begin(index int, p wire.Part) {
	a.parts = append(a.parts, &assembled{Part: p, index: index})
	if p.Kind == wire.TextPart {
		a.heard(p.Text)
	}
}

// piece adds a piece to the last part of its kind with an index. A piece of a part that was not
// begun is only heard.
func (a *assembly) piece(index int, p wire.Part) {
	for _, last := range slices.Backward(a.parts) {
		if last.index == index && last.Kind == p.Kind && !last.done {
			last.pieces.WriteString(p.Text)
			last.Sign += p.Sign
			break
		}
	}
	if p.Kind == wire.TextPart {
		a.heard(p.Text)
	}
}

// end puts a whole part in the place of the one that was begun with its index.
func (a *assembly) end(index int, p wire.Part) {
	whole := &assembled{Part: p, index: index, done: true}
	for i, begun := range slices.Backward(a.parts) {
		if begun.index == index && begun.Kind == p.Kind && !begun.done {
			a.parts[i] = whole
			return
		}
	}
	a.parts = append(a.parts, whole)
}

// whole returns the part. The arguments of a call are a text that need not be JSON.
func (p *assembled) whole() wire.Part {
	w, more := p.Part, p.pieces.String()
	if text, ok := rawjson.String(w.Arguments); ok {
		w.Arguments = json.RawMessage(text)
	}
	switch {
	case w.Kind != wire.CallPart:
		w.Text = rawjson.JoinHalves(w.Text + more)
	case more != "": // what a call begins with only holds the place
		w.Arguments = json.RawMessage(rawjson.JoinHalves(more))
	}
	return w
}

// holds reports whether what has come can be used: calls whose arguments are whole, or a text.
func (a *assembly) holds() bool {
	broken := func(p *assembled) bool { return p.Kind == wire.CallPart && !json.Valid(p.whole().Arguments) }
	return len(a.parts) > 0 && !slices.ContainsFunc(a.parts, broken)
}

// A mark is a part in what a model is given back. The message holds the texts and calls.
type mark struct {
	Kind wire.PartKind   `json:"kind"`
	Size int             `json:"size,omitempty"` // of a text, in bytes
	Text string          `json:"text,omitempty"` // of a thought
	Sign string          `json:"sign,omitempty"`
	Item json.RawMessage `json:"item,omitempty"`
}

// answer returns what has come. It marks the parts up to the last one that the model wants back.
func (a *assembly) answer() agent.Answer {
	out := agent.Answer{Usage: a.usage, Cut: a.cut, Apart: true}
	var marks []mark
	wanted := 0
	for _, part := range a.parts {
		p := part.whole()
		m := mark{Kind: p.Kind, Sign: p.Sign, Item: p.Item}
		switch p.Kind {
		case wire.TextPart:
			out.Text += p.Text
			m.Size = len(p.Text)
		case wire.CallPart:
			out.Calls = append(out.Calls, agent.Call{ID: p.ID, Name: p.Name, Arguments: string(p.Arguments)})
		case wire.ThoughtPart:
			out.Thinking.Text += p.Text
			if p.Item == nil {
				m.Text = p.Text
			}
		}
		if p.Kind == "" || p.Kind == wire.ThoughtPart && !p.Back {
			continue
		}
		marks = append(marks, m)
		if p.Back || p.Sign != "" {
			wanted = len(marks)
		}
	}
	if wanted > 0 {
		out.Thinking.Replay, _ = json.Marshal(marks[:wanted])
	}
	return out
}

// parts returns the parts of a message in the order in which the model made them, with what it
// thought where it wants that back.
func (s spelling) parts(m agent.Message) (list []wire.Part) {
	text := m.Text()
	var calls []wire.Part
	for _, c := range m.Contents {
		if c.Type == agent.ToolCallPart {
			calls = append(calls,
				wire.Part{Kind: wire.CallPart, ID: s.id(c.ToolCallID), Name: callName(c), Arguments: c.Args})
		}
	}
	var marks []mark
	if t := s.thinking(m); t != nil && json.Unmarshal(t.Replay, &marks) != nil {
		marks = nil
	}
	for _, k := range marks {
		p := wire.Part{Kind: k.Kind, Text: k.Text, Sign: k.Sign, Item: k.Item}
		switch {
		case k.Kind == wire.TextPart && 0 <= k.Size && k.Size <= len(text) && utf8.ValidString(text[:k.Size]):
			p.Text, text = text[:k.Size], text[k.Size:]
		case k.Kind == wire.CallPart && len(calls) > 0:
			p, calls = calls[0], calls[1:]
			p.Sign = k.Sign
		case k.Kind != wire.ThoughtPart:
			continue
		}
		list = append(list, p)
	}
	if text != "" {
		list = append(list, wire.Part{Kind: wire.TextPart, Text: text})
	}
	return append(list, calls...)
}

// roles are the roles of messages that are not results.
var roles = map[agent.MessageType]string{agent.InstructionMessage: "system", agent.UserMessage: "user",
	agent.ExpertMessage: "assistant"}
