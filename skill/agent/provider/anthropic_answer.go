package provider

import (
	"cmp"
	"encoding/json"

	"textskill/llmfallback/remote"
	"textskill/parser/wire"
	"textskill/skill/agent"
)

// An anthropicAnswer is put together from the events of a stream, or from a whole message.
type anthropicAnswer struct {
	assembly
	used anthropicUsage
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
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block *wire.AnthropicPart  `json:"content_block"`
	Delta json.RawMessage      `json:"delta"`
	Usage anthropicUsage       `json:"usage"`
	Error *json.RawMessage     `json:"error"`
	Whole []wire.AnthropicPart `json:"content"`     // of a whole message
	Stop  string               `json:"stop_reason"` // likewise
}

// add adds an event. Unknown events are skipped, as the protocol wants.
func (a *anthropicAnswer) add(data []byte, whole bool) (complete bool, err error) {
	var e anthropicEvent
	if err := decode(data, &e); err != nil {
		return false, err
	}
	a.count(e.Message.Usage)
	a.count(e.Usage)
	switch {
	case e.Error != nil:
		return false, remote.Failure(*e.Error)
	case whole && e.Type != "message":
		return false, &remote.Error{Reason: "the answer is not a message"}
	case whole:
		for i, p := range e.Whole {
			a.end(i, p.Part)
		}
		_, err := a.stopped(e.Stop)
		return true, err
	case e.Type == "content_block_start" && e.Block != nil:
		a.begin(e.Index, e.Block.Part)
	case e.Type == "content_block_delta":
		var p wire.AnthropicPart
		if err := decode(e.Delta, &p); err != nil {
			return false, err
		}
		a.piece(e.Index, p.Part)
	case e.Type == "message_delta":
		var delta struct {
			Stop string `json:"stop_reason"`
		}
		if err := decode(e.Delta, &delta); err != nil {
			return false, err
		}
		return a.stopped(cmp.Or(delta.Stop, a.stop))
	}
	return e.Type == "message_stop" || a.stop != "", nil
}

// stopped notes why the model stopped. Some endpoints leave out message_stop after that.
func (a *anthropicAnswer) stopped(reason string) (complete bool, err error) {
	a.stop, a.cut = reason, reason == "max_tokens" || reason == "model_context_window_exceeded"
	if reason == "refusal" {
		return false, declined(a.answer().Text)
	}
	return reason != "", nil
}

// count takes over what a usage says, which repeats and completes what was said before.
func (a *anthropicAnswer) count(u anthropicUsage) {
	a.used.Input, a.used.Created = max(a.used.Input, u.Input), max(a.used.Created, u.Created)
	a.used.Read, a.used.Output = max(a.used.Read, u.Read), max(a.used.Output, u.Output)
	a.used.Details.Thinking = max(a.used.Details.Thinking, u.Details.Thinking)
	a.usage = agent.Usage{
		InputTokens: a.used.Input + a.used.Created + a.used.Read, OutputTokens: a.used.Output,
		CachedInputTokens: a.used.Read, CacheWriteTokens: a.used.Created,
		ReasoningTokens: a.used.Details.Thinking,
	}
	a.usage.TotalTokens = a.usage.InputTokens + a.usage.OutputTokens
}
