package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A token is kept only where no tool and no command can change it.
func TestTokenOutOfReach(t *testing.T) {
	for name, reach := range map[string]func(o *options, dir string){
		"allow":       func(o *options, dir string) { o.allow = []string{dir} },
		"fence-write": func(o *options, dir string) { o.fenceWrite = []string{dir} },
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			o := newOptions("")
			o.workspace = t.TempDir()
			reach(o, state)
			c := &cli{getenv: func(string) string { return state }}
			if token, _, err := c.ownToken(o); token == "" || err != nil {
				t.Fatal(token, err)
			}
			if _, err := os.Stat(filepath.Join(state, "skill", "http-token")); err == nil {
				t.Error("the token is kept where it can be changed")
			}
		})
	}
}
