package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"textskill/skill/internal/words"
)

// Fetched is a page as text, or a part of it. Callers treat it as untrusted data.
type Fetched struct {
	URL     string // the last one, after redirects
	Status  int
	Type    string // media type that the server sent
	Title   string
	Content string
	Total   int    // characters of the whole text; set by Page
	Next    int    // index of the first character after Content, 0 at the end; set by Page
	Cut     bool   // the page is larger than 5 MiB, and the rest was not read
	Note    string // why a browser may show more, "" if nothing suggests it
}

// Message says how many characters were fetched.
func (f Fetched) Message() string {
	return fmt.Sprintf("fetched %s of %s", words.Count(utf8.RuneCountInString(f.Content), "character",
		"characters"), f.URL)
}

// Limits on what is read of a response.
const (
	maxPage    = 5 << 20
	maxExcerpt = 300
)

// Fetch returns a page as text: unless raw is set, HTML is converted to Markdown, and
// JSON is indented. A timeout of 0 means 30 seconds; the maximum is 300 seconds.
func (c *Client) Fetch(ctx context.Context, address string, raw bool, timeout time.Duration) (f Fetched,
	err error) {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	res, err := c.send(ctx, webRequest{method: http.MethodGet, url: address, header: http.Header{
		"Accept": {"text/html,application/xhtml+xml;q=0.9,text/*;q=0.8,application/json;q=0.8,*/*;q=0.1"}}})
	if err != nil {
		return f, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPage+1))
	if err != nil {
		return f, urlError(address, webError(ctx, err))
	}
	if res.StatusCode >= 400 {
		return f, urlError(address, badStatus(res, data))
	}
	f = Fetched{URL: res.Request.URL.String(), Status: res.StatusCode, Cut: len(data) > maxPage}
	if err := f.read(data[:min(len(data), maxPage)], res.Header.Get("Content-Type"), raw); err != nil {
		return f, urlError(address, err)
	}
	return f, nil
}

var errForbidden = errors.New("the server answered 403 Forbidden")

// badStatus returns the error for a status other than success, with an excerpt of the
// response, if that is text. A 403 is errForbidden.
func badStatus(res *http.Response, data []byte) error {
	err := errForbidden
	if res.StatusCode != http.StatusForbidden {
		err = fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	}
	f := Fetched{URL: res.Request.URL.String()}
	if f.read(data[:min(len(data), maxPage)], res.Header.Get("Content-Type"), false) != nil {
		return err
	}
	text := strings.Join(strings.Fields(f.Content), " ")
	if r := []rune(text); len(r) > maxExcerpt {
		text = string(r[:maxExcerpt]) + "…"
	}
	if text == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}

// read sets Type, Title, Content and Note from the body of a response.
func (f *Fetched) read(data []byte, contentType string, raw bool) error {
	if contentType == "" {
		contentType = http.DetectContentType(data)
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && kind == "" {
		kind = http.DetectContentType(data)
	}
	f.Type = kind
	isHTML := kind == "text/html" || kind == "application/xhtml+xml"
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	if !isHTML && !isJSON && !isText(kind, data) {
		return fmt.Errorf("%s is not text; download saves it to a file", kind)
	}
	if text, err := charset.NewReader(bytes.NewReader(data), contentType); err == nil {
		if data, err = io.ReadAll(text); err != nil {
			return err
		}
	}
	f.Content = strings.ToValidUTF8(string(data), "\uFFFD")
	switch {
	case isHTML && !raw:
		return f.readHTML()
	case isJSON && !raw:
		var b bytes.Buffer
		if json.Indent(&b, []byte(f.Content), "", "  ") == nil {
			f.Content = b.String()
		}
	}
	return nil
}

// isText reports whether data of a media type other than HTML and JSON is text.
func isText(kind string, data []byte) bool {
	if bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 && !strings.HasPrefix(kind, "text/") {
		return false
	}
	switch kind {
	case "application/xml", "application/javascript", "application/x-javascript", "application/yaml",
		"application/x-yaml",
		"application/toml", "application/x-sh", "application/x-ndjson", "application/sql", "application/rtf",
		"image/svg+xml":
		return true
	case "application/octet-stream":
		return utf8.Valid(data) && len(data) > 0
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml")
}

// Page reduces Content to the size characters from index start on.
func (f *Fetched) Page(start, size int) {
	runes := []rune(f.Content)
	f.Total = len(runes)
	start = min(start, f.Total)
	end := min(start+min(size, f.Total), f.Total)
	f.Content = string(runes[start:end])
	if end < f.Total {
		f.Next = end
	}
}
