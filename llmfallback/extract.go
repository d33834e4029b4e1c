// Package llmfallback reads requests in plain English: first with rules, which send
// nothing to other machines, then with a language model if one is configured.
//
// [ExtractArgumentsWithLLM] asks an [Agent] once and returns the values of its answer,
// unchecked. An [Extractor] asks the rules and the model, and checks the answer against
// the request: each path and each text must be in the request, and the request itself
// must say that a file is deleted or overwritten.
package llmfallback

import (
	"context"
	"fmt"
	"strings"

	"textskill/parser"
)

// Instruction tells an agent what to do.
const Instruction = "Extract file system operation arguments. Allowed operations: " +
	"readFile, writeFile, appendFile, deleteFile, createDirectory, listDirectory, fileExists, copyFile, moveFile"

// Names returns the names of the arguments, in the order in which agents return them.
func Names() []string { return []string{"operation", "path", "content", "destination"} }

// An Agent extracts the values of the named arguments from a prompt.
type Agent interface {
	// Complete returns the values. If it has no answer and the caller may ask another
	// agent, its error wraps [ErrSilent].
	Complete(ctx context.Context, r Request) (Reply, error)
}

// A Request is a question to an agent.
type Request struct {
	Prompt      string   // the whole text of the user
	Instruction string   // the task, in words
	Names       []string // names of the values to return, in this order
}

// A Reply is an agent's answer.
type Reply struct {
	// Values are in the order of the request's names; there may be fewer or more values.
	// Each is a decoded JSON value: nil if the prompt does not state it, numbers as
	// json.Number. Values is nil if the answer is not an array.
	Values    []any
	Said      string // an answer that is not an array, in one line
	Via       string // "rules" or "llm"
	Telemetry Telemetry
}

// An Extraction is the file operation that a request asks for. A value that the
// request does not state is "".
type Extraction struct {
	Operation, Path, Content, Destination string
	HasContent                            bool // content is stated, possibly as ""
}

// ExtractArgumentsWithLLM asks agent for names and returns their values in that
// order; a value that was not stated is "". It returns [ErrNotArray] if the answer
// is not an array, in an [*AnswerError], and an [*ArgumentError] for a value that is not a string.
func ExtractArgumentsWithLLM(ctx context.Context, agent Agent, promptText, instructionText string,
	names []string) ([]string, error) {
	reply, err := agent.Complete(ctx, Request{Prompt: promptText, Instruction: instructionText, Names: names})
	if err != nil {
		return nil, err
	}
	if reply.Values == nil {
		return nil, &AnswerError{ErrNotArray, reply.Said}
	}
	values := make([]string, len(names))
	for i, name := range names {
		if i >= len(reply.Values) || reply.Values[i] == nil {
			continue
		}
		s, ok := reply.Values[i].(string)
		if !ok {
			return nil, &ArgumentError{Name: name, Got: describe(reply.Values[i])}
		}
		values[i] = s
	}
	return values, nil
}

// Rules is an agent without a model: a grammar of English requests and tables
// of words. It answers only if exactly one reading explains every word.
type Rules struct{}

// Complete answers without delay, or returns [ErrSilent].
func (Rules) Complete(_ context.Context, r Request) (Reply, error) {
	e := Read(r.Prompt)
	if !e.Answered {
		if e.Why == "" {
			return Reply{}, ErrSilent
		}
		return Reply{}, fmt.Errorf("%w: %s", ErrSilent, e.Why)
	}
	return Reply{Values: e.values(r.Names), Via: "rules"}, nil
}

func (e Extraction) values(names []string) []any {
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = e.value(name)
	}
	return values
}

// value returns the argument of a name, nil if it was not stated.
func (e Extraction) value(name string) any {
	text := map[string]string{"operation": e.Operation, "path": e.Path, "content": e.Content,
		"destination": e.Destination}[name]
	if stated := text != ""; !stated && !(name == "content" && e.HasContent) {
		return nil
	}
	return text
}

// Command returns the text command for e. It returns "" if no text command can express e:
// a path with a line end.
func (e Extraction) Command() string {
	before := " "
	if strings.TrimFunc(e.Content, parser.IsSpace) != e.Content {
		before = "\n" // only there does white space at the ends count
	}
	for _, quote := range [...]string{"", `"`, "'"} {
		line := e.Operation + " " + quote + e.Path + quote
		switch {
		case e.HasContent:
			line += " content:" + before + e.Content
		case e.Destination != "":
			line += " destination: " + e.Destination
		}
		if c := parser.Text(line); c.Operation == e.Operation && c.Path == e.Path {
			content, hasContent := c.Content()
			dest, _ := c.Destination()
			if content == e.Content && hasContent == e.HasContent && dest == e.Destination {
				return line
			}
		}
	}
	return ""
}

// describe names a decoded JSON value.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return fmt.Sprintf("a boolean (%v)", v)
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a number (%v)", v)
}
