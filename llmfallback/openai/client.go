// Package openai asks models over the chat completions protocol of OpenAI,
// which most providers and local servers speak.
//
// [Client.Complete] sends one [Request] and returns one [Completion], whether
// the endpoint answers whole or in pieces and however it spells the answer:
// content in parts, arguments as an object, reasoning under either name.
// Everything else is a [*remote.Error], which says what went wrong, what to do next,
// and whether and when the same request may succeed. A Client never repeats a
// request itself and never follows a redirect.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"textskill/llmfallback/remote"
)

// A Config says where an endpoint is and how to reach it.
type Config struct {
	BaseURL string // "" means OpenAI's own; /v1 is added to a bare host, /chat/completions removed
	Key     string // sent as a bearer token, over https or to this machine only; may be ""

	Transport      http.RoundTripper // nil means one of its own
	ConnectTimeout time.Duration     // for a connection of its own transport; 0 means 10 s
	Now            func() time.Time  // dates in Retry-After are compared with it; nil means [time.Now]
}

// names are the same as in OpenAI's own client.
var names = remote.Names{BaseURL: "OPENAI_BASE_URL", Key: "OPENAI_API_KEY",
	Example: "http://localhost:11434/v1"}

// A Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	remote *remote.Client
	key    string
}

// New returns a client, or an error that says what is wrong with the base URL
// or that the key would be sent in the clear.
func New(c Config) (*Client, error) {
	r, err := Remote(c)
	return &Client{r, c.Key}, err
}

// Remote returns what sends the requests of all of OpenAI's protocols. It returns the errors of
// [New].
func Remote(c Config) (*remote.Client, error) {
	config := remote.Config{
		BaseURL: cmp.Or(c.BaseURL, "https://api.openai.com/v1"), Path: completed, Keyed: c.Key != "",
		Names:     names,
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
	x := &exchange{Client: c, body: body, stream: r.Stream, heard: r.Heard}
	config := openai.DefaultConfig(c.key)
	config.BaseURL, config.HTTPClient = c.BaseURL(), x
	config.EmptyMessagesLimit = remote.MaxAnswer // lines that keep a connection alive are no reason to stop
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(ctx,
		openai.ChatCompletionRequest{Model: r.Model})
	if err == nil {
		if err = x.read(ctx, stream); err == nil && x.pieces != nil {
			remote.Drain(x.pieces)
		}
		stream.Close()
	}
	if err != nil {
		fault, ok := errors.AsType[*remote.Error](err)
		if !ok {
			fault = &remote.Error{Reason: err.Error(), Err: err}
		}
		if said := []byte(fault.Said); x.got.Status == http.StatusOK && fault.Class == "" &&
			fault.Parameter == "" && doubts().Match(said) {
			fault.Parameter = refused(said, body)
			fault.Retry = fault.Retry && fault.Parameter == ""
		}
		return Completion{Status: x.got.Status, Bytes: x.got.Bytes, Usage: x.got.Usage}, fault
	}
	return x.completion(), nil
}

// An exchange is one request and its answer. go-openai addresses the request and parts the
// stream, and gets plain events. Its own types are not used: they refuse an index
// that is a text, arguments that are an object and an ID that is null, and they have no place
// for signatures, files and a temperature of 0. An answer that comes whole is added at once,
// and go-openai is given an empty stream.
type exchange struct {
	*Client
	answer
	body   remote.Body
	stream bool // the answer may come in pieces
	heard  func(text string)
	pieces *doneReader // the answer that comes in pieces
}

// A doneReader notes that a stream has come to the event that ends it.
type doneReader struct {
	io.ReadCloser
	done bool
}

// Read implements [io.Reader]. A read has one event at most.
func (d *doneReader) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.done = d.done || string(p[:n]) == "data: [DONE]\n\n"
	return n, err
}

// Do is what go-openai calls.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	request := remote.Request{Body: x.body, Stream: x.stream,
		Refused: func(complaint []byte) string { return refused(complaint, x.body) }}
	if x.heard != nil {
		request.Heard = func() { x.heard("") }
	}
	reply, err := x.remote.Do(r, request)
	x.got.Status, x.got.Bytes = reply.Status, reply.Bytes
	if err != nil {
		return nil, err
	}
	resp := &http.Response{StatusCode: reply.Status, Header: http.Header{}, Request: r}
	if reply.Stream != nil {
		x.pieces = &doneReader{ReadCloser: remote.Plain(reply.Stream)}
		resp.Body = x.pieces
	}
	if x.pieces == nil {
		x.whole, resp.Body = true, http.NoBody
		err = x.add(reply.Whole)
	}
	return resp, err
}

// read adds the pieces of a stream. One that ends before the model says why it
// stopped is broken, however it ends.
func (x *exchange) read(ctx context.Context, stream *openai.ChatCompletionStream) error {
	for {
		piece, err := stream.RecvRaw()
		if err == nil {
			before := x.text.Len()
			err = x.add(piece)
			if x.heard != nil && x.text.Len() > before {
				x.heard(x.text.String()[before:])
			}
		}
		switch {
		case err == nil:
		case err == io.EOF && (x.whole ||
			x.got.Finish != "" || x.pieces.done && x.holds()):
			return nil
		default:
			return remote.Broken(ctx, err)
		}
	}
}

// holds reports whether what has come can be used: calls whose arguments are whole, or a text.
func (a *answer) holds() bool {
	broken := func(c *callPieces) bool { return len(c.arguments) > 0 && !json.Valid([]byte(c.joined())) }
	return !slices.ContainsFunc(a.calls, broken) && (len(a.calls) > 0 || a.text.Len() > 0)
}
