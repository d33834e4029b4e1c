// Package openai asks models over the chat completions protocol of OpenAI,
// which most providers and local servers speak.
//
// [Client.Complete] sends one [Request] and returns one [Completion], whether
// the endpoint answers whole or in pieces and however it spells the answer:
// content in parts, arguments as an object, reasoning under either name.
// Everything else is an [*Error], which says what went wrong, what to do next,
// and whether and when the same request may succeed. A Client never repeats a
// request itself and never follows a redirect.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

// maxAnswer bounds what is read of an answer, in bytes after decompression. It
// is far above what a model writes, and keeps an endless answer out of memory.
const maxAnswer = 16 << 20

// A Config says where an endpoint is and how to reach it.
type Config struct {
	BaseURL string // "" means OpenAI's own; /v1 is added to a bare host, /chat/completions removed
	Key     string // sent as a bearer token, over https or to this machine only; may be ""

	Transport      http.RoundTripper // nil means one of its own
	ConnectTimeout time.Duration     // for a connection of its own transport; 0 means 10 s
	Now            func() time.Time  // dates in Retry-After are compared with it; nil means [time.Now]
}

// A Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	base, key string
	now       func() time.Time
	http      *http.Client
}

// New returns a client, or an error that says what is wrong with the base URL
// or that the key would be sent in the clear.
func New(c Config) (*Client, error) {
	base, err := baseURL(c)
	if err != nil {
		return nil, err
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: cmp.Or(c.ConnectTimeout, 10*time.Second)}).DialContext
		c.Transport = t
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Client{base, c.Key, c.Now, &http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// BaseURL returns the address of the API, completed.
func (c *Client) BaseURL() string { return c.base }

// baseURL completes the address of an endpoint and refuses one that must not
// be used. Its errors do not repeat the address, which may hold a password.
func baseURL(c Config) (string, error) {
	u, err := url.Parse(cmp.Or(c.BaseURL, "https://api.openai.com/v1"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the base URL (OPENAI_BASE_URL) is not an address; it looks like http://localhost:11434/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the base URL (OPENAI_BASE_URL) has a user, a query or a fragment; leave them out and give a key as OPENAI_API_KEY")
	case u.Scheme == "http" && c.Key != "" && !loopback(u.Hostname()):
		return "", fmt.Errorf("a key is not sent over plain http to %s; use https, or give no key", u.Host)
	}
	u.Path = cmp.Or(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"), "/v1")
	return u.String(), nil
}

// loopback reports whether a host is this machine. Names below localhost are
// not: a name server may send them anywhere.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Complete sends a request and returns the answer, or an [*Error]. Status, Bytes
// and Usage of the Completion are set in both cases.
func (c *Client) Complete(ctx context.Context, r Request) (Completion, error) {
	body, err := r.body()
	if err != nil {
		return Completion{}, &Error{Reason: "the request cannot be written as JSON: " + err.Error(), Err: err}
	}
	x := &exchange{Client: c, body: body, stream: r.Stream, heard: r.Heard}
	config := openai.DefaultConfig(c.key)
	config.BaseURL, config.HTTPClient = c.base, x
	config.EmptyMessagesLimit = maxAnswer // lines that keep a connection alive are no reason to stop
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: r.Model})
	if err == nil {
		if err = x.read(ctx, stream); err == nil {
			x.drain()
		}
		stream.Close()
	}
	if err != nil {
		fault, ok := errors.AsType[*Error](err)
		if !ok {
			fault = &Error{Reason: err.Error(), Err: err}
		}
		return Completion{Status: x.got.Status, Bytes: x.got.Bytes, Usage: x.got.Usage}, fault
	}
	return x.completion(), nil
}

// An exchange is one request and its answer. go-openai addresses the request
// and reads the stream; an exchange stands between it and the network, puts in
// the body, and hands on nothing but a stream. An answer that comes whole is
// added at once, and go-openai is given an empty stream.
type exchange struct {
	*Client
	answer
	body   body
	stream bool // the answer may come in pieces
	heard  func(text string)
	pieces io.ReadCloser // the answer that comes in pieces
}

// Do is what go-openai calls.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	r.Body, r.ContentLength = x.body.reader(), x.body.size()
	r.GetBody = func() (io.ReadCloser, error) { return x.body.reader(), nil }
	if !x.stream {
		r.Header.Set("Accept", "application/json")
	}
	resp, err := x.http.Do(r)
	if err != nil {
		return nil, broken(r.Context(), "the connection broke", err)
	}
	x.got.Status = resp.StatusCode
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	if x.heard != nil {
		resp.Body = &listener{resp.Body, x.heard}
	}
	success := resp.StatusCode >= 200 && resp.StatusCode <= 299
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if success && x.stream && kind == "text/event-stream" {
		x.pieces = resp.Body
		return resp, nil
	}
	defer resp.Body.Close()
	if success && kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, &Error{Reason: "the answer is not JSON", Advice: "check that the base URL (OPENAI_BASE_URL) is the address of the API"}
	}
	body, err := io.ReadAll(resp.Body)
	x.got.Bytes = len(body)
	switch {
	case !success:
		return nil, x.refusal(resp, body)
	case err != nil:
		return nil, broken(r.Context(), "the answer broke off in the middle", err)
	}
	x.whole = true
	resp.Body = http.NoBody
	return resp, x.add(body)
}

// A listener reports each sign of life of an endpoint.
type listener struct {
	io.ReadCloser
	heard func(text string)
}

func (l *listener) Read(p []byte) (n int, err error) {
	n, err = l.ReadCloser.Read(p)
	if n > 0 {
		l.heard("")
	}
	return n, err
}

// drainTime is how long the end of a stream is waited for after its last piece.
const drainTime = 250 * time.Millisecond

// drain reads a stream to its end, without which its connection cannot be used again: 50
// streamed answers took 11 connections.
func (x *exchange) drain() {
	if x.pieces == nil {
		return
	}
	late := time.AfterFunc(drainTime, func() { x.pieces.Close() })
	defer late.Stop()
	io.CopyN(io.Discard, x.pieces, 64<<10)
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
		api, ok := errors.AsType[*openai.APIError](err)
		switch {
		case err == nil:
		case err == io.EOF && (x.whole || x.got.Finish != ""):
			return nil
		case ok:
			return &Error{Reason: answeredError, Said: oneLine(api.Message), Retry: true, Err: err}
		default:
			return broken(ctx, "the answer broke off in the middle", err)
		}
	}
}
