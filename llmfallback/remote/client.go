// Package remote asks language models over HTTP. It knows no protocol: a package of one
// writes the JSON of the request and reads the JSON of the answer, which comes whole or as
// a stream of events.
//
// Every failure is an [*Error], which says what went wrong, what to do next, and whether
// and when the same request may succeed. A [Client] never repeats a request itself and
// never follows a redirect.
package remote

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxAnswer bounds what is read of an answer, in bytes after decompression. It
// is far above what a model writes, and keeps an endless answer out of memory.
const MaxAnswer = 16 << 20

// A Config says where an endpoint is and how to reach it.
type Config struct {
	BaseURL string                   // of the API
	Path    func(path string) string // completes the path of the base URL; nil leaves it as it is
	Header  http.Header              // of all requests
	// the header holds a key, which is sent over https or to this machine only
	Keyed bool
	Names Names

	Transport      http.RoundTripper // nil means one of its own
	ConnectTimeout time.Duration     // for a connection of its own transport; 0 means 10 s
	Now            func() time.Time  // dates in Retry-After are compared with it; nil means [time.Now]
}

// Names are what advice to the user is worded with.
type Names struct {
	BaseURL string // the variable, flag or setting of the base URL
	Key     string // the variable of the key
	Example string // a base URL
}

// A Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	base   string
	header http.Header
	names  Names
	now    func() time.Time
	http   *http.Client
}

// New returns a client, or an error that says what is wrong with the base URL
// or that the key would be sent in the clear.
func New(c Config) (*Client, error) {
	base, err := c.baseURL()
	if err != nil {
		return nil, err
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: cmp.Or(c.ConnectTimeout, 10*time.Second)}).DialContext
		c.Transport = t
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Client{base, c.Header, c.Names, c.Now, &http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// BaseURL returns the address of the API, completed.
func (c *Client) BaseURL() string { return c.base }

// baseURL completes the address of an endpoint and refuses one that must not
// be used. Its errors do not repeat the address, which may hold a password.
func (c Config) baseURL() (string, error) {
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("the base URL (%s) is not an address; it looks like %s", c.Names.BaseURL,
			c.Names.Example)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("the base URL (%s) has a user, a query or a fragment; leave them out and give a key as %s", c.Names.BaseURL, c.Names.Key)
	case u.Scheme == "http" && c.Keyed && !Loopback(u.Hostname()):
		return "", fmt.Errorf("a key is not sent over plain http to %s; use https, or give no key", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if c.Path != nil {
		u.Path = c.Path(u.Path)
	}
	return u.String(), nil
}

// Loopback reports whether a host is this machine. Names below localhost are
// not: a name server may send them anywhere.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// A Request is what a protocol sends.
type Request struct {
	Path   string // added to the base URL; may have a query
	Body   Body
	Stream bool // the answer may come in pieces

	// Refused returns the parameter that a complaint of the endpoint is about, "" for
	// none. It may be nil.
	Refused func(complaint []byte) string

	// Heard is called for each sign of life of the endpoint. It may be nil.
	Heard func()
}

// A Reply is an answer whose status is a success.
type Reply struct {
	Status int           // of HTTP; also set where there is an error; 0 where no answer came
	Bytes  int           // of an answer that came whole
	whole  []byte        // JSON; nil for a stream
	stream io.ReadCloser // of events; nil for an answer that came whole
}

// Ask sends a request and calls each with the data of every event, "[DONE]" and nil for the end
// of the stream included, or with an answer that came whole. A stream that ends before each says
// that the answer is complete is an error. It is read to its end all the same, so that its
// connection serves the next request. Errors of each are returned as they are.
func (c *Client) Ask(ctx context.Context, r Request,
	each func(data []byte, whole bool) (complete bool, err error)) (Reply, error) {
	reply, err := c.send(ctx, r)
	if err != nil {
		return reply, err
	}
	if reply.stream == nil {
		complete, err := each(reply.whole, true)
		if err == nil && !complete {
			err = &Error{Reason: cut, Retry: true}
		}
		return reply, err
	}
	defer reply.stream.Close()
	return reply, c.events(ctx, reply.stream, func(data []byte) (bool, error) { return each(data, false) })
}

// send sends a request and returns the answer, or an error for one that no protocol can read.
func (c *Client) send(ctx context.Context, r Request) (reply Reply, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+r.Path, r.Body.reader())
	if err != nil {
		return reply, &Error{Reason: "the address of the request cannot be used", Err: err}
	}
	maps.Copy(request.Header, c.header)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if r.Stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	request.ContentLength = r.Body.size()
	request.GetBody = func() (io.ReadCloser, error) { return r.Body.reader(), nil }
	resp, err := c.http.Do(request)
	if err != nil {
		return reply, c.broken(ctx, "the connection broke", err)
	}
	reply.Status = resp.StatusCode
	resp.Body = http.MaxBytesReader(nil, resp.Body, MaxAnswer)
	if r.Heard != nil {
		resp.Body = &listener{ReadCloser: resp.Body, heard: r.Heard}
	}
	success := resp.StatusCode >= 200 && resp.StatusCode <= 299
	isStream, isJSON := form(resp, success, r.Stream)
	if success && isStream && r.Stream {
		reply.stream = resp.Body
		return reply, nil
	}
	defer resp.Body.Close()
	switch {
	case success && isStream:
		return reply, &Error{Reason: "the answer is a stream of events, which was not asked for",
			Advice: "set the endpoint to answer whole, with stream off"}
	case success && !isJSON:
		return reply, &Error{Reason: "the answer is not JSON", Advice: "check that the base URL (" +
			c.names.BaseURL + ") is the address of the API"}
	}
	reply.whole, err = io.ReadAll(resp.Body)
	reply.Bytes = len(reply.whole)
	switch {
	case !success:
		return reply, c.refusal(resp, reply.whole, r.Refused)
	case err != nil:
		return reply, c.broken(ctx, cut, err)
	}
	return reply, nil
}

// form says whether an answer is a stream of events or JSON. The beginning of a successful answer
// decides before its content type.
func form(resp *http.Response, success, streams bool) (isStream, isJSON bool) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON = kind == "application/json" || strings.HasSuffix(kind, "+json")
	if !success || isJSON && !streams {
		return false, isJSON
	}
	body := bufio.NewReader(resp.Body)
	events, looksJSON := sniff(body)
	resp.Body = &bufferedBody{body, resp.Body}
	events = !looksJSON && (events || kind == "text/event-stream")
	return events || streams && slices.Contains(jsonLines, kind), isJSON || looksJSON
}

// jsonLines are the types of a stream whose events are lines of JSON.
var jsonLines = []string{"application/x-ndjson", "application/ndjson", "application/jsonl",
	"application/x-jsonlines"}

// A bufferedBody is a body whose beginning was read.
type bufferedBody struct {
	*bufio.Reader
	io.Closer
}

// sniff says what an answer begins as, whatever its type says: as a stream of events, or as
// JSON.
func sniff(body *bufio.Reader) (isStream, isJSON bool) {
	begin, err := body.Peek(1)
	for n := 2; n <= 1024 && err == nil && strings.Trim(string(begin), "\ufeff\r\n\t ") == ""; n++ {
		begin, err = body.Peek(n)
	}
	if err == nil {
		begin, _ = body.Peek(len(begin) + len("\ufeffevent"))
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(begin), "\ufeff"), " \t\r\n")
	return fieldName().MatchString(text), text != "" && (text[0] == '{' || text[0] == '[')
}

var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:data|event|id|retry)?:`) })
