package llmfallback

import (
	"errors"
	"fmt"
)

// The reasons why a prompt yields no operation, for [errors.Is]. The error that
// wraps one says what is wrong with this prompt or answer. An [ErrUnavailable]
// also wraps the [openai.Error] of an exchange that failed; it holds nothing of
// what was sent or answered.
var (
	ErrSilent          = errors.New("nobody understands the request")
	ErrUnavailable     = errors.New("the model's endpoint cannot be used")
	ErrBudget          = errors.New("the budget for the model is spent")
	ErrRefused         = errors.New("the answer is refused")
	ErrTruncated       = errors.New("the model's answer is cut off")
	ErrNotArray        = errors.New("the answer is no JSON array")
	ErrNotOneOperation = errors.New("the answer names no single allowed operation")
	ErrNotInPrompt     = errors.New("the answer has a value that the request does not have")
	ErrBadAnswer       = errors.New("the answer does not have the shape that was asked for")
)

// An answerError is one of the errors above with what was wrong in particular.
type answerError struct {
	why   string // names values of the request, never the answer as a whole
	kind  error
	again bool // asking the model once more, with why, may help
}

func (e *answerError) Error() string { return e.kind.Error() + ": " + e.why }
func (e *answerError) Unwrap() error { return e.kind }

// A ConfirmError reports a change that was understood but is not made on a
// prompt's word alone. Nothing has been done.
type ConfirmError struct {
	Operation string
	Command   string // the text command that does it, a prompt not yet quoted for a shell; "" if none can be typed
	Reason    string // why it was not done: "the request does not say to overwrite a.txt"
	Via       string // "rules" or "llm"
}

func (e *ConfirmError) Error() string {
	if e.Command == "" {
		return e.Reason
	}
	return e.Reason + "; to do it, type: " + e.Command
}

// A ContentError reports a request to write that states nothing to write.
type ContentError struct {
	Operation string // writeFile or appendFile
}

func (e *ContentError) Error() string { return "Content required for " + e.Operation }

// A ValueError reports a value of a bare answer that is of a type which its
// place does not take.
type ValueError struct {
	Name string // "path", "content" or "destination"
	Got  string // what stood there: "a number (5)"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("the %s argument must be a string, not %s", e.Name, e.Got)
}

// Code returns the code under which JavaScript reports such a value.
func (e *ValueError) Code() string { return "ERR_INVALID_ARG_TYPE" }
