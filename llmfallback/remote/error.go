package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Error is why a request has no usable answer.
type Error struct {
	Status    int           // of HTTP, where the endpoint refused the request; else 0
	Reason    string        // what went wrong, in words of this package
	Said      string        // the endpoint's own words, in one line; they may repeat the request or the key
	Advice    string        // what to do next; may be ""
	Retry     bool          // the same request may succeed later
	After     time.Duration // how long the endpoint asks to wait before that; 0 where it does not say
	TooLong   bool          // the request does not fit the context window of the model
	Window    int           // that window in tokens; 0 where the endpoint does not say
	Parameter string        // the parameter of the request that the endpoint does not accept; "" for none
	Err       error         // the cause; may be nil
}

// Failure returns the error of an answer that says, with a success as its status, that
// the endpoint has failed; said is a text or an object, nil for neither.
func Failure(said json.RawMessage) *Error {
	e := &Error{Reason: "the endpoint answered with an error", Retry: true}
	if said != nil {
		e.Said = words(said)
		e.TooLong, e.Window = tooLong(e.Said)
		e.Retry = !e.TooLong
	}
	return e
}

// Error returns "REASON: SAID (status N); ADVICE", as far as there is any.
func (e *Error) Error() string {
	text := e.Reason
	if e.Said != "" {
		text += ": " + e.Said
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// broken words a failure of the connection. A context that is done is final.
func (c *Client) broken(ctx context.Context, reason string, err error) *Error {
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return &Error{Reason: "no answer in time", Err: ctx.Err()}
	case context.Canceled:
		return &Error{Reason: "the request was canceled", Err: ctx.Err()}
	}
	if fault, ok := errors.AsType[*Error](err); ok {
		return fault
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Reason: fmt.Sprintf("the answer is larger than %d MiB", large.Limit>>20), Err: err}
	}
	e := &Error{Reason: reason, Retry: true, Err: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && op.Addr != nil {
		e.Reason, e.Advice = "there is no connection to "+op.Addr.String(), "is the server running?"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		e.Reason, e.Advice, e.Retry = "the host "+dns.Name+" is not known", "check the base URL ("+c.names.BaseURL+")", !dns.IsNotFound
	}
	return e
}

const doesNotFit = "the request does not fit the model's context window"

// refusal words an answer whose status is not a success.
func (c *Client) refusal(resp *http.Response, body []byte, refused func([]byte) string) *Error {
	e := &Error{Status: resp.StatusCode, Said: complaint(body), After: c.after(resp.Header, body)}
	code := resp.StatusCode
	// Other texts of 429 are of the tokens of a minute, which are no window.
	if code >= 400 && code != 401 && code != 403 && (code != 429 || strings.Contains(e.Said, "equest too large")) {
		e.TooLong, e.Window = tooLong(e.Said)
	}
	switch {
	case code >= 300 && code < 400:
		e.Reason, e.Advice = "a redirect, which is not followed", "give the address it leads to as the base URL ("+c.names.BaseURL+")"
	case code == 401 || code == 403:
		e.Reason, e.Advice = "the key was refused", "check "+c.names.Key
	case code == 429 && bytes.Contains(body, []byte("insufficient_quota")):
		e.Reason = "the quota is spent"
	case e.TooLong && (code == 429 || code >= 500):
		e.Reason = doesNotFit
	case code == 429:
		e.Reason, e.Retry = "too many requests", true
	case code == 408 || code == 409 || code == 425 || code >= 500:
		e.Reason, e.Retry = "server error", true
	default:
		e.Reason = "the request was refused"
		if e.TooLong {
			e.Reason = doesNotFit
		}
		if code == 400 || code == 404 || code == 422 {
			if refused != nil && json.Valid(body) {
				e.Parameter = refused(body)
			}
		}
		if code == 404 && e.Parameter == "" {
			e.Reason, e.Advice = "not found", "check the base URL ("+c.names.BaseURL+") and the name of the model"
		}
	}
	return e
}

// tooLong reports whether a complaint is that the request does not fit the context
// window, and the size of the window if it is named.
func tooLong(said string) (yes bool, window int) {
	if !tooLongWords().MatchString(said) {
		return false, 0
	}
	if m := windowNumber().FindStringSubmatch(said); m != nil {
		window, _ = strconv.Atoi(strings.ReplaceAll(cmp.Or(m[1], m[2], m[3]), ",", ""))
	}
	return true, window
}

var tooLongWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)context.?(length|window|size|limit)|(prompt|input) is too long|too many (input )?tokens|maximum (number of )?(input )?tokens|` +
		`maximum (prompt|model) length|(input|prompt) token count|input length should|model token limit|less than \d+ tokens|max_new_tokens|reduce the length|request too large for`)
})

// windowNumber finds the larger window in "maximum context length is 8192 tokens", "213462
// tokens > 200000 maximum", "exceeds the available context size (4096 tokens)", "with 32768
// maximum context length".
var windowNumber = sync.OnceValue(func() *regexp.Regexp {
	const number = `(\d[\d,]{2,})`
	return regexp.MustCompile(`(?i)(?:max(?:imum)?(?: number of)?(?: input)? tokens(?: allowed)?|(?:context|prompt|model) length|context window|context size|n_ctx)(?: of| is|:|=| \(| for this model is| only)*\s*` + number +
		`|(?:> |<= |less than |cannot exceed |\[1, |\blimit: \d+ \+ \d+ > |\blimit(?: of| is|:)* )` + number +
		`|` + number + ` (?:tokens? )?(?:context|limit|maximum)`)
})

// complaint returns what an error body says, in whichever of the places that
// servers use. A body that is not JSON says nothing.
func complaint(body []byte) string {
	var doc struct{ Error, Message, Detail *json.RawMessage }
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	raw := cmp.Or(doc.Error, doc.Message, doc.Detail)
	if raw == nil {
		return ""
	}
	return words(*raw)
}

// words returns what a server says of an error: a text, the message of an
// object with the parameter that it is about and the window that llama.cpp names beside it,
// or the JSON of anything else.
func words(raw json.RawMessage) string {
	var text string
	var object struct {
		Message, Param string
		Window         json.RawMessage `json:"n_ctx"`
	}
	switch {
	case json.Unmarshal(raw, &text) == nil:
	case json.Unmarshal(raw, &object) == nil && object.Message != "":
		text = object.Message
		if !strings.Contains(text, object.Param) {
			text += " (" + object.Param + ")"
		}
		if object.Window != nil {
			text += " (n_ctx " + string(object.Window) + ")"
		}
	default:
		text = string(raw)
	}
	return OneLine(text)
}

// OneLine returns the beginning of a text in one line.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

// after returns how long the endpoint asks to wait: in a header, or as Google's do.
func (c *Client) after(h http.Header, body []byte) time.Duration {
	if d := retryAfter(h, c.now()); d > 0 {
		return d
	}
	if m := retryDelay().FindSubmatch(body); m != nil {
		seconds, _ := strconv.ParseFloat(string(m[1]), 64)
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	return 0
}

var retryDelay = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"retryDelay":\s*"(\d+(?:\.\d+)?)s"`)
})

// retryAfter reads the header in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), time.Nanosecond)
	}
	return 0
}
