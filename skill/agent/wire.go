package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	maxAnswer      = 16 << 20 // bytes of an answer, unpacked
	maxRefusal     = 1 << 20  // bytes of an answer that is an error
	maxComplaint   = 300      // bytes of what an endpoint says is wrong
	connectTimeout = 10 * time.Second

	filePart = "file" // a type of part that go-openai does not know
)

// wire carries chat requests. It stands between go-openai and the network, and
// hands on only streams: an answer that came whole is made one, and everything
// else is a [*ProviderError].
type wire struct{ http *http.Client }

func newWire(transport http.RoundTripper) *wire {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
		transport = t
	}
	return &wire{&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An exchange is what one request wants beyond go-openai's fields.
type exchange struct {
	set   map[string]json.RawMessage // fields of the body
	files bool                       // there are parts of the type filePart
	told  []string                   // parameters that the endpoint may refuse
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Do is what go-openai calls.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		if err := x.patch(r); err != nil {
			return nil, err
		}
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return nil, unreachable(err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, refusal(resp, body)
	case kind == "text/event-stream":
		resp.Body = &boundedBody{resp.Body, maxAnswer}
		return resp, nil
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		resp.Body.Close()
		return nil, &ProviderError{Status: resp.StatusCode, Reason: "the answer is no JSON; is the base URL the address of the API?"}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(&boundedBody{resp.Body, maxAnswer})
	if err != nil {
		return nil, &ProviderError{Reason: "the answer broke off in the middle", Retry: !errors.Is(err, errTooLarge), Cause: err}
	}
	stream, err := asStream(body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(stream))
	return resp, nil
}

// boundedBody fails past a number of bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLarge = fmt.Errorf("it is larger than %d bytes", maxAnswer)

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// patch puts the exchange's fields into the request's body, and spells parts of
// files as the protocol does.
func (x *exchange) patch(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	maps.Copy(fields, x.set)
	if x.files {
		if fields["messages"], err = spellFiles(fields["messages"]); err != nil {
			return err
		}
	}
	if body, err = json.Marshal(fields); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength = int64(len(body))
	return nil
}

// spellFiles moves the data of files to where the protocol has it.
func spellFiles(raw json.RawMessage) (json.RawMessage, error) {
	var messages []map[string]any
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, err
	}
	for _, m := range messages {
		parts, _ := m["content"].([]any)
		for _, p := range parts {
			if part, _ := p.(map[string]any); part["type"] == filePart {
				part["file"] = map[string]any{"filename": "document.pdf", "file_data": part["text"]}
				delete(part, "text")
			}
		}
	}
	return json.Marshal(messages)
}

// unreachable words a failure below HTTP.
func unreachable(err error) *ProviderError {
	e := &ProviderError{Reason: "the connection broke", Retry: true, Cause: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && op.Addr != nil {
		e.Reason = "there is no connection to " + op.Addr.String() + "; is the server running?"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		e.Reason, e.Retry = "the host "+dns.Name+" is not known", !dns.IsNotFound
	}
	return e
}

// refusal words an answer whose status is no success.
func refusal(resp *http.Response, body []byte) *ProviderError {
	e := &ProviderError{Status: resp.StatusCode, Reason: "error", After: retryAfter(resp.Header)}
	said := complaint(body)
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		e.Reason = "a redirect, which is not followed; give the address it leads to as the base URL"
	case code == 401 || code == 403:
		e.Reason = "the key was refused"
	case code == 404:
		e.Reason = "not found: check the base URL and the model"
	case code == 429 && strings.Contains(string(body), "insufficient_quota"):
		e.Reason = "the quota is spent"
	case code == 429:
		e.Reason, e.Retry = "too many requests", true
	case code == 408 || code == 409 || code == 425 || code >= 500:
		e.Reason, e.Retry = "server error", true
	default:
		e.Reason = "the request was refused"
	}
	if said != "" {
		e.Reason += ": " + said
	}
	return e
}

// complaint returns what an error body says, in whichever of the places that
// servers use, in one line; a body that is no JSON says nothing.
func complaint(body []byte) string {
	var doc struct {
		Error           json.RawMessage
		Message, Detail any
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	var inner struct {
		Message string
		Param   any
	}
	var said string
	switch {
	case json.Unmarshal(doc.Error, &inner) == nil && inner.Message != "":
		said = inner.Message
		if param, ok := inner.Param.(string); ok && param != "" && !strings.Contains(said, param) {
			said += " (" + param + ")"
		}
	case json.Unmarshal(doc.Error, &said) == nil && said != "":
	default:
		for _, v := range []any{doc.Message, doc.Detail} {
			if v != nil {
				said = fmt.Sprint(v)
				break
			}
		}
	}
	return shorten(strings.Join(strings.Fields(said), " "), maxComplaint)
}

// retryAfter reads the header in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), time.Nanosecond)
	}
	return 0
}

// loopback tells whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// asStream makes a whole answer a stream of one piece. Contents in parts and
// arguments that are objects become texts.
func asStream(body []byte) ([]byte, error) {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, &ProviderError{Reason: "the answer is no valid JSON", Retry: true, Cause: err}
	}
	if doc["error"] != nil {
		return nil, &ProviderError{Reason: "error: " + complaint(body), Retry: true}
	}
	choices, _ := doc["choices"].([]any)
	if len(choices) == 0 {
		return nil, &ProviderError{Reason: "the answer has no choices", Retry: true}
	}
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		message, _ := choice["message"].(map[string]any)
		if message == nil {
			return nil, &ProviderError{Reason: "the answer is no chat completion"}
		}
		plainTexts(message)
		choice["delta"] = message
		delete(choice, "message")
		if choice["finish_reason"] == nil {
			choice["finish_reason"] = "stop"
		}
	}
	out, err := json.Marshal(doc)
	return fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", out), err
}

func plainTexts(message map[string]any) {
	if parts, ok := message["content"].([]any); ok {
		var text strings.Builder
		for _, p := range parts {
			part, _ := p.(map[string]any)
			s, _ := part["text"].(string)
			text.WriteString(s)
		}
		message["content"] = text.String()
	}
	calls, _ := message["tool_calls"].([]any)
	for i, c := range calls {
		call, _ := c.(map[string]any)
		if call == nil {
			continue
		}
		call["index"] = i
		function, _ := call["function"].(map[string]any)
		if arguments, ok := function["arguments"].(map[string]any); ok {
			text, err := json.Marshal(arguments)
			if err == nil {
				function["arguments"] = string(text)
			}
		}
	}
}
