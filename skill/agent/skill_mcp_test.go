package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	skill.HelperMain()
	if len(os.Args) > 2 && os.Args[1] == "mcp-server" {
		serveSkill(os.Args[2])
		return
	}
	os.Exit(needs.Run(m))
}

// skillServer is an MCP server with tools of all kinds.
func skillServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, reads bool, do func(args map[string]any) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args map[string]any
				json.Unmarshal(r.Params.Arguments, &args)
				return do(args)
			})
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo.text", true, func(args map[string]any) (*mcp.CallToolResult, error) { return text(fmt.Sprint(args["text"])), nil })
	s.AddTool(&mcp.Tool{Name: "trace", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(fmt.Sprint(r.Params.Meta["traceparent"])), nil
		})
	add("env", true, func(map[string]any) (*mcp.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n") + "\n" + strconv.Itoa(os.Getpid())), nil
	})
	add("fails", false, func(map[string]any) (*mcp.CallToolResult, error) { return nil, fmt.Errorf("broken on purpose") })
	add("empty", false, func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	add("picture", true, func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png",
			Data: []byte("png")}, &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")}}}, nil
	})
	add("structured", true, func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, nil
	})
	add("both", true, func(map[string]any) (*mcp.CallToolResult, error) {
		r := text("one 1")
		r.StructuredContent = map[string]any{"n": 1, "more": "detail"}
		return r, nil
	})
	add("told", true, func(map[string]any) (*mcp.CallToolResult, error) {
		r := text(`one says "hi", 2`)
		r.StructuredContent = map[string]any{"n": 2, "said": []any{`says "hi"`, nil}}
		return r, nil
	})
	add("large", true, func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: strings.Repeat("large ", maxResult/8)},
			&mcp.TextContent{Text: strings.Repeat("large ", maxResult/8)},
			&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, maxInline/2)},
			&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 2)},
		}}, nil
	})
	add("documents", true, func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///d",
				MIMEType: "application/pdf", Blob: []byte("%PDF")}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "the text"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///z",
				MIMEType: "application/zip", Blob: []byte("PK")}},
			&mcp.ResourceLink{URI: "file:///b", Name: "b", Title: "b", Description: "of text", MIMEType: "text/plain"}, &mcp.TextContent{},
		}}, nil
	})
	add("huge", false, func(map[string]any) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("huge ", maxMessage/5+1)), nil
	})
	add("hangs", false, func(map[string]any) (*mcp.CallToolResult, error) { select {} })
	add("crashes", false, func(map[string]any) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "I cannot go on")
		os.Exit(3)
		return nil, nil
	})
	return s
}

// serveSkill is an MCP server over stdio that goes wrong in one way.
func serveSkill(mode string) {
	s := skillServer()
	switch mode {
	case "mute":
		time.Sleep(time.Hour) // an empty select would be a deadlock without cgo
	case "gone":
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(1)
	case "version":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &m); m.Method == "initialize" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"v","version":"1"}}}`+"\n", m.ID)
			} else if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			}
		}
		return
	case "silent", "modern": // older servers pass over what they do not know, newer ones know no initialize
		in, out := io.Pipe()
		go func() {
			for lines := bufio.NewReader(os.Stdin); ; {
				line, err := lines.ReadString('\n')
				var m struct {
					ID     json.RawMessage
					Method string
				}
				json.Unmarshal([]byte(line), &m)
				switch {
				case err != nil:
					out.Close()
					return
				case mode == "silent" && m.Method == "server/discover":
				case mode == "modern" && m.Method == "initialize":
					fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
				default:
					io.WriteString(out, line)
				}
			}
		}()
		s.Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: os.Stdout})
		return
	case "flood":
		go func() {
			for {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 1000))
			}
		}()
	case "many", "too-many":
		n := 500
		if mode == "too-many" {
			n = 1200
		}
		for i := range n {
			s.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool%d", i),
				InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
		}
	case "prints":
		fmt.Print("Welcome!\n{\"no\":\n", strings.Repeat("-", 1<<20), "\n")
	case "logs":
		fmt.Print(`{"level":"info","msg":"listening on stdio"}`, "\n",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`, "\n")
		s.AddTool(&mcp.Tool{Name: "log", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				fmt.Println(`{"level":"info","msg":"called"}`)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "logged"}}}, nil
			})
	case "changes":
		s.AddTool(&mcp.Tool{Name: "more", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				s.AddTool(&mcp.Tool{Name: "hidden", InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}}, nil
					})
				time.Sleep(200 * time.Millisecond) // the SDK tells its client of several changes together
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "added"}}}, nil
			})
	case "tells":
		s.AddTool(&mcp.Tool{Name: os.Getenv("TEST_KEY"), Description: os.Getenv("TEST_KEY"),
			InputSchema: json.RawMessage(`{"type":"object","title":"` + os.Getenv("TEST_KEY") + `"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.ImageContent{MIMEType: os.Getenv("TEST_KEY"), Data: []byte("x")},
					&mcp.ResourceLink{URI: "file:///" + os.Getenv("TEST_KEY"), Name: os.Getenv("TEST_KEY")},
				}}, errors.New(os.Getenv("TEST_KEY"))
			})
	case "family":
		child := exec.Command(os.Args[0], "mcp-server", "mute")
		child.Start()
		os.Setenv("CHILD", strconv.Itoa(child.Process.Pid))
	}
	s.Run(context.Background(), &mcp.StdioTransport{})
	if mode == "stays" {
		time.Sleep(time.Hour)
	}
}

// withSkill gives the lab's expert an MCP server as a skill, and a helper that
// watches it.
func (l *lab) withSkill(mode string, change func(*SkillConfig)) {
	l.Helper()
	program, err := os.Executable()
	if err != nil {
		l.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: l.dir, NoSync: true, Helper: program})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { x.Close() })
	c := SkillConfig{Type: stdioSkill, Command: program, Args: []string{"mcp-server", mode}}
	if change != nil {
		change(&c)
	}
	l.cfg.Executor = x
	l.cfg.Experts["e"] = Expert{Instruction: "Do it.", Skills: map[string]SkillConfig{"s": c}}
}

// results are the texts of the results that the model is sent with a request.
func (l *lab) results(request int) (list []string) {
	messages := l.asked[request].Messages
	for _, r := range messages[len(messages)-1].Contents {
		var texts []string
		for _, p := range r.Contents {
			texts = append(texts, string(p.Type)+": "+p.Text+p.EncodedData)
		}
		list = append(list, strings.Join(texts, "; "))
	}
	return list
}

// TestTraceparent sends the trace context of a call with it, if there is one.
func TestTraceparent(t *testing.T) {
	l := newLab(t, calls("trace {}", "trace {}"), calls("attemptCompletion"), "done")
	l.withSkill("fine", nil)
	l.cfg.Traceparent = func(callID string) string {
		return map[string]string{"t0": "00-1-2-01"}[callID]
	}
	l.ran("go")
	if got := l.results(1); !slices.Equal(got, []string{"textPart: 00-1-2-01", "textPart: <nil>"}) {
		t.Errorf("the server is sent %q", got)
	}
}

func TestSkillOverStdio(t *testing.T) {
	t.Setenv("GH_TOKEN", "gh-planted-token")
	t.Setenv("OTHER", "not-to-be-seen")
	l := newLab(t, calls(`echo_text {"text":"hello"}`, "fails {}", `empty {"a": [1, "<"]}`, "picture {}",
		"env {}"), calls("attemptCompletion"), "done")
	l.withSkill("fine", func(c *SkillConfig) { c.RequiredEnv, c.Rule = []string{"GH_TOKEN"}, "Be careful." })
	events := l.ran("go")
	got := l.results(1)
	want := []string{"textPart: hello", "textPart: Error calling tool fails: MCP error 0: broken on purpose",
		"textPart: Tool empty returned nothing with arguments: {\"a\":[1,\"<\"]}",
		"imageInlinePart: cG5n; textPart: (A sound of type audio/wav and 3 bytes cannot be shown)"}
	if !slices.Equal(got[:4], want) {
		t.Errorf("results\n got %q\nwant %q", got[:4], want)
	}
	if !strings.Contains(got[4], "GH_TOKEN=[redacted]") || !strings.Contains(got[4], "PATH=") ||
		strings.Contains(got[4], "OTHER") || strings.Contains(got[4], "HOME=") {
		t.Errorf("the environment is %s", got[4])
	}
	if text := l.asked[0].Messages[0].Contents[0].Text; !strings.Contains(text, "\"s\" skill rules:\nBe careful.") {
		t.Errorf("the instruction is %s", text)
	}
	if c := events[2].ToolCall; c.SkillName != "s" || c.ToolName != "echo_text" {
		t.Errorf("the first call is %+v", c)
	}
	lines := strings.Split(got[4], "\n")
	gone(t, lines[len(lines)-1])
}

// gone checks that a process has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	if !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("process %d is still there: %v", n, err)
	}
}

func TestSkillGoesWrong(t *testing.T) {
	env := "env {}"
	for _, tt := range []struct {
		mode    string
		answers []any
		want    string // in the first results, or in the error
		err     bool
	}{
		{"mute", nil, "skill s: it was not ready within 1s", true},
		{"gone", nil, "; it said: no license", true},
		{"version", nil, `unsupported protocol version: "2099-01-01"`, true},
		{"too-many", nil, "skill s: it lists more than 1000 tools", true},
		{"many", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"prints", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"fine", []any{calls("huge"), calls("attemptCompletion"), "done"},
			"the server sent a message of more than 33554432 bytes", false},
		{"silent", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"modern", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"flood", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"stays", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"family", []any{calls(env), calls("attemptCompletion"), "done"}, "PATH=", false},
		{"fine", []any{calls("hangs {}"), calls("attemptCompletion"), "done"},
			"Error calling tool hangs: no answer within 1s", false},
		{"fine", []any{calls("crashes {}"), calls("echo_text {}"), calls("attemptCompletion"), "done"},
			"exited with 3; it said: I cannot go on", false},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, tt.answers...)
			l.withSkill(tt.mode, nil)
			l.cfg.ready, l.cfg.Timeout = 3*time.Minute, 3*time.Minute
			if tt.mode == "mute" {
				l.cfg.ready = time.Second
			}
			if strings.Contains(tt.want, "no answer within 1s") {
				l.cfg.Timeout = time.Second
			}
			_, err := l.run("go")
			if tt.err {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("the error is %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := l.results(1)[0]; !strings.Contains(got, tt.want) {
				t.Errorf("the result is %s, want %q in it", got, tt.want)
			} else if lines := strings.Split(got, "\n"); tt.want == "PATH=" {
				gone(t, lines[len(lines)-1])
				if i := slices.IndexFunc(lines,
					func(s string) bool { return strings.HasPrefix(s, "CHILD=") }); i >= 0 {
					gone(t, strings.TrimPrefix(lines[i], "CHILD="))
				} else if tt.mode == "family" {
					t.Errorf("there is no child: %s", got)
				}
			}
		})
	}
}

func TestSkillPickAndOmit(t *testing.T) {
	l := newLab(t, calls("attemptCompletion"), "done")
	l.withSkill("fine", func(c *SkillConfig) {
		c.Pick, c.Omit = []string{"env", "fails", "empty", "envv"}, []string{"fails", "nothing"}
	})
	var told []string
	l.cfg.Warn = func(what string) { told = append(told, what) }
	e := l.cfg.Experts["e"]
	e.Skills[baseSkill] = SkillConfig{Type: stdioSkill, Command: "npx", Pick: []string{"readTextFile"}}
	l.ran("go")
	var names []string
	for _, tool := range l.asked[0].Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"attemptCompletion", "readTextFile", "empty", "env"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	if want := []string{"skill s: pick and omit name tools that it does not have: envv, nothing"}; !slices.Equal(told, want) {
		t.Errorf("told is %q, want %q", told, want)
	}
}

// The server of a skill is not started from a folder of PATH in which commands write.
func TestSkillsAreNotStartedFromTheWorkspace(t *testing.T) {
	l := newLab(t)
	dir := l.cfg.Executor.Dir() + "/.venv/bin"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/planted", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	l.cfg.Getenv = os.Getenv
	for _, needed := range [][]string{nil, {"PATH"}} {
		l.withSkill("fine", func(c *SkillConfig) { c.Command, c.RequiredEnv = "planted", needed })
		if _, err := l.run("go"); err == nil ||
			!strings.Contains(err.Error(), `skill s: cannot run "planted"`) {
			t.Errorf("needing %q: %v", needed, err)
		}
	}
}

// TestNpxTakesNothingFromTheWorkspace has programs and settings of npm in the workspace, where
// commands may write: npx starts none of them, and the server begins in the workspace.
func TestNpxTakesNothingFromTheWorkspace(t *testing.T) {
	t.Parallel()
	needs.Program(t, "npx")
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, calls("here"), calls("attemptCompletion"), "done")
	pkg, bin := t.TempDir(), filepath.Join(l.dir, "node_modules", ".bin")
	write := func(dir, name, text string) {
		if err := errors.Join(os.MkdirAll(dir, 0o777),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	write(pkg, "package.json", `{"name":"srv","version":"1.0.0","bin":{"srv-bin":"b.js"}}`)
	write(pkg, "b.js", `#!/usr/bin/env node
require('readline').createInterface({input: process.stdin}).on('line', line => {
	const m = JSON.parse(line)
	const result = {
		initialize: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 's', version: '1'}},
		'tools/list': {tools: [{name: 'here', inputSchema: {type: 'object'}}]},
		'tools/call': {content: [{type: 'text', text: [process.cwd(), process.env.PWD, process.env.NODE_OPTIONS, process.argv[2]].join(' ')}]},
	}[m.method]
	const error = result ? undefined : {code: -32601, message: 'no such method'}
	if (m.id !== undefined) console.log(JSON.stringify({jsonrpc: '2.0', id: m.id, result, error}))
})`)
	const planted = "#!/bin/sh\necho >\"${0%/*}/ran\"\n"
	for _, name := range []string{"node", "srv", "srv-bin"} {
		write(bin, name, planted)
	}
	write(bin, "sh.sh", planted)
	write(l.dir, ".npmrc", "script-shell="+filepath.Join(bin, "sh.sh")+"\n")
	cache := t.TempDir()
	l.cfg.Getenv = func(name string) string {
		return map[string]string{"PATH": filepath.Dir(npx) + ":/usr/bin:/bin", "npm_config_cache": cache,
			"npm_config_offline": "true"}[name]
	}
	l.cfg.ready = time.Minute
	e := l.cfg.Experts["e"]
	e.Skills = map[string]SkillConfig{baseSkill: e.Skills[baseSkill], "s": {
		Type: stdioSkill, Command: "npx", Args: []string{"file:" + pkg, "an argument"},
		RequiredEnv: []string{"npm_config_cache", "npm_config_offline"},
	}}
	l.cfg.Experts["e"] = e
	l.ran("go")
	if got, want := l.results(1)[0], "textPart: "+l.dir+" "+l.dir+"  an argument"; got != want {
		t.Errorf("the server says %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(bin, "ran")); err == nil {
		t.Error("npx has run a program of the workspace")
	}
}

func TestSkillNeeds(t *testing.T) {
	l := newLab(t)
	l.withSkill("fine", func(c *SkillConfig) { c.RequiredEnv = []string{"GH_TOKEN_NOPE"} })
	if _, err := l.run("go"); err == nil ||
		!strings.Contains(err.Error(), "Skill s requires environment variable GH_TOKEN_NOPE") {
		t.Errorf("without the variable: %v", err)
	}
	l.withSkill("fine", func(c *SkillConfig) { c.Command = "no-such-cmd" })
	if _, err := l.run("go"); err == nil ||
		!strings.Contains(err.Error(), `skill s: cannot run "no-such-cmd"`) {
		t.Errorf("without the program: %v", err)
	}
	l.cfg.Experts["e"] = Expert{Instruction: "Do it.", Skills: map[string]SkillConfig{
		baseSkill: {Type: stdioSkill, Command: "no-such-cmd", PackageName: baseSkill,
			RequiredEnv: []string{"GH_TOKEN_NOPE"}}}}
	if _, err := l.run("go"); err == nil ||
		!strings.Contains(err.Error(), "Skill @perstack/base requires environment variable GH_TOKEN_NOPE") {
		t.Errorf("without the variable of the Base Skill: %v", err)
	}
}

func TestSkillOverHTTP(t *testing.T) {
	s := skillServer()
	for name, handler := range map[string]http.Handler{
		"streamable": mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil),
		"sse":        mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil),
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(handler)
			defer web.Close()
			l := newLab(t, calls(`echo_text {"text":"hello"}`), calls("attemptCompletion"), "done")
			l.withSkill("", func(c *SkillConfig) { *c = SkillConfig{Type: sseSkill, Endpoint: web.URL} })
			l.ran("go")
			if got := l.results(1); got[0] != "textPart: hello" {
				t.Errorf("results %q", got)
			}
			web.CloseClientConnections()
		})
	}
}
