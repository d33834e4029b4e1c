package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

func (c *Client) searchSearXNG(ctx context.Context, e SearchEngine, a Query) ([]Hit, error) {
	q := url.Values{"q": {a.Query}, "format": {"json"}}
	if a.Freshness != "" {
		q.Set("time_range", a.Freshness)
	}
	if a.Language != "" {
		q.Set("language", a.Language)
	}
	address, err := e.endpoint("", "/search", q)
	if err != nil {
		return nil, err
	}
	data, err := c.query(ctx, webRequest{method: http.MethodGet, url: address,
		header: http.Header{"Accept": {"application/json"}}}, "")
	if errors.Is(err, errForbidden) {
		return nil, errors.New("it refuses JSON; add json to search.formats in its settings.yml")
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title, URL, Content string
			Published           string `json:"publishedDate"`
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	hits := make([]Hit, 0, len(answer.Results))
	for _, r := range answer.Results {
		hits = append(hits, Hit{r.Title, r.URL, r.Content, r.Published})
	}
	return hits, nil
}
