package llmfallback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer      = 1 << 20 // bytes of an answer, unpacked
	connectTimeout = 3 * time.Second
)

// A wire carries one chat request and its answer. It stands between go-openai
// and the network, and hands on only what is one well-formed completion: all
// else becomes an [*EndpointError].
type wire struct {
	http *http.Client
	now  func() time.Time
}

// newWire uses transport, or a transport of its own when it is nil.
func newWire(transport http.RoundTripper, now func() time.Time) *wire {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
		transport = t
	}
	return &wire{now: now, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An exchange is what one request wants beyond go-openai's fields, and what
// came of it.
type exchange struct {
	set    map[string]json.RawMessage // fields of the body that go-openai leaves out
	status int
	bytes  int
	object bool // arguments came as an object
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Do is what go-openai calls.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		x = &exchange{}
	}
	if err := x.patch(r); err != nil {
		return nil, err
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return nil, unreachable(r.Context(), err)
	}
	defer resp.Body.Close()
	x.status = resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	x.bytes = len(body)
	if len(body) > maxAnswer {
		return nil, &EndpointError{Status: x.status, Class: "answer larger than 1 MiB"}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, w.refusal(resp, body)
	}
	if err != nil {
		fault := unreachable(r.Context(), err)
		fault.Status = x.status
		return nil, fault
	}
	if body, err = x.completion(resp, body); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// patch puts the fields of set into the request's body.
func (x *exchange) patch(r *http.Request) error {
	if len(x.set) == 0 || r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{} // raw: the schema keeps its order
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	maps.Copy(fields, x.set)
	if body, err = json.Marshal(fields); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength = int64(len(body))
	return nil
}

// unreachable words a failure below HTTP. A deadline that has passed is final.
func unreachable(ctx context.Context, err error) *EndpointError {
	if cause := ctx.Err(); cause != nil {
		return &EndpointError{Class: "no answer in time", cause: cause}
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &EndpointError{Class: "no connection", Advice: "is the server running?", retry: true}
	}
	return &EndpointError{Class: "connection broken", retry: true}
}

// refusal words an answer whose status is no success.
func (w *wire) refusal(resp *http.Response, body []byte) *EndpointError {
	e := &EndpointError{Status: resp.StatusCode, Class: "error", retryAfter: w.retryAfter(resp.Header)}
	said := complaint(body)
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		e.Class, e.Advice = "redirect, which is not followed", "give the address it leads to as OPENAI_BASE_URL"
	case code == 401 || code == 403:
		e.Class, e.Advice = "key refused", "set OPENAI_API_KEY"
	case code == 404 && parameterIn(said) == "":
		e.Class, e.Advice = "not found", "check OPENAI_BASE_URL and SKILL_MODEL"
	case code == 429 && strings.Contains(said, "insufficient_quota"):
		e.Class = "quota spent"
	case code == 429:
		e.Class, e.retry = "rate limit", true
	case code == 408 || code == 409 || code >= 500:
		e.Class, e.retry = "server error", true
	case code == 400 || code == 422 || code == 404:
		e.Class, e.parameter = "request not understood", parameterIn(said)
	}
	return e
}

// parameters are those of our requests that some endpoints do not take, what
// holds another's name before the other.
var parameters = [...]string{
	"max_completion_tokens", "max_tokens", "temperature", "parallel_tool_calls", "tool_choice", "tools",
	"response_format", "json_schema", "grammar", "strict",
}

// parameterIn returns the parameter that a complaint is about.
func parameterIn(said string) string {
	for _, p := range parameters {
		if strings.Contains(said, p) {
			return p
		}
	}
	return ""
}

// complaint returns what an error body says, in whichever of the places that
// servers use; a body that is no JSON says nothing.
func complaint(body []byte) string {
	var doc map[string]json.RawMessage
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	var said []string
	for _, key := range [...]string{"error", "message", "detail", "param", "type", "code"} {
		said = append(said, string(doc[key]))
	}
	return strings.Join(said, " ")
}

// retryAfter reads the header in seconds or as a date; 0 when there is none.
func (w *wire) retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(w.now()), time.Nanosecond)
	}
	return 0
}

// completion checks that body is one chat completion, and spells it as
// go-openai reads it.
func (x *exchange) completion(resp *http.Response, body []byte) ([]byte, error) {
	fail := func(class, advice string, retry bool) error {
		return &EndpointError{Status: x.status, Class: class, Advice: advice, retry: retry}
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, fail("answer is no JSON", "check OPENAI_BASE_URL: is it the address of the API?", false)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, fail("answer is empty", "", true)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var doc map[string]any
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, fail("answer is not valid JSON", "", errors.Is(err, io.ErrUnexpectedEOF))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fail("answer goes on behind its end", "", false)
	}
	if doc["error"] != nil {
		return nil, fail("error in the answer", "", true)
	}
	choices, _ := doc["choices"].([]any)
	if len(choices) == 0 {
		return nil, fail("answer has no choices", "", false)
	}
	var raw rawCompletion
	if json.Unmarshal(body, &raw) != nil {
		return nil, fail("answer is no chat completion", "", false)
	}
	for i, c := range choices {
		choice, _ := c.(map[string]any)
		if choice["error"] != nil || choice["finish_reason"] == "error" {
			return nil, fail("error in the answer", "", true)
		}
		if message, ok := choice["message"].(map[string]any); ok {
			x.plain(message, raw.Choices[i].Message)
		}
	}
	return json.Marshal(doc)
}

// A rawCompletion holds, as they stand, the values that may come as objects.
type rawCompletion struct {
	Choices []struct {
		Message rawMessage `json:"message"`
	} `json:"choices"`
}

type rawMessage struct {
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		Function struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// plain spells a message's values as strings: contents of parts or objects,
// arguments as objects, and the reasoning under the name that go-openai knows.
func (x *exchange) plain(message map[string]any, raw rawMessage) {
	switch content := message["content"].(type) {
	case []any:
		var text strings.Builder
		for _, p := range content {
			part, _ := p.(map[string]any)
			s, _ := part["text"].(string)
			text.WriteString(s)
		}
		message["content"] = text.String()
	case map[string]any:
		message["content"], x.object = string(raw.Content), true
	}
	if _, ok := message["reasoning_content"].(string); !ok {
		message["reasoning_content"], _ = message["reasoning"].(string)
	}
	calls, _ := message["tool_calls"].([]any)
	for i, c := range calls {
		call, _ := c.(map[string]any)
		function, _ := call["function"].(map[string]any)
		if _, ok := function["arguments"].(map[string]any); ok {
			function["arguments"], x.object = string(raw.ToolCalls[i].Function.Arguments), true
		}
	}
}
