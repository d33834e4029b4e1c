//go:build unix

package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill/internal/door"
)

// serveHTTP serves until the test ends, and returns where. stop ends it sooner and
// returns how it ended.
func serveHTTP(t *testing.T, s *Server, h HTTP) (at string, stop func() error) {
	t.Helper()
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	h.NoToken = h.Token == ""
	h.Ready = func(url string) { ready <- url }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.HTTP(ctx, h) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	select {
	case at = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return at, stop
}

// awaitRunning waits until n calls are running.
func awaitRunning(t *testing.T, s *Server, n int) {
	t.Helper()
	running := func() (all int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.sessions {
			c.mu.Lock()
			all += len(c.running)
			c.mu.Unlock()
		}
		return all
	}
	for began := time.Now(); running() != n; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%d calls are running, not %d", running(), n)
		}
	}
}

// httpClient is a client that has begun a session.
type httpClient struct {
	t       *testing.T
	at      string
	session string
	header  http.Header // of every request
	via     *http.Client
}

func newHTTPClient(t *testing.T, at string) *httpClient {
	t.Helper()
	c := beginHTTP(t, at)
	if r, _ := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.StatusCode != http.StatusAccepted {
		t.Fatal(r.Status)
	}
	return c
}

// beginHTTP returns a client whose session may have ended already.
func beginHTTP(t *testing.T, at string) *httpClient {
	t.Helper()
	c := &httpClient{t: t, at: at}
	r, body := c.post(greeting("{}"))
	if c.session = r.Header.Get("Mcp-Session-Id"); c.session == "" {
		t.Fatalf("no session: %s %s", r.Status, body)
	}
	return c
}

func greeting(capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` +
		capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`
}

func (c *httpClient) request(method, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.at, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	return r
}

func (c *httpClient) do(r *http.Request) (*http.Response, string) {
	c.t.Helper()
	answer, err := cmp.Or(c.via, http.DefaultClient).Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer, string(body)
}

func (c *httpClient) post(body string) (*http.Response, string) {
	c.t.Helper()
	return c.do(c.request(http.MethodPost, body))
}

// ask posts a message and returns the answer to it, by itself or the last event.
func (c *httpClient) ask(line string) (a answer) {
	c.t.Helper()
	r, body := c.post(line)
	if i := strings.LastIndex(body, "data: "); i >= 0 {
		body = body[i+len("data: "):]
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		c.t.Fatalf("%s: %s", r.Status, body)
	}
	return a
}

func TestHTTPServesCallsAndEndsInOrder(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "<alpha>"})
	at, stop := serveHTTP(t, s, HTTP{})
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Errorf("served at %s", at)
	}
	c := newHTTPClient(t, at)
	if a := c.ask(call(1, "read_file", `{"path":"a.txt"}`)); a.text() != "<alpha>" {
		t.Errorf("got %+v", a)
	}
	if a := c.ask(call(2, "read_file", `{"path":"missing"}`)); !a.Result.IsError {
		t.Errorf("got %+v", a)
	}
	if a := c.ask(call(3, "no_such", `{}`)); a.Error.Code != -32602 {
		t.Errorf("got %+v", a)
	}
	unlock := lockFolder(t, dir)
	defer unlock()
	events, err := http.DefaultClient.Do(c.request(http.MethodGet, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	waiting := make(chan string, 1)
	go func() {
		_, body := c.post(call(4, "write_file", `{"path":"b","content":"x"}`))
		waiting <- body
	}()
	awaitRunning(t, s, 1)
	if err := stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	<-waiting // for an answer, without which the client fails
	if _, err := os.Stat(dir + "/b"); err == nil {
		t.Error("a call that was stopped has written")
	}
	for ss := range s.SDK().Sessions() {
		t.Errorf("session %s remains", ss.ID())
	}
}

func TestHTTPRefuses(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	at, _ := serveHTTP(t, s, HTTP{Token: "secret", MaxBody: 100000, Hosts: []string{"files.example.org"}})
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c := &httpClient{t: t, at: at, header: http.Header{"Authorization": {"Bearer secret"}}}
	tests := []struct {
		what   string
		change func(*http.Request)
		status int
	}{
		{"as it should be", func(*http.Request) {}, 200},
		{"another path", func(r *http.Request) { r.URL.Path = "/" }, 200},
		{"no such path", func(r *http.Request) { r.URL.Path = "/other" }, 404},
		{"a name for this machine", func(r *http.Request) { r.Host = "localhost:" + u.Port() }, 200},
		{"IPv6", func(r *http.Request) { r.Host = "[::1]" }, 200},
		{"a name that was given", func(r *http.Request) { r.Host = "Files.example.org" }, 200},
		{"a rebound name", func(r *http.Request) { r.Host = "evil.example.com" }, 403},
		{"a rebound name with our port",
			func(r *http.Request) { r.Host = "evil.example.com:" + u.Port() }, 403},
		{"a name that begins like ours",
			func(r *http.Request) { r.Host = "localhost.evil.example.com" }, 403},
		{"another machine's address", func(r *http.Request) { r.Host = "192.0.2.1" }, 403},
		{"a page of this server",
			func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+u.Port()) }, 200},
		{"a page behind the proxy",
			func(r *http.Request) { r.Header.Set("Origin", "https://files.example.org") }, 200},
		{"a page of another server of this machine",
			func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8080") }, 403},
		{"a page of this machine without a port",
			func(r *http.Request) { r.Header.Set("Origin", "http://localhost") }, 403},
		{"a page behind another port of the proxy",
			func(r *http.Request) { r.Header.Set("Origin", "https://files.example.org:8443") }, 403},
		{"a page of another site",
			func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") }, 403},
		{"a page of nowhere", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"two origins", func(r *http.Request) { r.Header["Origin"] = []string{"http://localhost", "https://evil.example.com"} }, 403},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"a wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secre") }, 401},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Basic secret") }, 401},
		{"a token in lower case",
			func(r *http.Request) { r.Header.Set("Authorization", "bearer secret") }, 200},
		{"another type", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"an unknown session", func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "x") }, 404},
		{"another method", func(r *http.Request) { r.Method = http.MethodPut }, 405},
	}
	for _, tt := range tests {
		r := c.request(http.MethodPost, greeting("{}"))
		tt.change(r)
		if answer, body := c.do(r); answer.StatusCode != tt.status {
			t.Errorf("%s: %s %s; want %d", tt.what, answer.Status, body, tt.status)
		}
	}
	r := c.request(http.MethodPost, `{"redirect_uris":["http://127.0.0.1:1/"]}`)
	r.URL.Path = "/register"
	r.Header.Del("Authorization")
	if _, body := c.do(r); !strings.Contains(body, "the bearer token is missing or wrong, and there is no sign-in") {
		t.Errorf("a client that looks for a sign-in reads %q", body)
	}
	bodies := []struct {
		body   string
		status int
		code   int
	}{
		{"", 400, -32600},
		{"garbage", 400, -32700},
		{"{}", 400, -32600},
		{"42", 400, -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, -32600},
		{`"` + strings.Repeat("x", 100000) + `"`, 413, 0},
		{"[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/list"},`, 100) +
			`{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, -32600},
	}
	for _, tt := range bodies {
		r, body := c.post(tt.body)
		var a answer
		json.Unmarshal([]byte(body), &a)
		if r.StatusCode != tt.status || a.Error.Code != tt.code {
			t.Errorf("%.80s\n got %s %s\nwant %d and code %d", tt.body, r.Status, body, tt.status, tt.code)
		}
	}
}

func TestHTTPNeedsATokenWhereOthersCanReachIt(t *testing.T) {
	s, _ := newServer(t, nil)
	for _, h := range []HTTP{{}, {Addr: "127.0.0.1:0"}, {Addr: "0.0.0.0:0"}, {Addr: "[::]:0"},
		{Addr: "0.0.0.0:0", NoToken: true}} {
		if err := s.HTTP(t.Context(), h); !errors.Is(err, ErrNoToken) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	at, _ := serveHTTP(t, s, HTTP{Addr: "0.0.0.0:0", Token: "secret"})
	c := &httpClient{t: t, at: strings.Replace(at, "[::]", "127.0.0.1", 1),
		header: http.Header{"Authorization": {"Bearer secret"}}}
	c.at = strings.Replace(c.at, "0.0.0.0", "127.0.0.1", 1)
	for host, status := range map[string]int{"192.0.2.1": 200, "evil.example.com": 403} {
		r := c.request(http.MethodPost, greeting("{}"))
		r.Host = host
		if answer, _ := c.do(r); answer.StatusCode != status {
			t.Errorf("host %s: %s, want %d", host, answer.Status, status)
		}
	}
	for _, addr := range []string{":0", "0", "127.0.0.1:0", "localhost:0", "[::1]:0"} {
		if a, err := (HTTP{Addr: addr, NoToken: true}).address(); err != nil || !a.IP.IsLoopback() {
			t.Errorf("address %s is %v, %v", addr, a, err)
		}
	}
}

// TestHTTPSessionsAreBounded has more clients than sessions. A further one takes the place of the session that is
// idle for longest, but of none in use.
func TestHTTPSessionsAreBounded(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "alpha"})
	front := httptest.NewUnstartedServer(nil)
	g := s.guarded(HTTP{MaxSessions: 2, NoToken: true}.withDefaults(), front.Listener.Addr())
	front.Config.Handler = g
	front.Start()
	t.Cleanup(front.Close)
	t.Cleanup(func() { s.shutDown(door.NewServer(t.Context(), nil)) })
	at := front.URL + "/mcp"
	a, b := newHTTPClient(t, at), newHTTPClient(t, at)
	ping := func(c *httpClient) int {
		r, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return r.StatusCode
	}
	if ping(b) != 200 || ping(a) != 200 { // b is idle for longest
		t.Error("a session ended before there were too many")
	}
	refused := func(what string) {
		t.Helper()
		d := &httpClient{t: t, at: at}
		if r, body := d.post(greeting("{}")); r.StatusCode != 503 || r.Header.Get("Retry-After") != "30" {
			t.Errorf("%s: %s %s", what, r.Status, body)
		}
	}
	refused("where all sessions were used a moment ago")
	g.sessions.minIdle = 0
	c := newHTTPClient(t, at)
	if ping(a) != 200 || ping(b) != 404 {
		t.Error("the third session did not end the one that was idle for longest")
	}
	unlock := lockFolder(t, dir)
	defer unlock()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for _, busy := range []*httpClient{a, c} {
		waiting.Go(func() { busy.post(call("write", "write_file", `{"path":"b","content":"x"}`)) })
		defer busy.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"write"}}`)
	}
	awaitRunning(t, s, 2)
	refused("where all sessions have calls that run")
}

// TestHTTPManyClients has 1,000 clients with the token at once, beside a call that runs: each gets its answers, or
// is refused at the begin, and the call goes on.
func TestHTTPManyClients(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "alpha"})
	const token = "Bearer secret"
	at, _ := serveHTTP(t, s, HTTP{Token: strings.TrimPrefix(token, "Bearer ")})
	long := &httpClient{t: t, at: at, header: http.Header{"Authorization": {token}}}
	greeted, _ := long.post(greeting("{}"))
	long.session = greeted.Header.Get("Mcp-Session-Id")
	long.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	unlock := lockFolder(t, dir)
	written := make(chan answer, 1)
	go func() { written <- long.ask(call("write", "write_file", `{"path":"b","content":"x"}`)) }()
	awaitRunning(t, s, 1)
	post := func(session, body string) (status int, id, text string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, "", err.Error()
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			return 0, "", err.Error()
		}
		return answer.StatusCode, answer.Header.Get("Mcp-Session-Id"), string(data)
	}
	var all sync.WaitGroup
	var answered, refused atomic.Int64
	for range 1000 {
		all.Go(func() {
			status, id, text := post("", greeting("{}"))
			if status == http.StatusServiceUnavailable {
				refused.Add(1)
				return
			}
			if status == 200 {
				status, _, text = post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			if status == http.StatusAccepted {
				status, _, text = post(id, call(2, "read_file", `{"path":"a.txt"}`))
			}
			if status != 200 || !strings.Contains(text, "alpha") {
				t.Errorf("%d %q", status, text)
			}
			answered.Add(1)
		})
	}
	all.Wait()
	if answered.Load() < 255 || answered.Load()+refused.Load() != 1000 {
		t.Errorf("%d clients were answered, and %d refused", answered.Load(), refused.Load())
	}
	unlock()
	if a := <-written; a.Result.IsError || a.text() == "" {
		t.Errorf("the call that ran: %+v", a)
	}
}

func TestHTTPIdleSessionsEnd(t *testing.T) {
	s, _ := newServer(t, nil)
	at, _ := serveHTTP(t, s, HTTP{Idle: time.Second})
	c := beginHTTP(t, at)
	open := func() bool {
		for range s.SDK().Sessions() {
			return true
		}
		return false
	}
	for began := time.Now(); open(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("an idle session goes on")
		}
	}
	if r, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.StatusCode != 404 {
		t.Errorf("a session that has ended answers: %s", r.Status)
	}
}

func TestHTTPSessionsEnd(t *testing.T) {
	s, _ := newServer(t, nil)
	at, _ := serveHTTP(t, s, HTTP{Life: time.Second})
	c := beginHTTP(t, at)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if r, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.StatusCode == 404 {
			break
		}
		if time.Since(began) > patience {
			t.Fatal("a session goes on for ever")
		}
	}
}

func TestHTTPDeleteStopsCalls(t *testing.T) {
	s, dir := newServer(t, nil)
	at, _ := serveHTTP(t, s, HTTP{})
	c := newHTTPClient(t, at)
	unlock := lockFolder(t, dir)
	defer unlock()
	stopped := make(chan string, 1)
	go func() {
		_, body := c.post(call(1, "write_file", `{"path":"a","content":"x"}`))
		stopped <- body
	}()
	awaitRunning(t, s, 1)
	if r, _ := c.do(c.request(http.MethodDelete, "")); r.StatusCode != 204 {
		t.Errorf("to end a session: %s", r.Status)
	}
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Error("the call goes on")
	}
}

func TestHTTPManyClientsAtOnce(t *testing.T) {
	s, _ := newServer(t, nil)
	at, _ := serveHTTP(t, s, HTTP{})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			c := newHTTPClient(t, at)
			for i := range 12 {
				path := fmt.Sprintf("%d-%d", n, i)
				if a := c.ask(call(i, "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, path))); a.Result.IsError {
					t.Error(a.text())
				}
				if a := c.ask(call(i, "read_file", fmt.Sprintf(`{"path":%q}`, path))); a.text() != path {
					t.Error(a.text())
				}
			}
		})
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss, c := range s.sessions {
		for other, d := range s.sessions {
			if ss != other && c.state == d.state {
				t.Error("two clients share what they know")
			}
		}
	}
}

func TestSlowBodyIsRead(t *testing.T) {
	s, _ := newServer(t, nil)
	at, _ := serveHTTP(t, s, HTTP{})
	c := &httpClient{t: t, at: at}
	r := c.request(http.MethodPost, "")
	body, w := io.Pipe()
	r.Body, r.ContentLength = body, -1
	go func() {
		for part := range bytes.SplitSeq([]byte(greeting("{}")), []byte(",")) {
			time.Sleep(5 * time.Millisecond)
			w.Write(append(part, ','))
		}
		w.Close()
	}()
	// for the last comma
	if answer, text := c.do(r); answer.StatusCode != 400 || !strings.Contains(text, "-32700") {
		t.Errorf("got %s %s", answer.Status, text)
	}
}

func TestHTTPServesOverAUnixSocket(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	path := filepath.Join(t.TempDir(), "s")
	at, stop := serveHTTP(t, s, HTTP{Addr: "unix:" + path})
	if at != "unix:"+path {
		t.Errorf("served at %s", at)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }
	c := &httpClient{t: t, at: "http://skill/mcp",
		via: &http.Client{Transport: &http.Transport{DialContext: dial}}}
	if r, body := c.post(greeting("{}")); r.StatusCode != 200 {
		t.Errorf("got %s %s", r.Status, body)
	}
	second, _ := newServer(t, nil)
	if err := second.HTTP(t.Context(), HTTP{Addr: "unix:" + path}); err == nil ||
		!strings.Contains(err.Error(), "served already") {
		t.Errorf("a second server at the same path: %v", err)
	}
	c.via.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	serveHTTP(t, second, HTTP{Addr: "unix:" + path})
}

// TestHTTPServesBothKindsOfVersions calls in a session, and without one as clients do
// since 2026-07-28.
func TestHTTPServesBothKindsOfVersions(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	at, _ := serveHTTP(t, s, HTTP{})
	if a := newHTTPClient(t, at).ask(call(1, "read_file", `{"path":"a.txt"}`)); a.text() != "alpha" {
		t.Errorf("in a session: %+v", a)
	}
	c := &httpClient{t: t, at: at, header: http.Header{"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"read_file"}}}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if a := c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},` + meta + `}}`); a.text() != "alpha" {
		t.Errorf("without a session: %+v", a)
	}
}

// TestHTTPServesBesideOthersWhoDoNot opens sessions that are never ended and requests
// with the token whose heads or bodies do not come.
func TestHTTPServesBesideOthersWhoDoNot(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	at, _ := serveHTTP(t, s, HTTP{Token: "secret"})
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	many := 1200 // more than maxRequests
	for i := range many {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer secret\r\n", u.Host)
		if i%2 == 0 {
			fmt.Fprint(c, "Content-Length: 100\r\n\r\n{")
		}
	}
	var last *httpClient
	for range 200 { // fewer than there may be sessions
		last = &httpClient{t: t, at: at, header: http.Header{"Authorization": {"Bearer secret"}}}
		r, body := last.post(greeting("{}"))
		if last.session = r.Header.Get("Mcp-Session-Id"); r.StatusCode != 200 {
			t.Fatalf("%s %s", r.Status, body)
		}
	}
	if a := last.ask(call(1, "read_file", `{"path":"a.txt"}`)); a.text() != "alpha" {
		t.Errorf("got %+v", a)
	}
}

// BenchmarkHTTPCall is a call over one connection of HTTP.
func BenchmarkHTTPCall(b *testing.B) {
	s, _ := newServer(b, map[string]string{"a.txt": strings.Repeat("0123456789abcde\n", 128)})
	ready, ended := make(chan string, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(b.Context())
	go func() { ended <- s.HTTP(ctx, HTTP{NoToken: true, Ready: func(url string) { ready <- url }}) }()
	defer func() {
		cancel()
		<-ended
	}()
	u, err := url.Parse(<-ready)
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	session := ""
	ask := func(body string) *http.Response {
		head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", u.Host, len(body))
		if session != "" {
			head += "Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
		}
		if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
			b.Fatal(err)
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			b.Fatal(err)
		}
		return answer
	}
	session = ask(greeting("{}")).Header.Get("Mcp-Session-Id")
	read := call(1, "read_file", `{"path":"a.txt"}`)
	ask(read)
	b.ReportAllocs()
	for b.Loop() {
		if answer := ask(read); answer.StatusCode != 200 {
			b.Fatal(answer.Status)
		}
	}
}
