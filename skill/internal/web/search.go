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

	"textskill/skill/internal/process"
	"textskill/skill/internal/words"
)

// A Query is what a search engine is asked.
type Query struct {
	Query     string
	Count     int           // results wanted, 20 at most; 0 or less is none
	Freshness string        // "day", "week", "month", "year"; "" for any age
	Language  string        // like "en"; "" for any
	Timeout   time.Duration // 0 means 30 seconds; more than 300 are not waited
}

// Searched is what a search engine found. The texts were written by strangers:
// data, not advice.
type Searched struct {
	Query  string
	Hits   []Hit
	Engine string   // that answered; "" where none was asked
	Failed []string // the engines asked before it, with the reason
}

// Hit is one result of a search.
type Hit struct {
	Title, URL, Snippet string
	Published           string // as the engine writes it; "" where it does not say
}

// Message counts the results.
func (r Searched) Message() string {
	return fmt.Sprintf("%s for %q", words.Count(len(r.Hits), "result", "results"), r.Query)
}

// SearchEngines are the kinds of search engines. The one called brave-search is a
// program of that name; the others are asked over HTTP.
var SearchEngines = []string{"brave", "searxng", "brave-search", "duckduckgo"}

// maxHits is how many results one search answers.
const maxHits = 20

// Search asks a search engine. Of several the first that answers is taken. A program
// that is asked runs in the workspace.
func (c *Client) Search(ctx context.Context, a Query) (Searched, error) {
	r := Searched{Query: a.Query}
	if a.Count <= 0 {
		return r, nil
	}
	a.Count = min(a.Count, maxHits)
	ctx, cancel := deadline(ctx, a.Timeout)
	defer cancel()
	var errs []error
	for _, e := range c.searchEngines() {
		hits, err := c.ask(ctx, e, a)
		if err == nil {
			r.Engine, r.Hits = e.Kind, hits[:min(len(hits), a.Count)]
			return r, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", e.Kind, err))
		r.Failed = append(r.Failed, errs[len(errs)-1].Error())
	}
	if len(errs) == 1 {
		return r, errs[0]
	}
	return r, fmt.Errorf("no search engine answered: %s", strings.Join(r.Failed, "; "))
}

// searchEngines are those of the configuration; without any, the program if there
// is one, and the engine that takes no key.
func (c *Client) searchEngines() []SearchEngine {
	if len(c.cfg.Search) > 0 {
		return c.cfg.Search
	}
	list := []SearchEngine{{Kind: "duckduckgo"}}
	if _, err := process.LookProgram("brave-search", c.dir, c.run.Environment(nil, c.dir)); err == nil {
		list = slices.Insert(list, 0, SearchEngine{Kind: "brave-search"})
	}
	return list
}

func (c *Client) ask(ctx context.Context, e SearchEngine, a Query) ([]Hit, error) {
	switch e.Kind {
	case "brave":
		return c.askBrave(ctx, e, a)
	case "searxng":
		return c.askSearXNG(ctx, e, a)
	case "brave-search":
		return c.askProgram(ctx, a)
	case "duckduckgo":
		return c.askDuckDuckGo(ctx, e, a)
	}
	return nil, fmt.Errorf("there is no such search engine; there are %s", strings.Join(SearchEngines, ", "))
}

// maxPatience is how long a search engine is waited for that asks for it.
const maxPatience = 5 * time.Second

// askServer sends a request to a search engine, which may be at a private address
// as the configuration names it, and returns the answer's text. One that is asked
// to wait is tried once more.
func (c *Client) askServer(ctx context.Context, r webRequest, body string) ([]byte, error) {
	if u, err := url.Parse(r.url); err == nil {
		r.hosts = []string{u.Host}
	}
	for again := true; ; again = false {
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
		case res.StatusCode == http.StatusTooManyRequests && again && waited(ctx, res.Header.Get("Retry-After")):
			continue
		case res.StatusCode >= 400:
			return nil, badStatus(res, data)
		}
		return data, nil
	}
}

// waited waits as long as a server asks for, if that is not long.
func waited(ctx context.Context, after string) bool {
	seconds, err := strconv.Atoi(after)
	if err != nil {
		seconds = 1
	}
	wait := time.Duration(seconds) * time.Second
	if wait > maxPatience {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// at is an engine's address with a query, after the URL of the configuration or
// what it is by default.
func (e SearchEngine) at(standard, path string, q url.Values) (string, error) {
	base := standard
	if e.URL != "" {
		base = strings.TrimSuffix(e.URL, "/") + path
	}
	if base == "" {
		return "", errors.New("its address is not known; --search " + e.Kind + "=URL names it")
	}
	if len(q) == 0 {
		return base, nil
	}
	return base + "?" + q.Encode(), nil
}
