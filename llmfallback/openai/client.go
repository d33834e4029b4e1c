// Package openai asks models over the chat completions protocol of OpenAI,
// which most providers and local servers speak.
//
// [Client.Complete] sends one [Request] and returns one [Completion], whether
// the endpoint answers whole or in pieces and however it spells the answer:
// content in parts, arguments as an object, reasoning under either name.
// Everything else is a [*remote.Error], which says what went wrong, what to do next,
// and whether and when the same request may succeed. A Client never repeats a
// request itself and never follows a redirect.
//
// A [Transport] lets go-openai's own client ask. Conversations do without that client: its types refuse an
// index that is a text, arguments that are an object and an ID that is null, and have no place for signatures.
package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"textskill/llmfallback/remote"
)

// A Config says where an endpoint is and how to reach it.
type Config struct {
	BaseURL string // "" means OpenAI's own; /v1 is added to a bare host, /chat/completions removed
	Key     string // sent as a bearer token, over https or to this machine only; may be ""
	// the flag, variable or setting that gave BaseURL, for errors; "" means OPENAI_BASE_URL
	BaseURLFrom string

	Transport      http.RoundTripper // nil means one of its own
	ConnectTimeout time.Duration     // for a connection of its own transport; 0 means 10 s
	Now            func() time.Time  // dates in Retry-After are compared with it; nil means [time.Now]
}

// A Client asks one endpoint. It is safe for concurrent use.
type Client struct{ remote *remote.Client }

// New returns a client, or an error that says what is wrong with the base URL
// or that the key would be sent in the clear.
func New(c Config) (*Client, error) {
	r, err := Remote(c)
	return &Client{r}, err
}

// Remote returns what sends the requests of all of OpenAI's protocols. It returns the errors of
// [New].
func Remote(c Config) (*remote.Client, error) {
	config := remote.Config{
		BaseURL: cmp.Or(c.BaseURL, "https://api.openai.com/v1"), Path: completed, Keyed: c.Key != "",
		// as in OpenAI's own client
		Names: remote.Names{BaseURL: cmp.Or(c.BaseURLFrom, "OPENAI_BASE_URL"), Key: "OPENAI_API_KEY",
			Example: "http://localhost:11434/v1"},
		Transport: c.Transport, ConnectTimeout: c.ConnectTimeout, Now: c.Now,
	}
	if c.Key != "" {
		config.Header = http.Header{"Authorization": {"Bearer " + c.Key}}
	}
	return remote.New(config)
}

func completed(path string) string {
	for _, operation := range [...]string{"/chat/completions", "/responses"} {
		path = strings.TrimSuffix(path, operation)
	}
	return cmp.Or(path, "/v1")
}

// BaseURL returns the address of the API, completed.
func (c *Client) BaseURL() string { return c.remote.BaseURL() }

// Complete sends a request and returns the answer, or a [*remote.Error]. Status, Bytes
// and Usage of the Completion are set in both cases.
func (c *Client) Complete(ctx context.Context, r Request) (Completion, error) {
	body, err := r.body()
	if err != nil {
		return Completion{}, err
	}
	return c.complete(ctx, body, r)
}

// complete is Complete for a request with the body. Of r it uses Stream and Heard.
func (c *Client) complete(ctx context.Context, body remote.Body, r Request) (Completion, error) {
	request := remote.Request{Path: "/chat/completions", Body: body, Stream: r.Stream,
		Refused: func(complaint []byte) string { return refused(complaint, body) }}
	a := answer{heard: func(string) {}}
	if r.Heard != nil {
		a.heard, request.Heard = r.Heard, func() { r.Heard("") }
	}
	reply, err := c.remote.Ask(ctx, request, a.add)
	a.got.Status, a.got.Bytes = reply.Status, reply.Bytes
	if err == nil {
		return a.completion(), nil
	}
	fault, ok := errors.AsType[*remote.Error](err)
	unclear := ok && reply.Status == http.StatusOK && fault.Class == "" && fault.Parameter == ""
	if unclear && doubts().MatchString(fault.Said) {
		fault.Parameter = refused([]byte(fault.Said), body)
		fault.Retry = fault.Retry && fault.Parameter == ""
	}
	return Completion{Status: reply.Status, Bytes: reply.Bytes, Usage: a.got.Usage}, err
}
