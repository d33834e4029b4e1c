package agent

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// boundedHTTP are requests whose answers have at most maxMessage bytes, but for
// streams of events, each of which has that limit.
type boundedHTTP struct{}

// RoundTrip is [http.RoundTripper].
func (boundedHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &serverBody{resp.Body, maxMessage}
	}
	return resp, err
}

// serverBody is a body of which left bytes may still be read.
type serverBody struct {
	io.ReadCloser
	left int
}

// Read is [io.Reader].
func (b *serverBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the server sent an answer of more than %d bytes", maxMessage)
	}
	return n, err
}
