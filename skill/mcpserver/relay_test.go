//go:build unix

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// places is where a workspace is: at most one server at a time.
type places struct {
	holder atomic.Pointer[Server]
}

func (p *places) move(s *Server) { p.holder.Store(s) }

func (p *places) relay(ctx context.Context, m Message) (Reply, error) {
	s := p.holder.Load()
	if s == nil {
		return Reply{}, errors.New("no worker holds ws")
	}
	return s.Relayed(ctx, "w1", m), nil
}

// replicas serves two replicas behind an address that takes them in turn.
func (p *places) replicas(t *testing.T) (at string) {
	t.Helper()
	var to []*httputil.ReverseProxy
	for range 2 {
		ready, ended := make(chan string, 1), make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		go func() {
			ended <- Relay(p.relay).HTTP(ctx, HTTP{Token: "secret", Ready: func(url string) { ready <- url }})
		}()
		via := &http.Transport{DisableKeepAlives: true}
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		u, err := url.Parse(<-ready)
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, &httputil.ReverseProxy{Transport: via,
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host, r.Out.URL.Scheme, r.Out.Host = u.Host, "http", "" }})
	}
	var turn atomic.Uint32
	balancer := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { to[turn.Add(1)%2].ServeHTTP(w, r) })}
	l, err := (&HTTP{NoToken: true}).listen()
	if err != nil {
		t.Fatal(err)
	}
	go balancer.Serve(l)
	t.Cleanup(func() { balancer.Close() })
	return "http://" + l.Addr().String() + "/mcp"
}

// bearer sends the token.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer secret")
	return http.DefaultTransport.RoundTrip(r)
}

func TestRelayServesASDKClientThroughEachReplica(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			commits := atomic.Int32{}
			shared := func(c *Config) {
				c.Dialects = []*dialect.Dialect{dialect.Perstack}
				c.Session = &skill.Session{}
				c.Changed = func(context.Context) error { commits.Add(1); return nil }
			}
			first, dir := newServer(t,
				map[string]string{"a.txt": "alpha",
					"big.txt": strings.Repeat("0123456789abcde\n", 128<<10)}, shared)
			var p places
			p.move(first)
			client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.replicas(t),
				HTTPClient: &http.Client{Transport: bearer{}}, MaxRetries: -1},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ask := func(name string, arguments map[string]any) (string, error) {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
				if err != nil {
					return "", err
				}
				text := ""
				for _, b := range r.Content {
					if b, ok := b.(*mcp.TextContent); ok {
						text += b.Text
					}
				}
				if r.IsError {
					return "", errors.New(text)
				}
				return text, nil
			}
			if got, err := ask("readTextFile", map[string]any{"path": "a.txt"}); err != nil ||
				!strings.Contains(got, "alpha") {
				t.Fatalf("a read: %q, %v", got, err)
			}
			if n := commits.Load(); n != 0 {
				t.Errorf("%d commits after a read", n)
			}
			if _, err := ask("todo", map[string]any{"newTodos": []string{"feed the cat"}}); err != nil {
				t.Fatal(err)
			}
			if got, err := ask("todo", map[string]any{}); err != nil ||
				!strings.Contains(got, "feed the cat") {
				t.Errorf("todos: %q, %v", got, err)
			}
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if got, err := ask("readTextFile", map[string]any{"path": "a.txt"}); err != nil ||
						!strings.Contains(got, "alpha") {
						t.Errorf("one of many reads: %q, %v", got, err)
					}
				})
			}
			all.Wait()

			p.move(nil)
			if _, err := ask("readTextFile", map[string]any{"path": "a.txt"}); err == nil {
				t.Error("a workspace that nobody holds is read")
			}
			second, _ := newServer(t, nil, shared, func(c *Config) {
				c.Executor, c.Session = newExecutor(t, dir), &skill.Session{}
				c.Session.Restore(first.cfg.Session.Snapshot())
			})
			p.move(second)
			if version == "2025-11-25" { // the client gives a session up at any failure
				if c, err = client.Connect(t.Context(),
					&mcp.StreamableClientTransport{Endpoint: p.replicas(t),
						HTTPClient: &http.Client{Transport: bearer{}}, MaxRetries: -1},
					&mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			p.move(first)
			if _, err := ask("todo", map[string]any{}); err != nil {
				t.Fatal(err)
			}
			p.move(second)
			if got, err := ask("todo", map[string]any{}); err != nil || !strings.Contains(got, "feed the cat") {
				t.Errorf("todos after the move: %q, %v", got, err)
			}
		})
	}
}

func TestRelayNames(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	var p places
	at := p.replicas(t)
	c := &httpClient{t: t, at: at, header: http.Header{"Authorization": {"Bearer secret"}}}
	if r, body := c.post(greeting("{}")); r.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(body, "no worker holds ws") || r.Header.Get("Retry-After") == "" {
		t.Errorf("nobody holds it: %s %q", r.Status, body)
	}
	p.move(s)
	r, body := c.post(greeting(`{"roots":{}}`))
	if c.session = r.Header.Get("Mcp-Session-Id"); !strings.HasPrefix(c.session, "w1.") {
		t.Fatalf("the session is %q: %s", c.session, body)
	}
	if a := c.ask(call(1, "read_file", `{"path":"a.txt"}`)); a.text() != "alpha" {
		t.Errorf("a client with roots, which are not asked for: %+v", a)
	}
	if r, _ := c.do(c.request(http.MethodGet, "")); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", r.Status)
	}
	c.header = nil
	if r, _ := c.post(greeting("{}")); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", r.Status)
	}
}

func TestRelayCancels(t *testing.T) {
	began := make(chan bool)
	own, err := dialect.New("own", "", dialect.Func("wait", "Wait until the call is cancelled.",
		func(ctx context.Context, _ struct{}) (string, error) {
			began <- true
			<-ctx.Done()
			return "", ctx.Err()
		}))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newServer(t, nil, func(c *Config) { c.Dialects = append(c.Dialects, own) })
	var p places
	p.move(s)
	c := &httpClient{t: t, at: p.replicas(t), session: "any",
		header: http.Header{"Authorization": {"Bearer secret"}}}
	cancelled := make(chan bool)
	go func() {
		<-began
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
		close(cancelled)
	}()
	if _, body := c.post(call("x", "wait", "{}")); !strings.Contains(body, context.Canceled.Error()) {
		t.Errorf("a cancelled call is answered %s", body)
	}
	<-cancelled
}

func TestRelayCallIsAnsweredAfterItIsStored(t *testing.T) {
	failure := errors.New("the disk is full")
	dir := ""
	s, dir := newServer(t, nil, func(c *Config) {
		c.Changed = func(context.Context) error {
			if data, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "x" {
				t.Errorf("it is stored before it is done: %q, %v", data, err)
			}
			return failure
		}
	})
	var p places
	p.move(s)
	for _, in := range []string{"2025-11-25", "2026-07-28"} {
		reply := relayedLines(t, p.relay, in,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a","content":"x"}META}}`)
		if a := reply[7]; !a.Result.IsError || !strings.Contains(a.text(), failure.Error()) {
			t.Errorf("%s: %+v", in, a)
		}
	}
}

func TestRelayStdio(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	var p places
	p.move(s)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		got := relayedLines(t, p.relay, version,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}META}}`,
			`{"jsonrpc":"2.0","id":3,"method":"nothing/known","params":{META}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call"`)
		if got[2].text() != "alpha" || got[3].Error.Message == "" || got[1].Error.Message != "" {
			t.Errorf("%s: %+v", version, got)
		}
	}
	p.move(nil)
	got := relayedLines(t, p.relay, "2026-07-28",
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}META}}`)
	if got[2].Error.Message != "no worker holds ws" {
		t.Errorf("nobody: %+v", got[2])
	}
}

// relayedLines returns the answers to lines by their IDs. META in them is what a version
// without sessions has in all.
func relayedLines(t *testing.T, r Relay, version string, lines ...string) map[int]answer {
	t.Helper()
	in, meta := "", ""
	if version < statelessVersion {
		in = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	} else {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	for _, line := range lines {
		comma := meta
		if meta != "" && !strings.Contains(line, `{META`) {
			comma = "," + meta
		}
		in += strings.ReplaceAll(line, "META", comma) + "\n"
	}
	out, w := io.Pipe()
	go func() {
		if err := r.Stdio(context.Background(), strings.NewReader(in), w); err != nil {
			t.Error(err)
		}
		w.Close()
	}()
	data, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]answer{}
	for line := range strings.Lines(string(data)) {
		var head struct{ ID int }
		var a answer
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		_ = json.Unmarshal([]byte(line), &a) // an id null is no string
		got[head.ID] = a
	}
	return got
}

// TestRelayTellsProgress lets an operation report while and after clients wait for its answer.
func TestRelayTellsProgress(t *testing.T) {
	late := make(chan func(), 10)
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"}, func(cfg *Config) {
		cfg.Progress = func(ctx context.Context,
			report func(done, total int64, note string)) context.Context {
			report(10, 10, "all")
			late <- func() { report(11, 11, "too late") }
			return ctx
		}
	})
	var p places
	p.move(s)
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},"_meta":{"progressToken":7}}}`
	read, write := io.Pipe()
	out, in := io.Pipe()
	c := newLineClient(t, write, out)
	go func() {
		err := Relay(p.relay).Stdio(t.Context(), read, in)
		in.Close()
		c.ended <- err
	}()
	c.greet("2025-11-25", "{}")
	c.send(call)
	want := []string{`7 10 10 "all"`, "alpha"}
	lines := []string{c.told(c.next()), c.told(c.next())}
	(<-late)()
	if !slices.Equal(lines, want) {
		t.Errorf("over stdio the client gets %q, want %q", lines, want)
	}
	r, err := http.NewRequest(http.MethodPost, p.replicas(t), strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Accept": {"application/json, text/event-stream"},
		"Content-Type": {"application/json"}, versionHeader: {"2025-11-25"}}
	resp, err := bearer{}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines = nil
	for event := range strings.SplitSeq(string(body), "\n") {
		if data, ok := strings.CutPrefix(event, "data: "); ok {
			lines = append(lines, c.told(data))
		}
	}
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" || !slices.Equal(lines, want) {
		t.Errorf("over HTTP the client gets %q as %s, want %q", lines, kind, want)
	}
}

// TestRelayAnswersAtATime lets many answers wait for a client that reads slowly.
func TestRelayAnswersAtATime(t *testing.T) {
	const n = 50
	answered := make(chan struct{}, n)
	relay := Relay(func(_ context.Context, m Message) (Reply, error) {
		defer func() { answered <- struct{}{} }()
		return Reply{Status: 200, Body: m.Body}, nil
	})
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
	}
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- relay.Stdio(t.Context(), strings.NewReader(in.String()), write)
		write.Close()
	}()
	for range n {
		<-answered
	}
	out, err := io.ReadAll(read)
	if lines := strings.Count(string(out), "\n"); err != nil || lines != n {
		t.Errorf("%d answers of %d, %v", lines, n, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
