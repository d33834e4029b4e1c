package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"textskill/skill/internal/refusal"
)

// Checked is the result of [Client.Check].
type Checked struct {
	URL      string
	Status   int    // HTTP status; 0 if nothing answered
	Location string // absolute address of the redirect; "" for none
	Elapsed  time.Duration
	Err      error // why nothing answered; nil if something did
}

// OK reports whether the status is a success or a redirect.
func (c Checked) OK() bool { return c.Status >= 200 && c.Status < 400 }

// Message says what the status is, or why it is missing.
func (c Checked) Message() string {
	if c.Err != nil {
		return c.Err.Error()
	}
	return fmt.Sprintf("%s answered %d %s", c.URL, c.Status, http.StatusText(c.Status))
}

// Check requests an address and returns the status. It does not follow redirects. A
// timeout of 0 means 30 seconds; the maximum is 300 seconds. If the address may not be
// reached, the error is a [*refusal.RefusedError].
func (c *Client) Check(ctx context.Context, address string, timeout time.Duration) (Checked, error) {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	begin := time.Now()
	r := Checked{URL: address}
	res, err := c.send(ctx, webRequest{method: http.MethodHead, url: address, noRedirect: true})
	if err == nil && (res.StatusCode == http.StatusMethodNotAllowed ||
		res.StatusCode == http.StatusNotImplemented) {
		res.Body.Close()
		res, err = c.send(ctx, webRequest{method: http.MethodGet, url: address, noRedirect: true,
			header: http.Header{"Range": {"bytes=0-0"}}})
	}
	r.Elapsed = time.Since(begin)
	if err != nil {
		if errors.As(err, new(*refusal.RefusedError)) {
			return Checked{}, err
		}
		r.Err = err
		return r, nil
	}
	res.Body.Close()
	r.Status = res.StatusCode
	if to, err := res.Location(); err == nil {
		r.Location = to.String()
	}
	return r, nil
}
