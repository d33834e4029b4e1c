// Package web makes requests to other machines: pages as text, downloads, searches and
// screenshots. Every connection passes a [Guard], which checks the IP address that is
// connected to, also after a redirect.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// A SearchEngine is a service that [Client.Search] can use.
type SearchEngine struct {
	Kind string // one of SearchEngines
	URL  string // base address; "" means the public service, which searxng does not have
	Key  string // API key; only brave needs one
}

// Config configures a Client. The zero Config reaches public addresses only.
type Config struct {
	Egress  *egress.Policy // the hosts that may be reached; nil means all
	Private bool           // also reach private addresses, this machine included
	Hosts   []string       // hosts, with or without a port, that may be reached even if they are private
	// names that may be reached, each with the names below it, "*.NAME" for these alone; nil means all
	Domains   []string
	Search    []SearchEngine // tried in this order; nil means those that need no configuration
	Browser   Browser        // takes screenshots; may be nil
	NoSandbox bool           // run the browser without its sandbox, which root must do
}

// A Client makes the requests that its guard allows. It is safe for concurrent use.
type Client struct {
	cfg Config
	run *process.Runner
}

// New returns a Client that starts programs with run.
func New(cfg Config, run *process.Runner) *Client { return &Client{cfg, run} }

// Limits of a request.
const (
	defaultTimeout = 30 * time.Second // of an operation that sets no timeout
	maxTimeout     = 300 * time.Second
	dialTimeout    = 10 * time.Second
	headerTimeout  = 15 * time.Second
	maxRedirects   = 5
)

const userAgent = "skill/1"

func urlError(address string, err error) error { return fmt.Errorf("%s: %w", address, err) }

// A webRequest is one request and its redirects.
type webRequest struct {
	method     string
	url        string
	header     http.Header
	body       io.Reader
	hosts      []string // may be reached even if they are private, in addition to Config.Hosts
	noRedirect bool     // return a redirect instead of following it
}

// send sends a request if the guard allows it. The caller closes the response's body.
func (c *Client) send(ctx context.Context, r webRequest) (*http.Response, error) {
	g := c.guard(r.hosts)
	g.towards(r.url, c.run)
	u, err := g.parse(r.url)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), r.body)
	if err != nil {
		return nil, urlError(r.url, err)
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("User-Agent", userAgent)
	res, err := g.client(r.noRedirect).Do(req)
	if err != nil {
		return nil, urlError(r.url, webError(ctx, err))
	}
	return res, nil
}

// client returns an HTTP client that connects and redirects only as the guard allows. It
// ignores proxy settings, because a proxy would resolve names without the guard.
func (g *Guard) client(noRedirect bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           g.dial,
			DisableKeepAlives:     true,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: headerTimeout,

			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case noRedirect:
				return http.ErrUseLastResponse
			case len(via) > maxRedirects:
				return fmt.Errorf("it redirects more than %d times", maxRedirects)
			case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
				return fmt.Errorf("it redirects from https to %s", req.URL.Scheme)
			}
			return g.check(req.URL)
		},
	}
}

// withTimeout returns ctx with the timeout of an operation; 0 means defaultTimeout.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		limit = defaultTimeout
	}
	limit = min(limit, maxTimeout)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
}

// webError returns err without the method and address that package http adds to it, or
// the cause of ctx's end.
func webError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = plainURLError(err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		if refused, ok := errors.AsType[*refusal.RefusedError](op.Err); ok {
			return refused
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server closed the connection before its answer was complete")
	}
	return err
}

func plainURLError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
