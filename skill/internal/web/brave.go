package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"textskill/skill/internal/process"
)

// braveAge maps Query.Freshness to Brave's parameter.
var braveAge = map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"}

// Brave's limits on a query.
const (
	braveChars = 400
	braveWords = 50
)

func (c *Client) searchBrave(ctx context.Context, e SearchEngine, a Query) ([]Hit, error) {
	switch {
	case e.Key == "":
		return nil, errors.New("it needs a key; set BRAVE_API_KEY")
	case len([]rune(a.Query)) > braveChars || len(strings.Fields(a.Query)) > braveWords:
		return nil, fmt.Errorf("it accepts queries of at most %d characters and %d words", braveChars,
			braveWords)
	}
	q := url.Values{"q": {a.Query}, "count": {strconv.Itoa(a.Count)}, "text_decorations": {"false"}}
	if a.Freshness != "" {
		q.Set("freshness", braveAge[a.Freshness])
	}
	if a.Language != "" {
		q.Set("search_lang", a.Language)
	}
	address, err := e.endpoint("https://api.search.brave.com/res/v1/web/search", "/res/v1/web/search", q)
	if err != nil {
		return nil, err
	}
	data, err := c.query(ctx, webRequest{method: http.MethodGet, url: address, noRedirect: true,
		header: http.Header{"X-Subscription-Token": {e.Key}, "Accept": {"application/json"}}}, "")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Web struct {
			Results []struct{ Title, URL, Description, Age string }
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	hits := make([]Hit, 0, len(answer.Web.Results))
	for _, r := range answer.Web.Results {
		hits = append(hits, Hit{r.Title, r.URL, r.Description, r.Age})
	}
	return hits, nil
}

// searchProgram runs the program brave-search, which prints a JSON array.
func (c *Client) searchProgram(ctx context.Context, a Query) ([]Hit, error) {
	if strings.HasPrefix(a.Query, "-") {
		return nil, errors.New("a query for this program cannot begin with -")
	}
	program, err := c.run.FindProgram("brave-search")
	if err != nil {
		return nil, err
	}
	done, err := c.run.Exec(ctx, "", process.Command{Name: "brave-search", Path: program.Path,
		Args: []string{a.Query, "--count", strconv.Itoa(a.Count)}, Dir: "."})
	if err != nil {
		return nil, err
	}
	if done.Failed() {
		return nil, fmt.Errorf("%s: %s", done.Message(), strings.TrimSpace(string(done.Stderr)))
	}
	var list []struct{ Title, URL, Description, Snippet string }
	if err := json.Unmarshal(done.Stdout, &list); err != nil {
		return nil, fmt.Errorf("what it printed cannot be read: %w", err)
	}
	hits := make([]Hit, 0, len(list))
	for _, r := range list {
		hits = append(hits, Hit{Title: r.Title, URL: r.URL, Snippet: r.Description + r.Snippet})
	}
	return hits, nil
}
