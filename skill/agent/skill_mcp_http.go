package agent

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// boundedHTTP is a transport that limits responses to maxMessage bytes. Event streams are
// not limited, because the SDK limits each event.
type boundedHTTP struct{}

// RoundTrip implements [http.RoundTripper].
func (boundedHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &serverBody{resp.Body, maxMessage}
	}
	return resp, err
}

// A serverBody is a body of which at most left more bytes may be read.
type serverBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *serverBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the server sent a response of more than %d bytes", maxMessage)
	}
	return n, err
}
