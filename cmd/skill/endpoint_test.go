package main

import (
	"slices"
	"testing"

	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

// TestLearnedByAddress has a gateway with several protocols at one host. One of them refuses to stream.
func TestLearnedByAddress(t *testing.T) {
	dir := t.TempDir()
	c := &console{getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": dir}[name] }}
	var cfg agent.Config
	first := provider.Endpoint{BaseURL: "http://key@127.0.0.1:1/a/v1?q", Model: "m"}
	c.learn(&first, &cfg)
	first.Learned("stream")
	for _, r := range []struct {
		base, model, api string
		knows            bool
	}{
		{"http://127.0.0.1:1/a/v1/", "m", "", true},
		{"http://127.0.0.1:1/b/v1", "m", "", false},
		{"http://127.0.0.1:1/a/v1", "n", "", false},
		{"http://127.0.0.1:1/a/v1", "m", "responses", false},
	} {
		e := provider.Endpoint{BaseURL: r.base, Model: r.model, API: r.api}
		c.learn(&e, &cfg)
		if slices.Contains(e.Rules, "stream") != r.knows {
			t.Errorf("%v: knows %q", r, e.Rules)
		}
	}
}
