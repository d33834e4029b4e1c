//lint:file-ignore SA1019 roots are deprecated for new clients; today's have them

package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// rooted is a workspace with a further folder that is allowed, and one beside them.
func rooted(t *testing.T) (s *Server, ws, allowed, outside string) {
	t.Helper()
	top := newWorkspace(t, map[string]string{
		"ws/a.txt": "a", "ws/sub/b.txt": "b", "ws/other/c.txt": "c", "ws/sub-evil/d.txt": "d",
		"allowed/e.txt": "e", "allowed/in/f.txt": "f", "outside/g.txt": "g",
	})
	if err := os.Symlink("../other/c.txt", filepath.Join(top, "ws/sub/link")); err != nil {
		t.Fatal(err)
	}
	ws, allowed = filepath.Join(top, "ws"), filepath.Join(top, "allowed")
	x, err := skill.New(skill.Config{Dir: ws, Allow: []string{allowed}, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	s, _ = newServer(t, nil, func(cfg *Config) { cfg.Executor = x })
	return s, ws, allowed, filepath.Join(top, "outside")
}

// tellRoots answers the server's question for roots and returns the next line.
func (c *lineClient) tellRoots(roots ...string) answer {
	c.t.Helper()
	for {
		a := c.parse(c.next())
		if a.Method != "roots/list" {
			return a
		}
		for i, r := range roots {
			if strings.HasPrefix(r, "/") {
				r = (&url.URL{Scheme: "file", Path: r}).String()
			}
			roots[i] = fmt.Sprintf(`{"uri":%q}`, r)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[%s]}}`, a.ID,
			strings.Join(roots, ",")))
	}
}

func TestRootsNarrowAndNeverWiden(t *testing.T) {
	_, ws, allowed, outside := rooted(t)
	const a, b, link, evil, e, f, g = "a.txt", "sub/b.txt", "sub/link", "sub-evil/d.txt", "../allowed/e.txt",
		"../allowed/in/f.txt", "../outside/g.txt"
	tests := []struct {
		roots    []string
		readable string // of the names above, by the letter of their file
	}{
		{nil, "abcdef"},
		{[]string{ws, allowed}, "abcdef"},
		{[]string{filepath.Dir(ws)}, "abcdef"},
		{[]string{"/"}, "abcdef"},
		{[]string{ws}, "abcd"},
		{[]string{ws + "/sub", ws}, "abcd"},
		{[]string{ws + "/sub"}, "b"},
		{[]string{ws + "/sub/"}, "b"},
		{[]string{ws + "/sub", allowed + "/in"}, "bf"},
		{[]string{ws + "/sub", outside}, "b"},
		{[]string{ws + "/sub", ws + "/missing"}, "b"},
		{[]string{allowed}, "ef"},
		{[]string{outside}, ""},
		{[]string{"https://example.org/", "file://elsewhere" + ws + "/sub", "sub", "%"}, ""},
		{[]string{ws + "/missing"}, ""},
		{[]string{ws + "/a.txt"}, ""},
	}
	for _, tt := range tests {
		s, ws2, allowed2, outside2 := rooted(t)
		move := strings.NewReplacer(ws, ws2, allowed, allowed2, outside, outside2)
		roots := make([]string, len(tt.roots))
		for i, r := range tt.roots {
			roots[i] = r
			if r != "/" {
				roots[i] = move.Replace(r)
			}
		}
		if len(roots) > 0 && roots[0] == filepath.Dir(ws) {
			roots[0] = filepath.Dir(ws2)
		}
		c := connect(t, s)
		c.greet("2025-11-25", `{"roots":{"listChanged":true}}`)
		got := ""
		for i, name := range []string{a, b, link, evil, e, f, g} {
			c.send(call(i, "read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(ws2, name))))
			if answer := c.tellRoots(roots...); !answer.Result.IsError {
				got += answer.text()
			} else if answer.text() == "" {
				t.Errorf("roots %q: %s is refused without a word", tt.roots, name)
			}
		}
		if got != tt.readable {
			t.Errorf("roots %q leave %q readable, want %q", tt.roots, got, tt.readable)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
}

// TestClientsInTurn has several clients one after the other on one pipe, each with its own roots, while
// a call of the first is running.
func TestClientsInTurn(t *testing.T) {
	s, ws, _, _ := rooted(t)
	running, goOn := make(chan struct{}), make(chan struct{})
	slow, err := dialect.New("slow", "", dialect.Func("wait", "Wait.", func(context.Context, struct{}) (string, error) {
		close(running)
		<-goOn
		return "waited", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	s, err = New(Config{Executor: s.cfg.Executor, Dialects: []*dialect.Dialect{dialect.Filesystem, slow}})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, s)
	read := func(id, name string) answer {
		c.send(call(id, "read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(ws, name))))
		return c.parse(c.next())
	}
	c.greet("2025-11-25", `{"roots":{}}`)
	c.send(call(1, "read_file", `{"path":"`+ws+`/sub/b.txt"}`))
	if a := c.tellRoots(ws + "/sub"); a.text() != "b" {
		t.Errorf("the first client gets %+v", a)
	}
	c.send(call("slow", "wait", `{}`))
	<-running
	c.greet("2025-06-18", `{}`)
	if a := read("a", "a.txt"); a.text() != "a" {
		t.Errorf("the second client, without roots, gets %+v", a)
	}
	if a := c.ask(`{"jsonrpc":"2.0","id":7,"method":"initialize"}`); a.Error.Code != -32600 {
		t.Errorf("a greeting without a version: %+v", a)
	}
	if a := read("b", "a.txt"); a.text() != "a" {
		t.Errorf("after it the second client gets %+v", a)
	}
	close(goOn)
	if a := c.parse(c.next()); string(a.ID) != `"slow"` || a.text() != "waited" {
		t.Errorf("the call of the first client is answered with %+v", a)
	}
	c.greet("2025-11-25", `{"roots":{}}`)
	c.send(call(2, "read_file", `{"path":"`+ws+`/other/c.txt"}`))
	if a := c.tellRoots(ws + "/other"); a.text() != "c" {
		t.Errorf("the third client gets %+v", a)
	}
	if a := read("d", "sub/b.txt"); !a.Result.IsError {
		t.Errorf("outside of its roots it gets %+v", a)
	}
	for range 50 {
		c.greet("2025-11-25", "{}")
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.sessions); n > 10 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestRootsMayChange(t *testing.T) {
	s, ws, _, _ := rooted(t)
	c := connect(t, s)
	c.greet("2025-11-25", `{"roots":{"listChanged":true}}`)
	c.send(`{"jsonrpc":"2.0","id":"level","method":"logging/setLevel","params":{"level":"info"}}`)
	c.next()
	read := func(name string) answer {
		c.send(call(name, "read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(ws, name))))
		return c.parse(c.next())
	}
	if a := read("a.txt"); a.Method != "roots/list" {
		t.Fatalf("before it knows the roots the server says %+v", a)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file://` + ws +
		`/sub"},{"uri":"file:///elsewhere"}]}}`)
	if a := c.parse(c.next()); a.Method != "notifications/message" ||
		!strings.Contains(string(a.Params), "/elsewhere") {
		t.Errorf("of a root outside the server says %+v", a)
	}
	if a := c.parse(c.next()); !a.Result.IsError {
		t.Errorf("got %+v", a)
	}
	if a := read("sub/b.txt"); a.text() != "b" {
		t.Errorf("got %+v", a)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		call("again", "read_file", `{"path":"other/c.txt"}`))
	if a := c.tellRoots(ws+"/other", ws+"/sub"); !a.Result.IsError { // relative names start at the first root
		t.Errorf("got %+v", a)
	}
	if a := read("other/c.txt"); a.text() != "c" {
		t.Errorf("got %+v", a)
	}
}

func TestRootsThatAreNotTold(t *testing.T) {
	s, ws, _, _ := rooted(t)
	c := connect(t, s)
	c.greet("2025-11-25", `{"roots":{}}`)
	c.send(call("a", "read_file", fmt.Sprintf(`{"path":%q}`, ws+"/a.txt")))
	ask := c.parse(c.next())
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, ask.ID))
	if a := c.parse(c.next()); a.text() != "a" {
		t.Errorf("got %+v", a)
	}
	c = connect(t, s)
	c.greet("2025-11-25", `{"roots":{}}`)
	c.send(call("a", "read_file", fmt.Sprintf(`{"path":%q}`, ws+"/a.txt")))
	if a := c.parse(c.next()); a.Method != "roots/list" {
		t.Fatalf("got %+v", a)
	}
	if err := c.end(); err != nil { // with the question open
		t.Error(err)
	}
}

// TestRootsOfNewClients is with the SDK's client, which tells its roots with the
// call that is asked for them.
func TestRootsOfNewClients(t *testing.T) {
	s, ws, _, _ := rooted(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go s.Stdio(t.Context(), inR, outW)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file://" + ws + "/sub"})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, want := range map[string]string{"sub/b.txt": "b", "a.txt": ""} {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file",
			Arguments: map[string]any{"path": filepath.Join(ws, name)}})
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; r.IsError != (want == "") || !r.IsError &&
			text != want {
			t.Errorf("%s is %q", name, text)
		}
	}
	t.Logf("protocol version %s", session.InitializeResult().ProtocolVersion)
}
