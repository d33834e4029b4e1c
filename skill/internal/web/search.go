package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/words"
)

// A Query is a web search.
type Query struct {
	Query     string
	Count     int           // maximum number of results, at most 20; 0 or less means no search
	Freshness string        // "day", "week", "month", "year"; "" for any age
	Language  string        // such as "en"; "" for any
	Timeout   time.Duration // 0 means 30 seconds; the maximum is 300 seconds
}

// Searched is the result of a search. Callers treat its texts as untrusted data.
type Searched struct {
	Query  string
	Hits   []Hit
	Engine string   // kind of the engine that answered; "" if none was asked
	Failed []string // the engines that failed before it, each with the reason
}

// A Hit is one result of a search.
type Hit struct {
	Title, URL, Snippet string
	Published           string // date or age as the engine writes it; "" if unknown
}

// Message says how many results there are.
func (r Searched) Message() string {
	return fmt.Sprintf("%s for %q", words.Count(len(r.Hits), "result", "results"), r.Query)
}

// SearchEngines lists the kinds of search engines. brave-search is a program of that
// name; the others are HTTP services.
var SearchEngines = []string{"brave", "searxng", "brave-search", "duckduckgo"}

// maxHits is the maximum number of results of one search.
const maxHits = 20

// Search returns the results of the first search engine that answers. The engine
// brave-search runs as a program in the workspace.
func (c *Client) Search(ctx context.Context, a Query) (Searched, error) {
	r := Searched{Query: a.Query}
	if a.Count <= 0 {
		return r, nil
	}
	a.Count = min(a.Count, maxHits)
	ctx, cancel := withTimeout(ctx, a.Timeout)
	defer cancel()
	var failed error
	for _, e := range c.searchEngines() {
		hits, err := c.searchWith(ctx, e, a)
		if err == nil {
			r.Engine, r.Hits = e.Kind, hits[:min(len(hits), a.Count)]
			return r, nil
		}
		failed = fmt.Errorf("%s: %w", e.Kind, err)
		r.Failed = append(r.Failed, failed.Error())
	}
	if len(r.Failed) == 1 {
		return r, failed
	}
	return r, fmt.Errorf("no search engine answered: %s", strings.Join(r.Failed, "; "))
}

// searchEngines returns the configured engines, or else the program brave-search, if
// installed, and the engine that needs no key.
func (c *Client) searchEngines() []SearchEngine {
	if len(c.cfg.Search) > 0 {
		return c.cfg.Search
	}
	list := []SearchEngine{{Kind: "duckduckgo"}}
	if _, err := c.run.FindProgram("brave-search"); err == nil {
		list = slices.Insert(list, 0, SearchEngine{Kind: "brave-search"})
	}
	return list
}

func (c *Client) searchWith(ctx context.Context, e SearchEngine, a Query) ([]Hit, error) {
	switch e.Kind {
	case "brave":
		return c.searchBrave(ctx, e, a)
	case "searxng":
		return c.searchSearXNG(ctx, e, a)
	case "brave-search":
		return c.searchProgram(ctx, a)
	case "duckduckgo":
		return c.searchDuckDuckGo(ctx, e, a)
	}
	return nil, fmt.Errorf("unknown search engine; choose one of %s", strings.Join(SearchEngines, ", "))
}

// maxRetryAfter is the longest Retry-After that a search waits for.
const maxRetryAfter = 5 * time.Second

// query sends a request to a search engine and returns the body of the response. The
// engine may be at a private address, because the configuration names it. After a 429 it
// waits as long as the engine asks and tries once more.
func (c *Client) query(ctx context.Context, r webRequest, body string) ([]byte, error) {
	if u, err := url.Parse(r.url); err == nil {
		r.hosts = []string{u.Host}
	}
	for first := true; ; first = false {
		if body != "" {
			r.body = strings.NewReader(body)
		}
		res, err := c.send(ctx, r)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
		res.Body.Close()
		switch {
		case err != nil:
			return nil, webError(ctx, err)
		case res.StatusCode == http.StatusTooManyRequests && first &&
			waitRetryAfter(ctx, res.Header.Get("Retry-After")):
			continue
		case res.StatusCode >= 400:
			return nil, badStatus(res, data)
		}
		return data, nil
	}
}

// waitRetryAfter waits as long as a Retry-After header says. It returns false without
// waiting if that is too long.
func waitRetryAfter(ctx context.Context, header string) bool {
	seconds, err := strconv.Atoi(header)
	if err != nil {
		seconds = 1
	}
	wait := time.Duration(seconds) * time.Second
	if wait > maxRetryAfter {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// endpoint returns an engine's address with a query: defaultURL, or path below e.URL if
// that is set.
func (e SearchEngine) endpoint(defaultURL, path string, q url.Values) (string, error) {
	base := defaultURL
	if e.URL != "" {
		base = strings.TrimSuffix(e.URL, "/") + path
	}
	if base == "" {
		return "", errors.New("its address is not set; set it with --search " + e.Kind + "=URL")
	}
	if len(q) == 0 {
		return base, nil
	}
	return base + "?" + q.Encode(), nil
}
