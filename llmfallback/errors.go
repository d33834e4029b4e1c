package llmfallback

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons why a prompt yields no operation, for [errors.Is]. The error that
// wraps one says what is wrong with this prompt or answer. An [ErrUnavailable]
// also wraps the [remote.Error] of an exchange that failed; it holds nothing of
// what was sent or answered.
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

// A ConfirmError reports a change that was understood but needs a typed command.
// Nothing has been done.
type ConfirmError struct {
	Operation string
	Command   string // the text command that does it, a prompt not yet quoted for a shell; "" if none can be typed
	Reason    string // why nothing was done: "the request does not say to overwrite a.txt"

	Extraction Extraction // to carry out if somebody confirms it
	Lines      bool       // its content is whole lines of the file
}

func (e *ConfirmError) Error() string {
	if e.Command == "" {
		return e.Reason
	}
	return e.Reason + "; to do it, type: " + e.Command
}

// An ArgumentError reports a request to write that does not say what, or a value of the
// wrong type in a bare answer.
type ArgumentError struct {
	Operation string // "writeFile" or "appendFile" where the content is missing, else ""
	Name      string // "path", "content" or "destination"
	Got       string // what is there instead of a string: "a number (5)"; "" if nothing is
}

func (e *ArgumentError) Error() string {
	if e.Got == "" {
		return "Content required for " + e.Operation
	}
	return fmt.Sprintf("the %s argument must be a string, not %s", e.Name, e.Got)
}

// Code returns the code with which Node.js reports a value of the wrong type, "" where
// the content is missing.
func (e *ArgumentError) Code() string {
	if e.Got == "" {
		return ""
	}
	return "ERR_INVALID_ARG_TYPE"
}
