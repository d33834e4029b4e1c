package agent

import (
	"context"
	"encoding/json"
)

// A Model decides what to do next. It must be safe for concurrent use.
type Model interface {
	// Next answers a conversation. An error after which asking again may help
	// is an *Error of package textskill/llmfallback/remote that says so; the Answer
	// then has the usage, if any.
	Next(ctx context.Context, r Request) (Answer, error)
}

// A Learner is a Model that learns rules of its endpoint, such as a parameter that the endpoint
// refuses. They are recorded, so that a continuation of the run begins with them.
type Learner interface {
	Rules() []string      // in the order in which they were learned
	Learn(rules []string) // adds rules
}

// A Request is one question to a model.
type Request struct {
	Messages []Message
	Tools    []Tool // one of them must be called; without tools the answer is a text
	Withheld []Tool // of the conversation, where none may be called now; nil if Tools has them

	Schema json.RawMessage // that a text answer should fit; nil for none

	// Heard is called with each piece of the answer's text as it comes, and with "" for
	// any other sign of life. A model that calls it is given up on after a silence, others
	// after a time. It may be nil.
	Heard func(text string)
}

// A Tool is what a model knows of a tool.
type Tool struct {
	Name   string
	Doc    string
	Schema json.RawMessage // JSON Schema of the arguments, an object
}

// An Answer is what a model answered.
type Answer struct {
	Text     string
	Calls    []Call
	Thinking Thinking
	Usage    Usage
	Cut      bool // it reached its limit of tokens
	Apart    bool // the protocol keeps calls and thoughts apart from the text, which is not read for them
}

// Thinking is what a model thought before it answered.
type Thinking struct {
	Text  string // may be empty or a summary
	Model string // as PROVIDER/NAME
	// what that model is given back with the answer, such as signatures; nil for nothing
	Replay json.RawMessage
}

// A Call is a tool call as the model wrote it. Any of it may be wrong.
type Call struct {
	ID, Name  string
	Arguments string // the JSON of an object, if it is right
	Err       error  // why the arguments cannot be read, if that is known
}
