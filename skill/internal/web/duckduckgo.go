package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func (c *Client) searchDuckDuckGo(ctx context.Context, e SearchEngine, a Query) ([]Hit, error) {
	form := url.Values{"q": {a.Query}}
	if a.Freshness != "" {
		form.Set("df", a.Freshness[:1])
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if a.Language != "" {
		header.Set("Accept-Language", a.Language)
	}
	address, err := e.endpoint("https://html.duckduckgo.com/html/", "/html/", nil)
	if err != nil {
		return nil, err
	}
	data, err := c.query(ctx, webRequest{method: http.MethodPost, url: address, header: header},
		form.Encode())
	if err != nil {
		return nil, err
	}
	hits := duckDuckGoHits(data)
	if len(hits) == 0 && isChallenge(data) {
		return nil, errors.New("it takes this program for a robot and answers no results; another engine can be named with --search")
	}
	return hits, nil
}

// isChallenge reports whether a page is a test against robots instead of results.
func isChallenge(page []byte) bool {
	return bytes.Contains(page, []byte("anomaly-modal")) || bytes.Contains(page, []byte("challenge-form"))
}

// duckDuckGoHits returns the results in a page of the HTML service or its lite version.
// It depends on class names only, not on the elements around them.
func duckDuckGoHits(page []byte) (hits []Hit) {
	z := html.NewTokenizer(bytes.NewReader(page))
	var hit *Hit // the result that the next snippet belongs to, or nil
	for {
		switch z.Next() {
		case html.ErrorToken:
			return hits
		case html.StartTagToken:
		default:
			continue
		}
		n := z.Token()
		switch {
		case hasClass(n, "result__snippet", "result-snippet"):
			if text := textUntil(z, n.Data); hit != nil {
				hit.Snippet = text
			}
			hit = nil
		case n.DataAtom == atom.A &&
			(hasClass(n, "result__a", "result-link") || attr(n.Attr, "rel") == "nofollow"):
			hit = nil
			if to := resultURL(attr(n.Attr, "href")); to != "" {
				hits = append(hits, Hit{Title: textUntil(z, n.Data), URL: to})
				hit = &hits[len(hits)-1]
			}
		}
	}
}

// resultURL returns the target of a result's link, "" for links within the engine, such
// as advertisements.
func resultURL(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" && (u.Host == "" || isDuckDuckGo(u)) {
		if u, err = url.Parse(to); err != nil {
			return ""
		}
	}
	if u.Scheme != "http" && u.Scheme != "https" || isDuckDuckGo(u) {
		return ""
	}
	return u.String()
}

func isDuckDuckGo(u *url.URL) bool {
	return u.Hostname() == "duckduckgo.com" || strings.HasSuffix(u.Hostname(), ".duckduckgo.com")
}

func hasClass(n html.Token, any ...string) bool {
	return slices.ContainsFunc(strings.Fields(attr(n.Attr, "class")),
		func(c string) bool { return slices.Contains(any, c) })
}

// textUntil returns the text up to the end of the current element, with runs of white
// space replaced by one space.
func textUntil(z *html.Tokenizer, element string) string {
	var b strings.Builder
	for {
		switch z.Next() {
		case html.TextToken:
			b.Write(z.Text())
			continue
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) != element {
				continue
			}
		case html.ErrorToken:
		default:
			continue
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
}
