package main

import (
	"fmt"
	"slices"
	"strings"

	"textskill/skill"
)

// searchEngines are those that --search names, with the key of the environment for
// the one that takes a key. With a key and no flag, that one is asked first.
func (o *options) searchEngines(getenv func(string) string) ([]skill.SearchEngine, error) {
	names, key := o.engines, getenv("BRAVE_API_KEY")
	if len(names) == 0 && key != "" {
		names = []string{"brave", "duckduckgo"}
	}
	var list []skill.SearchEngine
	for _, name := range names {
		kind, url, _ := strings.Cut(name, "=")
		if !slices.Contains(skill.SearchEngines, kind) {
			return nil, fmt.Errorf("--search %s is not a search engine; there are %s", kind, strings.Join(skill.SearchEngines, ", "))
		}
		e := skill.SearchEngine{Kind: kind, URL: url}
		if kind == "brave" {
			e.Key = key
		}
		list = append(list, e)
	}
	return list, nil
}
