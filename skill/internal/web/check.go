package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Checked is what an address answered.
type Checked struct {
	URL      string
	Status   int    // of HTTP; 0 where nothing answered
	Location string // where it redirects to, whole; "" if it does not
	Elapsed  time.Duration
	Err      error // why nothing answered; nil where something did
}

// OK reports whether it answered with a success or a redirect.
func (c Checked) OK() bool { return c.Status >= 200 && c.Status < 400 }

// Message tells the status.
func (c Checked) Message() string {
	if c.Err != nil {
		return c.Err.Error()
	}
	return fmt.Sprintf("%s answered %d %s", c.URL, c.Status, http.StatusText(c.Status))
}

// Check asks whether an address answers. It follows no redirect. A timeout of 0 means
// 30 seconds; more than 300 are not waited. What may not be reached is an
// [*AddressError].
func (c *Client) Check(ctx context.Context, address string, timeout time.Duration) (Checked, error) {
	ctx, cancel := deadline(ctx, timeout)
	defer cancel()
	begin := time.Now()
	r := Checked{URL: address}
	res, err := c.send(ctx, webRequest{method: http.MethodHead, url: address, stay: true})
	if err == nil && (res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotImplemented) {
		res.Body.Close()
		res, err = c.send(ctx, webRequest{method: http.MethodGet, url: address, stay: true, header: http.Header{"Range": {"bytes=0-0"}}})
	}
	r.Elapsed = time.Since(begin)
	if err != nil {
		var refused *AddressError
		if errors.As(err, &refused) {
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
