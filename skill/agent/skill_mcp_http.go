package agent

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// boundedHTTP is a transport that limits responses to maxMessage bytes. Event streams are
// not limited, because the SDK limits each event.
type boundedHTTP struct {
	endpoint string      // of the server
	origin   string      // where the headers are sent, as SCHEME://HOST
	header   http.Header // may be nil
}

// RoundTrip implements [http.RoundTripper].
func (b boundedHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.header != nil && r.URL.Scheme+"://"+r.URL.Host == b.origin {
		r = r.Clone(r.Context())
		for name, values := range b.header {
			r.Header[name] = values
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if d, ok := r.Context().Value(deliveryKey{}).(*delivery); ok {
		d.note(r, b.endpoint, resp)
	}
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &serverBody{resp.Body, maxMessage}
	}
	return resp, err
}

// client returns what asks the endpoint of a skill: with its headers and its token, which no
// redirect takes elsewhere.
func (c SkillConfig) client(getenv func(string) string) *http.Client {
	transport := boundedHTTP{endpoint: c.Endpoint, header: http.Header{}}
	if u, err := url.Parse(c.Endpoint); err == nil {
		transport.origin = u.Scheme + "://" + u.Host
	}
	for name, variable := range c.EnvHeaders {
		transport.header.Set(name, getenv(variable))
	}
	if c.BearerTokenEnv != "" {
		transport.header.Set("Authorization", "Bearer "+getenv(c.BearerTokenEnv))
	}
	client := &http.Client{Transport: transport}
	if len(transport.header) > 0 {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client
}

// checkCredentials refuses headers that cannot be sent, or that would be sent in the clear.
func (c SkillConfig) checkCredentials() error {
	names := c.credentials()
	if len(names) == 0 {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	ip := net.ParseIP(u.Hostname())
	if loopback := strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback(); err != nil ||
		u.Scheme != "https" && !loopback {
		return errors.New("bearerTokenEnv and envHeaders are sent over https, or to this machine; use an https endpoint")
	}
	for name := range c.EnvHeaders {
		if name == "" || strings.Trim(name, runIDChars) != "" {
			return fmt.Errorf("envHeaders: %q is not the name of a header", name)
		}
	}
	if slices.Contains(names, "") {
		return errors.New("envHeaders: each header has the name of an environment variable, which holds its value")
	}
	return nil
}

// credentials returns the names of the variables that the endpoint is sent.
func (c SkillConfig) credentials() []string {
	var names []string
	for _, header := range slices.Sorted(maps.Keys(c.EnvHeaders)) {
		names = append(names, c.EnvHeaders[header])
	}
	if c.BearerTokenEnv != "" {
		names = append(names, c.BearerTokenEnv)
	}
	return names
}

// A serverBody is a body from which at most left more bytes are read.
type serverBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *serverBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errLongMessage
	}
	return n, err
}
