package skill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// CheckURL asks whether an address of the web answers. It follows no redirect.
type CheckURL struct {
	URL     string
	Timeout time.Duration // 0 means 30 seconds; more than 300 are not waited
}

func (CheckURL) op() {}

// Checked is what an address answered.
type Checked struct {
	URL      string
	Status   int    // of HTTP; 0 where nothing answered
	Location string // where it redirects to, whole; "" if it does not
	Elapsed  time.Duration
	Err      error // why nothing answered; nil where something did
}

// OK tells whether it answered with a success or a redirect.
func (c Checked) OK() bool { return c.Status >= 200 && c.Status < 400 }

// Message tells the status.
func (c Checked) Message() string {
	if c.Err != nil {
		return c.Err.Error()
	}
	return fmt.Sprintf("%s answered %d %s", c.URL, c.Status, http.StatusText(c.Status))
}

func (x *Executor) checkURL(ctx context.Context, a CheckURL) (Result, error) {
	if err := x.mayReach(); err != nil {
		return nil, err
	}
	ctx, cancel := deadline(ctx, a.Timeout)
	defer cancel()
	begin := time.Now()
	c := Checked{URL: a.URL}
	res, err := x.send(ctx, webRequest{method: http.MethodHead, url: a.URL, stay: true})
	if err == nil && (res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotImplemented) {
		res.Body.Close()
		res, err = x.send(ctx, webRequest{method: http.MethodGet, url: a.URL, stay: true, header: http.Header{"Range": {"bytes=0-0"}}})
	}
	c.Elapsed = time.Since(begin)
	if err != nil {
		var refused *AddressError
		if errors.As(err, &refused) {
			return nil, err
		}
		c.Err = err
		return c, nil
	}
	res.Body.Close()
	c.Status = res.StatusCode
	if to, err := res.Location(); err == nil {
		c.Location = to.String()
	}
	return c, nil
}
