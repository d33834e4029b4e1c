package main

import (
	"os"
	"path/filepath"
	"testing"
	"textskill/skill"
)

// A token is kept only where no tool and no command can change it.
func TestTokenOutOfReach(t *testing.T) {
	for name, reach := range map[string]func(o *workspaceOptions, dir string){
		"allow":       func(o *workspaceOptions, dir string) { o.Allow = []string{dir} },
		"fence-write": func(o *workspaceOptions, dir string) { o.FenceWrite = []string{dir} },
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			o := &workspaceOptions{Config: skill.Config{Dir: t.TempDir()}}
			reach(o, state)
			c := &cli{console: console{getenv: func(string) string { return state }}}
			if token, _, err := c.ownToken(o); token == "" || err != nil {
				t.Fatal(token, err)
			}
			if _, err := os.Stat(filepath.Join(state, "skill", "http-token")); err == nil {
				t.Error("the token is kept where it can be changed")
			}
		})
	}
}
