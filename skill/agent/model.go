package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A Model decides what is done next. It must be safe for concurrent use.
type Model interface {
	// Next answers a conversation. An error that may pass, or that says more
	// than that the model cannot be asked, is a [*ProviderError].
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

// A ProviderError is why a model could not be asked, or gave no answer.
type ProviderError struct {
	Status int    // of HTTP; 0 where there was no answer
	Reason string // one sentence
	Retry  bool   // it may pass
	After  time.Duration
	Cause  error // may be nil
}

func (e *ProviderError) Error() string {
	if e.Status == 0 {
		return "the model could not be asked: " + e.Reason
	}
	return fmt.Sprintf("the model could not be asked: %s (status %d)", e.Reason, e.Status)
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Cause }
