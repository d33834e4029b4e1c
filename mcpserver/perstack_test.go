package mcpserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/dialect"
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
		{"the first again", a.ask(call(2, "todo", `{"completedTodos":[0]}`)), `{"todos":[{"id":0,"title":"one","completed":true}]}`},
		{"the second again", b.ask(call(2, "attemptCompletion", `{}`)), `{"remainingTodos":[{"id":0,"title":"two","completed":false}]}`},
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

func TestNoCommandOutlivesItsCall(t *testing.T) {
	for _, tt := range []struct {
		end  string
		stop func(*lineClient, *os.Process)
	}{
		{"cancelled", func(c *lineClient, _ *os.Process) {
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}},
		{"timed out", func(*lineClient, *os.Process) {}},
		{"the input ended", func(c *lineClient, _ *os.Process) { c.in.Close() }},
		{"terminated", func(_ *lineClient, p *os.Process) { p.Signal(syscall.SIGTERM) }},
	} {
		t.Run(tt.end, func(t *testing.T) {
			t.Parallel()
			c, cmd := start(t, newWorkspace(t, nil), "perstack")
			c.greet("2025-11-25", "{}")
			length := fmt.Sprintf("1000.%d", cmd.Process.Pid)
			timeout := 60000
			if tt.end == "timed out" {
				timeout = 300
			}
			c.send(call(1, "exec", fmt.Sprintf(`{"command":"sh","args":["-c","setsid sleep %s & sleep %s"],"env":{},"cwd":".","stdout":true,"stderr":true,"timeout":%d}`, length, length, timeout)))
			await(t, "the commands to start", func() bool { return commands(t, length) >= 2 })
			tt.stop(c, cmd.Process)
			await(t, "the commands to end", func() bool { return commands(t, length) == 0 })
		})
	}
}

// commands counts the processes that sleep for so long.
func commands(t *testing.T, text string) (n int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.HasPrefix(line, []byte("sleep\x00"+text+"\x00")) {
			n++
		}
	}
	return n
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("waited in vain for %s", what)
		}
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
