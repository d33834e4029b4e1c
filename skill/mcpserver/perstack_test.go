//go:build unix

package mcpserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"textskill/skill/dialect"
)

func perstack(cfg *Config) { cfg.Dialects = []*dialect.Dialect{dialect.Perstack} }

func TestTodosBelongToTheirClient(t *testing.T) {
	s, _ := newServer(t, nil, perstack)
	at, _ := serveHTTP(t, s, HTTP{})
	a, b, c := newHTTPClient(t, at), newHTTPClient(t, at), connect(t, s)
	c.greet("2025-11-25", "{}")
	add := func(title string) string { return call(1, "todo", `{"newTodos":["`+title+`"]}`) }
	tests := []struct {
		who  string
		got  answer
		want string
	}{
		{"the first client", a.ask(add("one")), `{"todos":[{"id":0,"title":"one","completed":false}]}`},
		{"the second", b.ask(add("two")), `{"todos":[{"id":0,"title":"two","completed":false}]}`},
		{"one over stdio", c.ask(add("three")), `{"todos":[{"id":0,"title":"three","completed":false}]}`},
		{"the first again", a.ask(call(2, "todo", `{"completedTodos":[0]}`)),
			`{"todos":[{"id":0,"title":"one","completed":true}]}`},
		{"the second again", b.ask(call(2, "attemptCompletion", `{}`)),
			`{"remainingTodos":[{"id":0,"title":"two","completed":false}]}`},
		{"one over stdio again", c.ask(call(2, "clearTodo", `{}`)), `{"todos":[]}`},
		{"the first at last", a.ask(call(3, "attemptCompletion", `{}`)), `{}`},
	}
	for _, tt := range tests {
		if got := tt.got.text(); got != tt.want {
			t.Errorf("%s sees %s, want %s", tt.who, got, tt.want)
		}
	}
}

func TestNoChangeIsLost(t *testing.T) {
	s, dir := newServer(t, map[string]string{"edit.txt": strings.Repeat("x ", 8)}, perstack)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	for id := range 100 {
		c.send(call(id, "todo", fmt.Sprintf(`{"newTodos":["%d"]}`, id)))
	}
	for id := range 8 {
		c.send(call(100+id, "editTextFile", `{"path":"edit.txt","oldText":"x ","newText":"yz"}`))
	}
	edits := 0
	for range 108 {
		a := c.parse(c.next())
		if id, _ := strconv.Atoi(string(a.ID)); id >= 100 && !a.Result.IsError {
			edits++
		} else if a.Result.IsError && id < 100 {
			t.Error(a.text())
		}
	}
	if n := strings.Count(c.ask(call(1, "todo", `{}`)).text(), `"title"`); n != 100 {
		t.Errorf("%d todos of 100 remain", n)
	}
	edited, err := os.ReadFile(filepath.Join(dir, "edit.txt"))
	if n := bytes.Count(edited, []byte("yz")); err != nil || n != edits || edits == 0 {
		t.Errorf("%d edits succeeded and %d are in the file: %q", edits, n, edited)
	}
}

func TestToolsOverHTTPAtOnce(t *testing.T) {
	s, _ := newServer(t, nil, perstack)
	at, _ := serveHTTP(t, s, HTTP{})
	c := newHTTPClient(t, at)
	var all sync.WaitGroup
	for id := range 100 {
		all.Go(func() {
			if a := c.ask(call(id, "todo", fmt.Sprintf(`{"newTodos":["%d"]}`, id))); a.Result.IsError {
				t.Error(a.text())
			}
		})
	}
	all.Wait()
	if n := strings.Count(c.ask(call(1, "todo", `{}`)).text(), `"title"`); n != 100 {
		t.Errorf("%d todos of 100 remain", n)
	}
}
