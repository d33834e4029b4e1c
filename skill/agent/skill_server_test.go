package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/llmfallback/remote"
	"textskill/skill"
)

func TestServerResults(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("structured {}", "documents {}", "both {}", "told {}", "large {}"), calls("attemptCompletion"), "done")
	l.withSkill("fine", nil)
	l.cfg.ready = time.Minute
	events := l.ran("go")
	got := l.results(1)
	for i, want := range []string{
		`textPart: {"a":1}`,
		"textPart: The resource file:///d:; fileInlinePart: JVBERg==; textPart: The resource file:///a:\nthe text; textPart: (The resource file:///z of type application/zip and 2 bytes cannot be shown); " +
			"textPart: There is a resource b (of text; text/plain) at file:///b; textPart: Error: No content",
		"textPart: one 1; textPart: {\"more\":\"detail\",\"n\":1}",
		"textPart: one says \"hi\", 2",
	} {
		if got[i] != want {
			t.Errorf("result %d is %s, want %s", i, shorten(got[i], 500), want)
		}
	}
	large := l.asked[1].Messages[3].Contents[4].Contents
	if n := len(large[0].Text) + len(large[1].Text); n != maxResult ||
		large[4].Text != "… 524288 bytes of text and 0 parts are not shown; ask for less at once" {
		t.Errorf("of a large result %d bytes are left, and %q", n, large[len(large)-1].Text)
	}
	for _, e := range events {
		if e.ToolResult != nil &&
			slices.ContainsFunc(e.ToolResult.Result, func(p Part) bool { return p.EncodedData != "" }) {
			t.Errorf("%s holds data", e.Type)
		}
	}
}

func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("attemptCompletion"), "done")
	l.withSkill("fine", func(c *SkillConfig) { c.Pick = []string{"env", "echo.text", "large"} })
	skills := l.cfg.Experts["e"].Skills
	second := skills["s"]
	second.Pick = []string{"env", "empty"}
	skills["t"] = second
	skills["a"] = SkillConfig{Type: interactiveSkill,
		Tools: map[string]InteractiveTool{"env": {}, "ask": {InputJSONSchema: "{}"}}}
	l.cfg.ready = time.Minute
	l.ran("go")
	var names []string
	for _, tool := range l.asked[0].Tools {
		names = append(names, tool.Name)
	}
	if got := names[len(names)-6:]; !slices.Equal(got, []string{"echo_text", "env", "large", "empty", "t_env", "ask"}) {
		t.Errorf("behind the Base Skill are the tools %q", names)
	}
}

// TestServersAreStopped ends runs in other ways than by their completion.
func TestServersAreStopped(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"fine", "stays", "family"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := newLab(t, calls("env {}"), calls("hangs {}"))
		l.withSkill(mode, nil)
		l.cfg.ready = time.Minute
		var stopped time.Time
		for e := range Run(ctx, l.cfg, "go") {
			if e.Type == CallTool && e.StepNumber == 2 {
				stopped = time.Now()
				cancel()
			}
		}
		if took := time.Since(stopped); took > 30*time.Second {
			t.Errorf("%s: it took %v to stop", mode, took)
		}
		serverGone(t, l)
		l = newLab(t, calls("env {}"), &remote.Error{Reason: "refused"})
		l.withSkill(mode, nil)
		l.cfg.ready = time.Minute
		if _, err := l.run("go"); err == nil {
			t.Error("the run did not fail")
		}
		serverGone(t, l)
	}
}

// serverGone checks that the server which told its environment has ended, and its
// child.
func serverGone(t *testing.T, l *lab) {
	t.Helper()
	lines := strings.Split(l.results(1)[0], "\n")
	gone(t, lines[len(lines)-1])
	for _, line := range lines {
		if pid, ok := strings.CutPrefix(line, "CHILD="); ok {
			gone(t, pid)
		}
	}
}

// TestServersTellNoSecrets has a server tell a credential in every place there is.
func TestServersTellNoSecrets(t *testing.T) {
	const secret = "planted-value-1"
	t.Setenv("TEST_KEY", secret)
	t.Setenv("HOME", "/nowhere/at/all")
	l := newLab(t, calls("env {}", "_redacted_ {}"), calls("attemptCompletion"), "done")
	l.withSkill("tells", func(c *SkillConfig) { c.RequiredEnv = []string{"TEST_KEY", "HOME"} })
	l.cfg.ready = time.Minute
	l.ran("go")
	got := l.results(1)
	if !strings.Contains(got[0], "TEST_KEY=[redacted]\n") ||
		!strings.Contains(got[0], "HOME=/nowhere/at/all\n") {
		t.Errorf("the environment is %s", got[0])
	}
	if want := `textPart: Error calling tool _redacted_: MCP error 0: [redacted]`; got[1] != want {
		t.Errorf("the result is %s, want %s", got[1], want)
	}
	i := slices.IndexFunc(l.asked[0].Tools, func(t Tool) bool { return t.Name == "_redacted_" })
	if i < 0 || l.asked[0].Tools[i].Doc != "[redacted]" ||
		strings.Contains(string(l.asked[0].Tools[i].Schema), secret) {
		t.Errorf("the tools are %v", l.asked[0].Tools)
	}
	files, _ := filepath.Glob(filepath.Join(l.dir, runsDir, "*", "*"))
	for _, name := range files {
		if data, err := os.ReadFile(name); err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret, or %v", name, err)
		}
	}
	if len(files) < 5 {
		t.Errorf("there are %d records", len(files))
	}
}

// TestNothingIsReachedReadOnly has servers that a workspace's mode rules out.
func TestNothingIsReachedReadOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []SkillConfig{{Type: sseSkill, Endpoint: "http://127.0.0.1:1"},
		{Type: stdioSkill, Command: "true"}} {
		l := newLab(t)
		x, err := skill.New(skill.Config{Dir: l.dir, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		l.cfg.Executor = x
		l.cfg.Experts["e"] = Expert{Instruction: "Do it.", Skills: map[string]SkillConfig{"s": c}}
		if _, err := l.run("go"); err == nil ||
			!strings.HasSuffix(err.Error(), "is refused under --read-only") {
			t.Errorf("%s: %v", c.Type, err)
		}
		x.Close()
	}
}

// TestServerThatDoesNotRead is written more than a pipe holds.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	time.AfterFunc(100*time.Millisecond, func() { w.SetWriteDeadline(time.Now()) })
	if _, err := (serverInput{w}).Write(make([]byte, 1<<20)); err == nil ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

// TestSpelledCredentials has a project that holds credentials itself.
func TestSpelledCredentials(t *testing.T) {
	t.Parallel()
	for _, c := range []SkillConfig{
		{Type: sseSkill, Endpoint: "http://user:planted-1@127.0.0.1:1/mcp?api=planted-2"},
		{Type: stdioSkill, Command: "false",
			Args: []string{"--api-key=planted-1", "--token", "planted-2", "--verbose"}},
	} {
		l := newLab(t)
		l.cfg.Experts["e"] = Expert{Instruction: "Do it.", Skills: map[string]SkillConfig{"s": c}}
		if _, err := l.run("go"); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("the error is %v", err)
		}
		l = newLab(t, calls("attemptCompletion"), "done")
		l.cfg.Experts["f"] = Expert{Instruction: "Do it.", Skills: map[string]SkillConfig{"s": c}}
		l.ran("go")
		setting := l.file("perstack/runs/run/run-setting.json")
		if strings.Contains(setting, "planted") || strings.Count(setting, redacted) != 2 {
			t.Errorf("the setting is %s", setting)
		}
	}
}

// TestServersFarAway has servers over HTTP that hang, vanish, or are none.
func TestServersFarAway(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	quiet := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(func() { close(hang); quiet.Close(); none.Close() })
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range maxMessage>>20 + 1 {
			w.Write(make([]byte, 1<<20))
		}
	}))
	t.Cleanup(large.Close)
	for endpoint, want := range map[string]string{
		large.URL:            "the server sent a message of more than 33554432 bytes",
		quiet.URL:            "skill s: it was not ready within 1s",
		none.URL:             "Not Found",
		"http://127.0.0.1:1": "connection refused",
		"ftp://127.0.0.1/x":  "skill s: ",
	} {
		l := newLab(t)
		l.cfg.ready = time.Minute
		if endpoint == quiet.URL {
			l.cfg.ready = time.Second
		}
		l.cfg.Experts["e"] = Expert{Instruction: "Do it.",
			Skills: map[string]SkillConfig{"s": {Type: sseSkill, Endpoint: endpoint}}}
		if _, err := l.run("go"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", endpoint, err, want)
		}
	}
	for name, handler := range map[string]http.Handler{
		"streamable": mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return skillServer() }, nil),
		"JSON": mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return skillServer() },
			&mcp.StreamableHTTPOptions{JSONResponse: true}),
		"SSE": mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return skillServer() }, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gone atomic.Bool
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if gone.Load() {
					panic(http.ErrAbortHandler)
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.CloseClientConnections)
			l := newLab(t, calls(`echo_text {"text":"here"}`), func(context.Context) (Answer, error) {
				gone.Store(true)
				web.CloseClientConnections()
				return calls(`echo_text {"text":"there"}`), nil
			}, calls("attemptCompletion"), "done")
			l.cfg.Timeout = 20 * time.Second
			l.cfg.Experts["e"] = Expert{Instruction: "Do it.",
				Skills: map[string]SkillConfig{"s": {Type: sseSkill, Endpoint: web.URL}}}
			start := time.Now()
			l.ran("go")
			if got := l.results(1)[0]; got != "textPart: here" {
				t.Errorf("the first result is %s", got)
			}
			if got := l.results(2)[0]; !strings.HasPrefix(got, "textPart: Error calling tool echo_text: ") {
				t.Errorf("the second result is %s", got)
			}
			t.Logf("%v: %s", time.Since(start), l.results(2)[0])
		})
	}
}

// TestServerRestarts has a server that crashes twice: it is started again once.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("crashes {}"), calls(`echo_text {"text":"back"}`), calls("crashes {}"),
		calls(`echo_text {"text":"gone"}`), calls("attemptCompletion"), "done")
	l.withSkill("fine", nil)
	l.cfg.ready = time.Minute
	l.ran("go")
	for i, want := range []string{"exited with 3; it said: I cannot go on; it was started again", "back",
		"exited with 3; it said: I cannot go on", "the server has ended"} {
		if got := l.results(i + 1)[0]; !strings.Contains(got, want) || i > 1 &&
			strings.Contains(got, "again") {
			t.Errorf("result %d is %q, want %q in it", i, got, want)
		}
	}
}

// TestServerAnswersTooMuch has a server send a message that is too long, which ends that call alone.
func TestServerAnswersTooMuch(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("huge {}"), calls(`echo_text {"text":"back"}`), calls("huge {}"),
		calls(`echo_text {"text":"again"}`), calls("attemptCompletion"), "done")
	l.withSkill("fine", nil)
	l.cfg.ready = time.Minute
	l.ran("go")
	for i, want := range []string{"more than 33554432 bytes; ask for less at once; the server was started again",
		"textPart: back", "more than 33554432 bytes", "textPart: again"} {
		if got := l.results(i + 1)[0]; !strings.Contains(got, want) || strings.Contains(got, "EPIPE") {
			t.Errorf("result %d is %q, want %q in it", i, got, want)
		}
	}
}

// TestServerSessionEnds has a server at an endpoint end its sessions: each call that it refuses
// for that is made in a new session.
func TestServerSessionEnds(t *testing.T) {
	t.Parallel()
	server := skillServer()
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"text": func(w http.ResponseWriter) { http.Error(w, "session not found", http.StatusNotFound) },
		"JSON": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		},
		"JSON for the call": nil,
		"SSE":               nil,
	} {
		var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		if name == "SSE" {
			handler = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
		}
		var mu sync.Mutex
		ended, last, echoes := map[string]bool{}, "", 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			id := r.Header.Get("Mcp-Session-Id") + r.URL.Query().Get("sessionid")
			mu.Lock()
			gone := ended[id]
			if id != "" && r.Method == http.MethodPost {
				last = id
			}
			if !gone && strings.Contains(string(body), "echo.text") {
				echoes++
			}
			mu.Unlock()
			switch {
			case !gone:
				handler.ServeHTTP(w, r)
			case refuse != nil:
				refuse(w)
			case name == "SSE":
				http.Error(w, "session not found", http.StatusNotFound)
			default:
				var m struct{ ID json.RawMessage }
				json.Unmarshal(body, &m)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, m.ID)
			}
		}))
		defer web.Close()
		end := func(text string) func(context.Context) (Answer, error) {
			return func(context.Context) (Answer, error) {
				mu.Lock()
				defer mu.Unlock()
				ended[last] = true
				return calls(`echo_text {"text":"` + text + `"}`), nil
			}
		}
		l := newLab(t, calls(`echo_text {"text":"one"}`), end("two"), calls(`echo_text {"text":"three"}`), end("four"),
			calls("attemptCompletion"), "done")
		l.withSkill("", func(c *SkillConfig) { *c = SkillConfig{Type: sseSkill, Endpoint: web.URL} })
		l.ran("go")
		for i, want := range []string{"one", "two", "three", "four"} {
			if got := l.results(i + 1)[0]; got != "textPart: "+want {
				t.Errorf("%s: result %d is %q", name, i, got)
			}
		}
		if echoes != 4 {
			t.Errorf("%s: %d calls were carried out", name, echoes)
		}
		web.CloseClientConnections()
	}
}

// TestServerLogs has a server that prints logs in JSON between its messages.
func TestServerLogs(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("log {}"), calls("log {}"), calls("attemptCompletion"), "done")
	l.withSkill("logs", nil)
	l.cfg.ready = time.Minute
	l.ran("go")
	for i := range 2 {
		if got := l.results(i + 1)[0]; got != "textPart: logged" {
			t.Errorf("result %d is %q", i, got)
		}
	}
}

// TestServerChanges has a server that gets another tool while it runs.
func TestServerChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t, calls("more {}"), calls("hidden {}"), calls("attemptCompletion"), "done")
	l.withSkill("changes", func(c *SkillConfig) { c.Pick = []string{"more", "hidden"} })
	l.cfg.ready = time.Minute
	l.ran("go")
	offered := func(i int) bool {
		return slices.ContainsFunc(l.asked[i].Tools, func(tool Tool) bool { return tool.Name == "hidden" })
	}
	if got := l.results(2)[0]; got != "textPart: found" || offered(0) || !offered(1) {
		t.Errorf("the result is %q; offered %t, then %t", got, offered(0), offered(1))
	}
}

// TestServerToken sends a token and a header to their endpoint, and to no other.
func TestServerToken(t *testing.T) {
	t.Parallel()
	var there, elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Team") != "" {
			elsewhere.Add(1)
		}
	}))
	defer other.Close()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return skillServer() }, nil)
	redirects := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case redirects:
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != "Bearer sesame-5ecret" || r.Header.Get("X-Team") != "blue-team":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			there.Add(1)
			handler.ServeHTTP(w, r)
		}
	}))
	defer web.Close()
	c := SkillConfig{Type: sseSkill, Endpoint: web.URL, BearerTokenEnv: "TEST_TOKEN",
		EnvHeaders: map[string]string{"X-Team": "TEST_TEAM"}}
	for _, redirects = range []bool{false, true} {
		l := newLab(t, calls(`echo_text {"text":"hi"}`), calls("attemptCompletion"), "done")
		l.cfg.Getenv = func(name string) string {
			return map[string]string{"TEST_TOKEN": "sesame-5ecret", "TEST_TEAM": "blue-team"}[name]
		}
		l.cfg.Experts["e"] = Expert{Key: "e", Instruction: "Do it.", Skills: map[string]SkillConfig{"s": c}}
		l.cfg.ready = time.Minute
		_, err := l.run("go")
		if (err == nil) == redirects || err != nil && strings.Contains(err.Error(), "5ecret") {
			t.Errorf("redirects %t: %v", redirects, err)
		}
	}
	if there.Load() == 0 || elsewhere.Load() > 0 {
		t.Errorf("%d requests with the token, %d elsewhere", there.Load(), elsewhere.Load())
	}
	var powers []string
	for _, p := range (Expert{Key: "e", Skills: map[string]SkillConfig{"s": c}}).powers() {
		powers = append(powers, p.String())
	}
	if want := []string{`experts.e.skills.s.endpoint = "` + web.URL + `"`,
		`experts.e.skills.s.sends = "TEST_TEAM to ` + web.URL + `"`,
		`experts.e.skills.s.sends = "TEST_TOKEN to ` + web.URL + `"`}; !slices.Equal(powers, want) {
		t.Errorf("the powers are %q, want %q", powers, want)
	}
	c.Endpoint = "http://example.org/mcp"
	if err := c.check("s"); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a token in the clear: %v", err)
	}
}

// TestObjectSchema has the schemas that MCP servers send.
func TestObjectSchema(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	const made = `{"properties":{},"type":"object"}`
	for in, want := range map[string]string{
		``: empty, `null`: empty, `[]`: empty, `true`: empty, `{"type":"string"}`: empty,
		`{}`: made, `{"type":"object"}`: made, `{"anyOf":[{}]}`: made, `{"type":["object","null"]}`: made,
		`{"type":"object","properties":null,"required":[]}`:                                               `{"properties":{},"required":[],"type":"object"}`,
		`{"type":"object","properties":null,"required":null}`:                                             made,
		`{"properties":{"a":{}}}`:                                                                         `{"properties":{"a":{}},"type":"object"}`,
		`{"type":"object","properties":{"b":{},"a":{}}}`:                                                  `{"type":"object","properties":{"b":{},"a":{}}}`,
		`{"type":["object","null"],"properties":{"a":{"type":"integer","default":12345678901234567890}}}`: `{"properties":{"a":{"default":12345678901234567890,"type":"integer"}},"type":"object"}`,
		`{"anyOf":[{"properties":{"a":{}},"required":["a"]},{"required":["a"]},{"properties":{"b":{}}}]}`: `{"properties":{"a":{},"b":{}},"type":"object"}`,
		`{"allOf":[{"properties":{"a":{}},"required":["a"]}],"required":["b"],"properties":{"b":{}}}`:     `{"properties":{"a":{},"b":{}},"required":["b","a"],"type":"object"}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"array"}}}}}`: `{"$defs":{"A":{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}},` +
			`"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`,
		`{"$ref":"#/$defs/none"}`: made,
	} {
		if got := string(objectSchema([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
