package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"textskill/llmfallback/remote"
	"textskill/skill/agent"
)

// A Model is an [agent.Model] at an [Endpoint]. Answers are streamed where the endpoint
// can. A parameter or a type of content that the endpoint refuses, such as a temperature
// or images, is left out of later requests.
type Model struct {
	protocol
	name    string // as PROVIDER/NAME
	learned func(rule string)

	mu      sync.Mutex
	refused []string    // names of parameters, and rules
	given   int         // how many of these are the user's own
	encoded []*encoding // of conversations, the one used last first
	media   mediaState
}

// A protocol is how the models of a provider are asked.
type protocol interface {
	// spell returns a message as the protocol has it, nothing for an instruction that
	// is elsewhere in the request.
	spell(message agent.Message, s spelling) []any

	// ask sends one request. Errors are [*remote.Error], whose parameter is one that can be
	// left out; the usage of the answer is set in any case.
	ask(ctx context.Context, q question) (agent.Answer, error)
}

// A question is a request, with its messages as the protocol has them.
type question struct {
	agent.Request
	spelling
	conversation remote.List
	worded       []agent.Tool // those that are described in the instruction, for a model without tools
}

// instruction returns the text of the instructions.
func (q question) instruction() (text string) {
	for _, m := range q.Messages {
		if m.Type == agent.InstructionMessage && q.accepts(remote.NoSystem) {
			worded := q.words(m)
			text += worded.Text()
		}
	}
	return text
}

// The parameters that can be left out, as complaints name them.
const (
	temperature = "temperature"
	toolChoice  = "tool_choice"
	images      = "image"
	files       = "file"
)

// filtered returns the error of an answer that a filter stopped, with what came of it. The same
// request is stopped again.
func filtered(said string) error {
	return &remote.Error{Reason: "the endpoint's content filter stopped the answer", Said: remote.OneLine(said)}
}

// declined returns the error of an answer in which the model refuses.
func declined(said string) error {
	return &remote.Error{Reason: "the model refused", Said: remote.OneLine(said)}
}

// Next asks the endpoint. Errors are [*remote.Error].
func (m *Model) Next(ctx context.Context, r agent.Request) (agent.Answer, error) {
	if r.Heard == nil {
		r.Heard = func(string) {}
	}
	for {
		q, err := m.question(r)
		if err != nil {
			return agent.Answer{}, &remote.Error{Reason: "the conversation cannot be written as JSON: " +
				err.Error(), Err: err}
		}
		answer, err := m.ask(ctx, q)
		answer.Apart = answer.Apart && q.accepts(remote.NoTools)
		fault, failed := errors.AsType[*remote.Error](err)
		switch {
		case !failed:
			m.answered(r.Messages)
			if answer.Thinking.Text != "" || answer.Thinking.Replay != nil {
				answer.Thinking.Model = m.name
			}
			return answer, err
		case fault.TooLong:
			if fault.Window > 0 && m.learned != nil {
				m.learned(fmt.Sprint(window, fault.Window))
			}
			return answer, fault
		case m.refuseMedia(r.Messages, fault):
		default:
			rule := q.learnable(fault.Parameter)
			if rule == "" || slices.Contains(q.refused, rule) {
				return answer, fault
			}
			m.refuse(rule)
		}
	}
}

// window is what a rule begins with that names the window of the model.
const window = "window "

// refuse notes a parameter that the endpoint does not accept, or a rule that it has.
func (m *Model) refuse(rule string) {
	m.mu.Lock()
	m.refused = append(m.refused, rule)
	m.encoded = nil
	m.mu.Unlock()
	if m.learned != nil && lasts(rule) {
		m.learned(rule)
	}
}

// Rules returns the parameters that the endpoint does not accept, and its rules.
func (m *Model) Rules() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.refused[m.given:])
}

// Learn adds rules that are known of the endpoint.
func (m *Model) Learn(rules []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, rule := range rules {
		if !slices.Contains(m.refused, rule) {
			m.refused = append(m.refused, rule)
		}
	}
	m.encoded = nil
}

// An optional is a parameter that a request can do without.
type optional struct {
	name  string
	sent  bool     // the request has it
	words []string // of complaints about it, in lower case and without underscores
}

// refusedOf returns a function that finds the first parameter that a complaint names.
func refusedOf(parameters ...optional) func(complaint []byte) string {
	return func(complaint []byte) string {
		said := strings.ReplaceAll(strings.ToLower(string(complaint)), "_", "")
		for _, p := range parameters {
			if p.sent && slices.ContainsFunc(p.words,
				func(word string) bool { return strings.Contains(said, word) }) {
				return p.name
			}
		}
		return ""
	}
}

func schemaOf(tool agent.Tool) json.RawMessage {
	if len(tool.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return tool.Schema
}

// done is an event by which some endpoints say that the stream ends.
const done = "[DONE]"

// decode reads one JSON value of an answer. The end of a stream has none.
func decode(data []byte, into any) error {
	if data == nil || string(data) == done {
		return nil
	}
	return remote.Decode(data, into, "of the provider's form")
}
