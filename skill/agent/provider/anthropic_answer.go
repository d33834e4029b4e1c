package provider

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"textskill/llmfallback/remote"
	rawjson "textskill/parser/json"
	"textskill/skill/agent"
)

// A replayMark stands in a replay for what a message holds itself: a call, or so many bytes of
// its text.
type replayMark struct {
	Type string `json:"type"`
	Size int    `json:"size"`
}

// A piece is a text, which may end or begin with half of a surrogate pair.
type piece string

// UnmarshalJSON reads any string.
func (p *piece) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*p = piece(rawjson.Unquote(data))
	}
	return nil
}

// An anthropicAnswer is put together from the events of a stream, or from a whole message.
type anthropicAnswer struct {
	heard  func(text string)
	blocks []*anthropicPart
	usage  anthropicUsage
	stop   string
}

// An anthropicPart is a block of an answer. Pieces of it are added as they come.
type anthropicPart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // of thinking that is not shown

	index           int
	partial         strings.Builder // of the input
	text, reasoning strings.Builder
}

type anthropicUsage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block *anthropicPart `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       piece  `json:"text"`
		Partial    piece  `json:"partial_json"`
		Thinking   piece  `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage   *anthropicUsage  `json:"usage"`
	Error   *json.RawMessage `json:"error"`
	Content []*anthropicPart `json:"content"`     // of a whole message
	Stop    string           `json:"stop_reason"` // likewise
}

// add adds an event. Unknown events are skipped, as the protocol wants.
func (a *anthropicAnswer) add(data []byte, whole bool) (complete bool, err error) {
	var e anthropicEvent
	if err := decode(data, &e); err != nil {
		return false, err
	}
	if e.Error != nil {
		return false, remote.Failure(*e.Error)
	}
	if e.Message != nil {
		a.count(e.Message.Usage)
	}
	if e.Usage != nil {
		a.count(*e.Usage)
	}
	switch {
	case whole && e.Type != "message":
		return false, &remote.Error{Reason: "the answer is not a message"}
	case whole:
		a.blocks, a.stop = e.Content, e.Stop
		a.blocks = slices.DeleteFunc(a.blocks, func(b *anthropicPart) bool { return b == nil })
		return true, nil
	case e.Type == "content_block_start" && e.Block != nil:
		e.Block.index = e.Index
		a.blocks = append(a.blocks, e.Block)
		a.heard(e.Block.Text)
	case e.Type == "content_block_delta":
		a.piece(e)
	case e.Type == "message_delta":
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
	}
	return e.Type == "message_stop" || a.stop != "", nil // some endpoints leave out message_stop
}

// piece adds a piece to its block: the last one with its index. One of a block that was not
// begun is passed over.
func (a *anthropicAnswer) piece(e anthropicEvent) {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == e.Index {
			b.text.WriteString(string(e.Delta.Text))
			b.partial.WriteString(string(e.Delta.Partial))
			b.reasoning.WriteString(string(e.Delta.Thinking))
			b.Signature += e.Delta.Signature
			a.heard(string(e.Delta.Text))
			return
		}
	}
}

// count takes over what a usage says, which repeats and completes what was said before.
func (a *anthropicAnswer) count(u anthropicUsage) {
	a.usage.Input, a.usage.Created = max(a.usage.Input, u.Input), max(a.usage.Created, u.Created)
	a.usage.Read, a.usage.Output = max(a.usage.Read, u.Read), max(a.usage.Output, u.Output)
	a.usage.Details.Thinking = max(a.usage.Details.Thinking, u.Details.Thinking)
}

func (a *anthropicAnswer) answer() agent.Answer {
	u := agent.Usage{
		InputTokens: a.usage.Input + a.usage.Created + a.usage.Read, OutputTokens: a.usage.Output,
		CachedInputTokens: a.usage.Read, CacheWriteTokens: a.usage.Created,
		ReasoningTokens: a.usage.Details.Thinking,
	}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	out := agent.Answer{Usage: u, Cut: a.stop == "max_tokens" || a.stop == "model_context_window_exceeded"}
	var replay []any
	thoughts := 0 // how many of these are thoughts, up to the last one
	for _, b := range a.blocks {
		switch b.Type {
		case "text":
			text := rawjson.JoinHalves(b.Text + b.text.String())
			out.Text += text
			replay = append(replay, replayMark{b.Type, len(text)})
		case "tool_use":
			input := string(b.Input)
			if b.partial.Len() > 0 {
				input = rawjson.JoinHalves(b.partial.String())
			}
			out.Calls = append(out.Calls, agent.Call{ID: b.ID, Name: b.Name, Arguments: input})
			replay = append(replay, replayMark{b.Type, 1})
		case "thinking":
			text := rawjson.JoinHalves(b.Thinking + b.reasoning.String())
			out.Thinking.Text += text
			replay = append(replay, map[string]string{"type": b.Type, "thinking": text,
				"signature": b.Signature})
			thoughts = len(replay)
		case "redacted_thinking":
			replay = append(replay, map[string]string{"type": b.Type, "data": b.Data})
			thoughts = len(replay)
		}
	}
	if thoughts > 0 {
		out.Thinking.Replay, _ = json.Marshal(replay[:thoughts]) // the rest follows in its order
	}
	return out
}
