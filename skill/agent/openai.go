package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"
)

// An Endpoint says where a model is that speaks OpenAI's chat completions.
type Endpoint struct {
	BaseURL     string // "" means OpenAI's own; /v1 is added to a bare host
	Key         string // sent as a bearer token, over https or to this machine only; may be ""
	Model       string
	Temperature float64 // below 0 it is left to the endpoint

	Transport http.RoundTripper // nil means one of its own
}

// OpenAI is the model of an [Endpoint]. Answers are streamed where the endpoint
// can. What an endpoint refuses to be told, a temperature or an image, it is not
// told again.
type OpenAI struct {
	endpoint Endpoint
	client   *openai.Client

	mu      sync.Mutex
	refused []string // of parameters
}

// NewOpenAI returns the model of an endpoint. Errors say which of its fields is
// wrong.
func NewOpenAI(e Endpoint) (*OpenAI, error) {
	if e.BaseURL == "" {
		e.BaseURL = "https://api.openai.com/v1"
	}
	u, err := url.Parse(e.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the base URL is no address; it looks like http://localhost:11434/v1")
	case e.Model == "":
		return nil, errors.New("the model is not named")
	case u.Scheme == "http" && e.Key != "" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("a key is not sent over plain http to %s; use https, or give no key", u.Host)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1"
	}
	config := openai.DefaultConfig(e.Key)
	config.BaseURL = strings.TrimSuffix(u.String(), "/")
	config.HTTPClient = newWire(e.Transport)
	config.EmptyMessagesLimit = maxAnswer // lines that keep a connection alive are not counted
	return &OpenAI{endpoint: e, client: openai.NewClientWithConfig(config)}, nil
}

// The parameters that an endpoint may refuse, as its complaint names them.
const (
	temperature   = "temperature"
	toolChoice    = "tool_choice"
	streamOptions = "stream_options"
	images        = "image"
	files         = "file"
)

// Next asks the endpoint. Errors are [*ProviderError].
func (m *OpenAI) Next(ctx context.Context, r Request) (Answer, error) {
	for {
		refused := m.without()
		sent, x := m.request(r, refused)
		answer, err := m.send(withExchange(ctx, x), sent)
		if err == nil {
			return answer, nil
		}
		fault, ok := asProviderError(err)
		if !ok {
			return answer, &ProviderError{Reason: err.Error(), Cause: err}
		}
		if !m.refuse(fault, x.told) {
			return answer, fault
		}
	}
}

func (m *OpenAI) without() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.refused)
}

// refuse notes what the endpoint does not take, if a fault is about one of the
// parameters that it was told.
func (m *OpenAI) refuse(fault *ProviderError, told []string) bool {
	if fault.Status != 400 && fault.Status != 404 && fault.Status != 422 {
		return false
	}
	for _, name := range told {
		if strings.Contains(fault.Reason, name) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.refused = append(m.refused, name)
			return true
		}
	}
	return false
}

// request spells a request. What go-openai has no field for is in the exchange.
func (m *OpenAI) request(r Request, refused []string) (openai.ChatCompletionRequest, *exchange) {
	takes := func(name string) bool { return !slices.Contains(refused, name) }
	x := &exchange{set: map[string]json.RawMessage{}}
	s := openai.ChatCompletionRequest{Model: m.endpoint.Model, Stream: true}
	if takes(streamOptions) {
		s.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		x.told = append(x.told, streamOptions)
	}
	if t := m.endpoint.Temperature; t >= 0 && takes(temperature) {
		x.set[temperature] = strconv.AppendFloat(nil, t, 'g', -1, 64) // go-openai leaves a zero out
		x.told = append(x.told, temperature)
	}
	for _, t := range r.Tools {
		s.Tools = append(s.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Doc, Parameters: t.Schema,
		}})
	}
	if len(r.Tools) > 0 && takes(toolChoice) {
		s.ToolChoice = "required"
		x.told = append(x.told, toolChoice)
	}
	c := conversation{takes: takes}
	for _, message := range r.Messages {
		c.add(message)
	}
	s.Messages, x.files = c.messages, c.files
	if c.images {
		x.told = append(x.told, images)
	}
	if c.files {
		x.told = append(x.told, files)
	}
	return s, x
}

// conversation spells messages as the protocol has them.
type conversation struct {
	takes         func(parameter string) bool
	messages      []openai.ChatCompletionMessage
	images, files bool // there are some
}

func (c *conversation) add(m Message) {
	out := openai.ChatCompletionMessage{}
	switch m.Type {
	case InstructionMessage:
		out.Role = openai.ChatMessageRoleSystem
	case UserMessage:
		out.Role = openai.ChatMessageRoleUser
	case ExpertMessage:
		out.Role = openai.ChatMessageRoleAssistant
	case ToolMessage:
		c.addResults(m)
		return
	}
	for _, p := range m.Contents {
		switch p.Type {
		case TextPart:
			out.Content += p.Text
		case ToolCallPart:
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: p.ToolCallID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: cmp.Or(toolName(p.ToolName), "_"), Arguments: string(p.Args)}})
		}
	}
	c.messages = append(c.messages, out)
}

// addResults adds the results of calls. A result can only be text, so images and
// files follow as the user's.
func (c *conversation) addResults(m Message) {
	var shown []openai.ChatMessagePart
	for _, r := range m.Contents {
		var text strings.Builder
		for _, p := range r.Contents {
			data := "data:" + p.MimeType + ";base64," + p.EncodedData
			switch {
			case p.Type == TextPart:
				text.WriteString(p.Text)
			case p.Type == ImageInlinePart && c.takes(images):
				c.images = true
				shown = append(shown, note(r), openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: data}})
			case p.Type == FileInlinePart && c.takes(files):
				c.files = true
				shown = append(shown, note(r), openai.ChatMessagePart{Type: filePart, Text: data})
			default:
				text.WriteString("\n(This model cannot be shown it: its endpoint takes no " + p.MimeType + ".)")
			}
		}
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: r.ToolCallID, Content: text.String()})
	}
	if shown != nil {
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, MultiContent: shown})
	}
}

func note(result Part) openai.ChatMessagePart {
	return openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: "What " + result.ToolName + " (call " + result.ToolCallID + ") shows:"}
}

// send asks once, and puts the pieces of the answer together.
func (m *OpenAI) send(ctx context.Context, r openai.ChatCompletionRequest) (Answer, error) {
	stream, err := m.client.CreateChatCompletionStream(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	defer stream.Close()
	var a Answer
	var text strings.Builder
	finish := openai.FinishReason("")
	for {
		chunk, err := stream.Recv()
		if err != nil {
			if api, ok := errors.AsType[*openai.APIError](err); ok {
				return Answer{}, &ProviderError{Reason: "it broke off with an error: " + shorten(api.Message, maxComplaint), Retry: true, Cause: err}
			}
			if err != io.EOF || finish == "" {
				return Answer{}, &ProviderError{Reason: "the answer broke off in the middle", Retry: true, Cause: err}
			}
			break
		}
		if chunk.Usage != nil {
			a.Usage = usage(*chunk.Usage)
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		c := chunk.Choices[0]
		text.WriteString(c.Delta.Content)
		text.WriteString(c.Delta.Refusal)
		a.Calls = piece(a.Calls, c.Delta.ToolCalls)
		if c.FinishReason != "" && c.FinishReason != openai.FinishReasonNull {
			finish = c.FinishReason
		}
	}
	if finish == openai.FinishReasonContentFilter {
		return Answer{}, &ProviderError{Reason: "its content filter stopped the answer", Retry: true}
	}
	a.Text, a.Cut = text.String(), finish == openai.FinishReasonLength
	return a, nil
}

// piece adds the pieces of tool calls. One without an index goes on with the last
// call, unless it has an id of its own.
func piece(calls []Call, pieces []openai.ToolCall) []Call {
	for _, p := range pieces {
		i := len(calls) - 1
		switch {
		case p.Index != nil:
			i = *p.Index
		case p.ID != "" || i < 0:
			i = len(calls)
		}
		if i < 0 || i > len(calls) {
			i = len(calls) // indexes that leave some out are those of a new call
		}
		if i == len(calls) {
			calls = append(calls, Call{})
		}
		c := &calls[i]
		if c.ID == "" {
			c.ID = p.ID
		}
		if p.Function.Name != c.Name { // some repeat it with every piece
			c.Name += p.Function.Name
		}
		c.Arguments += p.Function.Arguments
	}
	return calls
}

func usage(u openai.Usage) Usage {
	sum := Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		sum.CachedInputTokens = u.PromptTokensDetails.CachedTokens
	}
	if u.CompletionTokensDetails != nil {
		sum.ReasoningTokens = u.CompletionTokensDetails.ReasoningTokens
	}
	return sum
}
