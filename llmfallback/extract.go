// Package llmfallback reads requests that no grammar of commands explains:
// first by rules of its own, which never leave the machine, then, where one is
// configured, by a language model.
//
// [ExtractArgumentsWithLLM] is the plain call: an [Agent] is asked once, and its
// answer is an array. An [Extractor] is the whole way: rules, model, and the
// guard that lets through only what the request itself says. The model chooses;
// it never authors: every path and every text comes from the request, and what
// deletes or overwrites needs a request that says so.
package llmfallback

import (
	"context"
	"fmt"

	"textskill/parser"
)

// Instruction is the task as the agent is told it.
const Instruction = "Extract file system operation arguments. Allowed operations: " +
	"readFile, writeFile, appendFile, deleteFile, createDirectory, listDirectory, fileExists, copyFile, moveFile"

// Names returns the arguments in the order in which agents return them.
func Names() []string { return []string{"operation", "path", "content", "destination"} }

// An Agent extracts the values that a request names from its prompt.
type Agent interface {
	// Complete returns [ErrSilent], as errors.Is sees it, when it has no answer
	// and another agent may be asked.
	Complete(ctx context.Context, r Request) (Reply, error)
}

// A Request is what an agent is asked.
type Request struct {
	Prompt      string   // what the user wrote, whole
	Instruction string   // the task, in words
	Names       []string // the values wanted, in the order wanted
}

// A Reply is an agent's answer.
type Reply struct {
	// Values are in the order of the request's names, and may be fewer or more.
	// Each is a decoded JSON value: nil where nothing was stated, numbers as
	// json.Number. Nil Values mean that the answer was no array.
	Values    []any
	Via       string // "rules" or "llm"
	Telemetry Telemetry
}

// An Extraction is one file operation as it was understood. A value that was
// not stated is "".
type Extraction struct {
	Operation, Path, Content, Destination string
	HasContent                            bool // content was stated, possibly as the empty text
}

// ExtractArgumentsWithLLM asks agent for names and returns their values in that
// order; a value that was not stated is "". It reports [ErrNotArray] when the
// answer is no array, and a [*ValueError] for a value that is no string.
func ExtractArgumentsWithLLM(ctx context.Context, agent Agent, promptText, instructionText string, names []string) ([]string, error) {
	reply, err := agent.Complete(ctx, Request{Prompt: promptText, Instruction: instructionText, Names: names})
	if err != nil {
		return nil, err
	}
	if reply.Values == nil {
		return nil, ErrNotArray
	}
	values := make([]string, len(names))
	for i, name := range names {
		if i >= len(reply.Values) || reply.Values[i] == nil {
			continue
		}
		s, ok := reply.Values[i].(string)
		if !ok {
			return nil, &ValueError{Name: name, Got: describe(reply.Values[i])}
		}
		values[i] = s
	}
	return values, nil
}

// Rules is the agent that needs no model: a grammar of English requests and
// tables of names. It answers only where a single reading explains every word.
type Rules struct{}

// Complete answers at once, or with [ErrSilent].
func (Rules) Complete(_ context.Context, r Request) (Reply, error) {
	e, ok := understand(r.Prompt)
	if !ok {
		return Reply{}, ErrSilent
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

// value returns the argument of that name, nil when it was not stated.
func (e Extraction) value(name string) any {
	text, stated := "", false
	switch name {
	case "operation":
		text, stated = e.Operation, e.Operation != ""
	case "path":
		text, stated = e.Path, e.Path != ""
	case "content":
		text, stated = e.Content, e.HasContent
	case "destination":
		text, stated = e.Destination, e.Destination != ""
	}
	if !stated {
		return nil
	}
	return text
}

// Command returns the text command that means e, "" when there is none: a name
// with a line end cannot be typed, nor can a content that begins with a blank.
func (e Extraction) Command() string {
	for _, quote := range [...]string{"", `"`, "'"} {
		line := e.Operation + " " + quote + e.Path + quote
		switch {
		case e.HasContent:
			line += " content: " + e.Content
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
