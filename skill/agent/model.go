package agent

import (
	"context"
	"encoding/json"
)

// A Model decides what is done next. It must be safe for concurrent use.
type Model interface {
	// Next answers a conversation. An error after which asking again may help
	// is an [*openai.Error] that says so.
	Next(ctx context.Context, r Request) (Answer, error)
}

// A Request is what a model is asked.
type Request struct {
	Messages []Message
	Tools    []Tool // one of them has to be called; without tools, a text is wanted
}

// A Tool is what a model is told of one.
type Tool struct {
	Name   string
	Doc    string
	Schema json.RawMessage // JSON Schema of the arguments, an object
}

// An Answer is what a model said.
type Answer struct {
	Text  string
	Calls []Call
	Usage Usage
	Cut   bool // it reached the limit of its length
}

// A Call is a tool call as a model wrote it, which may be wrong in every way.
type Call struct {
	ID, Name  string
	Arguments string // JSON of an object, if it is right
}
