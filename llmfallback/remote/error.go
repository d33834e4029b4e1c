package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An Error is why a request has no usable answer.
type Error struct {
	Status  int           // of HTTP, where the endpoint refused the request; else 0
	Reason  string        // what went wrong, in words of this package
	Said    string        // the endpoint's own words, in one line; they may repeat the request or the key
	Advice  string        // what to do next; may be ""
	Retry   bool          // the same request may succeed later
	After   time.Duration // how long the endpoint asks to wait before that; 0 where it does not say
	Loading bool          // the endpoint still loads the model, and asks to wait
	TooLong bool          // the request does not fit the context window of the model
	Window  int           // that window in tokens; 0 where the endpoint does not say
	// the parameter of the request that the endpoint does not accept, or a rule that it has: see
	// [Refused]; "" for none
	Parameter string
	Class     Class  // what helps against it; "" if that is not known
	Code      string // the endpoint's own code, such as "context_length_exceeded"; may be ""
	Err       error  // the cause; may be nil
}

// Failure returns the error of an answer that says, with a success as its status, that
// the endpoint has failed; said is a text or an object, nil for neither. A status that it
// names counts as the status of the answer, but for redirects.
func Failure(said json.RawMessage) *Error {
	if said == nil {
		return &Error{Reason: failed, Retry: true}
	}
	c := read(slices.Concat([]byte(`{"error":`), said, []byte("}")))
	e := c.fault(c.status)
	if e.Class == "" {
		e.Retry = c.status < 400 || c.status >= 500
	}
	if e.Class == RateLimit {
		e.After = c.wait(time.Now())
	}
	e.Reason = failed
	return e
}

const failed = "the endpoint answered with an error"

// reasons say what went wrong, and retries are the classes where the same request may succeed.
var (
	reasons = map[Class]string{
		Quota: "the quota is spent", Login: "the key was refused", Server: "server error",
		RateLimit: "too many requests", Overflow: "the request does not fit the model's context window",
		Malformed: "the model made a call that its endpoint could not read",
	}
	retries = []Class{RateLimit, Malformed, Server}
)

// fault returns the error of a complaint with a status.
func (c complaint) fault(status int) *Error {
	e := &Error{Said: c.said, Code: c.code}
	e.Class, e.Parameter, e.Window = c.class(status)
	e.Reason = cmp.Or(reasons[e.Class], "the request was refused")
	e.TooLong, e.Retry = e.Class == Overflow, slices.Contains(retries, e.Class)
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
		e.Reason, e.Advice, e.Retry = "the host "+dns.Name+" is not known",
			"check the base URL ("+c.names.BaseURL+")", !dns.IsNotFound
	}
	return e
}

// refusal words an answer whose status is not a success.
func (c *Client) refusal(resp *http.Response, body []byte, refused func([]byte) string) *Error {
	said, code := read(body), resp.StatusCode
	e := said.fault(code)
	e.Status = code
	switch {
	case code >= 300 && code < 400:
		e.Reason, e.Advice = "a redirect, which is not followed",
			"give the address it leads to as the base URL ("+c.names.BaseURL+")"
	case e.Class == Login:
		e.Advice = "check " + c.names.Key
	case e.Class == RateLimit || e.Class == Server:
		e.After = max(c.after(resp.Header), said.wait(c.now()))
		e.Loading = code == http.StatusServiceUnavailable && loadingWords().MatchString(said.all)
	case e.Class != "" && e.Class != Refused:
	case refused != nil && e.Parameter == "" && json.Valid(body) && slices.Contains(choosy, code):
		e.Parameter = refused(body)
	}
	if code == http.StatusNotFound && e.Parameter == "" && reasons[e.Class] == "" {
		e.Reason, e.Advice = "not found", "check the base URL ("+c.names.BaseURL+
			") and the name of the model"
	}
	return e
}

// choosy are the statuses of complaints about a parameter.
var choosy = []int{400, 404, 422}

// OneLine returns the beginning of a text in one line.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}
