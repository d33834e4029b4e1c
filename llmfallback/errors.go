package llmfallback

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons why a prompt yields no operation, for [errors.Is]. The error that wraps the
// reason says what is wrong with this prompt or answer. With [ErrUnavailable] it also
// wraps a [remote.Error], which holds neither the request nor the answer.
var (
	ErrSilent          = errors.New("nobody understands the request")
	ErrNoModel         = errors.New("no model is set")
	ErrUnavailable     = errors.New("the model's endpoint cannot be used")
	ErrBudget          = errors.New("the budget for the model is spent")
	ErrRefused         = errors.New("the answer is refused")
	ErrTruncated       = errors.New("the model's answer is cut off")
	ErrNotArray        = errors.New("the answer is not a JSON array")
	ErrNotOneOperation = errors.New("the answer does not name exactly one allowed operation")
	ErrNotInPrompt     = errors.New("the answer has a value that is not in the request")
	ErrBadAnswer       = errors.New("the answer does not have the shape that was asked for")
)

// correction returns what to tell the model about its answer: the text of err without the
// reason that it wraps. ok is false where asking the model again would not help.
func correction(err error) (why string, ok bool) {
	for _, kind := range [...]error{ErrTruncated, ErrNotInPrompt, ErrBadAnswer} {
		if errors.Is(err, kind) {
			return strings.TrimPrefix(err.Error(), kind.Error()+": "), true
		}
	}
	return "", false
}

// An AnswerError is an answer in words in place of values, such as a refusal.
type AnswerError struct {
	Err  error  // [ErrRefused], or [ErrNotArray] of a bare answer
	Said string // the model's words, in one line
}

func (e *AnswerError) Error() string {
	if e.Said == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": the model says: " + e.Said
}

// Unwrap returns the reason.
func (e *AnswerError) Unwrap() error { return e.Err }

// A ConfirmError reports a change that the user has to confirm by typing a command.
// Nothing has been done.
type ConfirmError struct {
	Operation string
	Command   string // the text command to type, not quoted for a shell; "" if no text command can express it
	Reason    string // why nothing was done: "the request does not say to overwrite a.txt"

	Extraction Extraction // to carry out if the user confirms it
	Allowed    bool       // with [Allow] it is carried out; else only with Config.Trust
	Lines      bool       // the content is whole lines of the file
}

func (e *ConfirmError) Error() string {
	if e.Command == "" {
		return e.Reason
	}
	return e.Reason + "; to do it, type: " + e.Command
}

// An ArgumentError reports a write without content, or a value of the wrong type in an
// unchecked answer.
type ArgumentError struct {
	Operation string // "writeFile" or "appendFile" if the content is missing, else ""
	Name      string // "path", "content" or "destination"
	Got       string // the value in place of a string: "a number (5)"; "" if the content is missing
}

func (e *ArgumentError) Error() string {
	if e.Got == "" {
		return "Content required for " + e.Operation
	}
	return fmt.Sprintf("the %s argument must be a string, not %s", e.Name, e.Got)
}

// Code returns the error code of Node.js for a value of the wrong type, or "" if the
// content is missing.
func (e *ArgumentError) Code() string {
	if e.Got == "" {
		return ""
	}
	return "ERR_INVALID_ARG_TYPE"
}
