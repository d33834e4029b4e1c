// Package web reaches other machines: pages as text, downloads, searches, pictures
// of pages. Whatever asks for an address goes through a [Guard], which judges the
// address that is connected to, on each redirect too.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"textskill/skill/internal/process"
)

// A SearchEngine is where [Client.Search] asks.
type SearchEngine struct {
	Kind string // one of SearchEngines
	URL  string // of the service; "" is the engine's own, which searxng does not have
	Key  string // for brave
}

// Config is what a Client needs to know of the world.
type Config struct {
	Private   bool           // let requests reach private addresses too, this machine included
	Hosts     []string       // names or addresses that may be reached though they are private
	Search    []SearchEngine // asked in this order; none means those that take no configuration
	Browser   Browser        // takes screenshots; may be nil
	NoSandbox bool           // let the browser run without its sandbox, as root has to
}

// A Client asks the web, as far as the guard lets it. It is safe for concurrent use.
type Client struct {
	cfg Config
	run *process.Runner
	dir string // the workspace's
}

// New returns a Client that starts programs with run, in the workspace dir.
func New(cfg Config, run *process.Runner, dir string) *Client { return &Client{cfg, run, dir} }

// How long the web is waited for, and how far it may lead.
const (
	webTimeout    = 30 * time.Second // of an operation that sets none
	webLongest    = 300 * time.Second
	dialTimeout   = 10 * time.Second
	headerTimeout = 15 * time.Second
	maxRedirects  = 5
)

// webAgent is what servers are told of this program.
const webAgent = "skill/1"

// urlError says what is wrong with an address, or with what became of it.
func urlError(address string, err error) error { return fmt.Errorf("%s: %w", address, err) }

// A statusError reports an HTTP status that is no success.
type statusError struct {
	Status  int
	Excerpt string // the beginning of what the server said, "" if it was no text
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Excerpt != "" {
		text += ": " + e.Excerpt
	}
	return text
}

// webRequest is one request, its redirects included.
type webRequest struct {
	method string
	url    string
	header http.Header
	body   io.Reader
	hosts  []string // may be reached though they are private, besides Config.Hosts
	stay   bool     // a redirect is the answer, and is not followed
}

// send sends a request to where the guard lets it go. The caller closes the body.
func (c *Client) send(ctx context.Context, r webRequest) (*http.Response, error) {
	g := c.guard(r.hosts)
	u, err := g.parse(r.url)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), r.body)
	if err != nil {
		return nil, urlError(r.url, err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", webAgent)
	res, err := g.client(r.stay).Do(req)
	if err != nil {
		return nil, urlError(r.url, webError(ctx, err))
	}
	return res, nil
}

// client follows redirects as far as the guard lets them lead. It knows no proxy:
// one would resolve names out of the guard's sight.
func (g *Guard) client(stay bool) *http.Client {
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
			case stay:
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

// deadline ends ctx when an operation's time is up.
func deadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		limit = webTimeout
	}
	limit = min(limit, webLongest)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
}

// webError says what went wrong without the method and address that package http
// sets before it.
func webError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = plainURLError(err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		var refused *AddressError
		if errors.As(op.Err, &refused) {
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
