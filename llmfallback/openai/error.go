package openai

import (
	"bytes"
	"errors"
	"regexp"
	"sync"

	"textskill/llmfallback/remote"
)

// ErrNoChoices is the cause of a [remote.Error] for an answer that is in order but
// has nothing in it.
var ErrNoChoices = errors.New("the answer has no choices")

// parameters are those that some endpoints do not accept. A name that contains
// another stands before it; words that also mean something else stand last.
var parameters = [...]string{
	"max_completion_tokens", "max_tokens", "temperature", "reasoning_effort", "stream_options",
	"parallel_tool_calls", "tool_choice",
	"reasoning_content", "reasoning_details", "extra_content",
	"response_format", "json_schema", "grammar", "strict", "image", "file", "tools",
}

// refused returns the parameter that a complaint is about: one of the request's
// before any other, because endpoints also name what to send instead.
func refused(complaint []byte, request remote.Body) (parameter string) {
	for _, name := range parameters {
		switch {
		case !bytes.Contains(complaint, []byte(name)):
		case has(request, name):
			return name
		case parameter == "" && name != "image" && name != "file":
			parameter = name
		}
	}
	return parameter
}

// doubts matches a complaint about a parameter, where no status says that it is one.
var doubts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)support|unknown|unrecogni[sz]ed|invalid|not allowed|unexpected|not permitted`)
})
