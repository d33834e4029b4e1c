package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// serveMCP starts skill mcp over stdio or HTTP, and returns how a client reaches it.
func serveMCP(t *testing.T, overHTTP bool, env []string, words ...string) mcp.Transport {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words = append([]string{"skill", "mcp"}, words...)
	if !overHTTP {
		return &mcp.CommandTransport{Command: &exec.Cmd{Path: self, Args: words, Env: env}}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: append(words, "--http", "0", "--http-token-file", token), Env: env}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "skill: serving MCP at "); ok {
			return &mcp.StreamableClientTransport{Endpoint: url,
				HTTPClient: &http.Client{Transport: bearer("secret")}}
		}
	}
	t.Fatal("the program does not serve")
	return nil
}

// TestMCPAsks has clients that can ask their user and clients that cannot, over stdio and
// HTTP and in versions of the protocol with and without sessions.
func TestMCPAsks(t *testing.T) {
	const change = "--ask=change"
	for name, tt := range map[string]struct {
		flag, rules string
		replies     []string // of the user; nil if the client cannot ask
		// of the files that createDirectory d, writeTextFile f and g, deleteFile f and g leave
		left  string
		says  string // in a question or an answer
		asked int
	}{
		"no rules": {"", "", nil, "d", "", 0},
		"accepted": {"--ask=destroy", "", []string{"accept", "accept", "accept"}, "d",
			`deleteFile {"path":"f"}`, 3},
		"declined": {"--ask=destroy", "", []string{"accept", "decline", "cancel"}, "d f g",
			"The user did not allow this call", 3},
		"every change": {change, "", []string{"decline", "accept", "accept", "accept", "accept"},
			"", "createDirectory", 5},
		"cannot ask": {"--ask=destroy", "", nil, "d f g", "start skill mcp with --ask never", 0},
		"allowed":    {change, "allow = [\"*\"]", nil, "d", "", 0},
		"asked by rule": {"", "ask = [\"delete*\"]\nallow = [\"*\"]", []string{"decline", "accept"},
			"d f", "deleteFile", 2},
		"a rule, unasked": {"", "ask = [\"delete*\"]\nallow = [\"*\"]", nil, "d f g",
			"take it out of ask under [tools] in ", 0},
		"denied": {"", "deny = [\"delete*\"]\nask = [\"*\"]",
			[]string{"accept", "accept", "accept", "accept"}, "d f g",
			"The user's settings deny this tool", 4},
		"reading is asked": {"", "ask = [\"readTextFile\"]", []string{"decline"}, "d", "did not allow", 1},
	} {
		for _, overHTTP := range []bool{false, true} {
			for _, version := range []string{"2025-06-18", "2026-07-28"} {
				t.Run(fmt.Sprintf("%s/http=%t/%s", name, overHTTP, version), func(t *testing.T) {
					t.Parallel()
					dir, home := t.TempDir(), t.TempDir()
					os.WriteFile(filepath.Join(dir, "g"), []byte("g"), 0o666)
					os.MkdirAll(filepath.Join(home, ".config/skill"), 0o777)
					os.WriteFile(filepath.Join(home, ".config/skill", rulesFile),
						[]byte("[tools]\n"+tt.rules), 0o666)
					words := []string{"-C", dir, "--tools", "perstack"}
					if tt.flag != "" {
						words = append(words, tt.flag)
					}
					env := append(os.Environ(), "HOME="+home,
						"XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
					at := serveMCP(t, overHTTP, env, words...)
					var said []string
					var mu sync.Mutex
					replies := slices.Clone(tt.replies)
					o := &mcp.ClientOptions{}
					if tt.replies != nil {
						o.ElicitationHandler = func(_ context.Context,
							r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							mu.Lock()
							defer mu.Unlock()
							said = append(said, r.Params.Message)
							if len(replies) == 0 {
								return nil, fmt.Errorf("asked once more: %s", r.Params.Message)
							}
							reply := replies[0]
							replies = replies[1:]
							return &mcp.ElicitResult{Action: reply}, nil
						}
					}
					client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, o)
					s, err := client.Connect(t.Context(), at,
						&mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					if got := s.InitializeResult().ProtocolVersion; got != version {
						t.Fatalf("the version is %s", got)
					}
					for _, call := range []mcp.CallToolParams{
						{Name: "createDirectory", Arguments: map[string]any{"path": "d"}},
						{Name: "writeTextFile", Arguments: map[string]any{"path": "f", "text": "x"}},
						{Name: "readTextFile", Arguments: map[string]any{"path": "g"}},
						{Name: "writeTextFile", Arguments: map[string]any{"path": "g", "text": "y"}},
						{Name: "deleteFile", Arguments: map[string]any{"path": "f"}},
						{Name: "deleteFile", Arguments: map[string]any{"path": "g"}},
					} {
						r, err := s.CallTool(t.Context(), &call)
						if err != nil {
							t.Fatalf("%s: %v", call.Name, err)
						}
						if r.IsError {
							said = append(said, r.Content[0].(*mcp.TextContent).Text)
						}
					}
					if !strings.Contains(strings.Join(said, "\n"), tt.says) ||
						len(tt.replies)-len(replies) != tt.asked {
						t.Errorf("asked %d times, %q", len(tt.replies)-len(replies), said)
					}
					var left []string
					for _, name := range []string{"d", "f", "g"} {
						if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
							left = append(left, name)
						}
					}
					if got := strings.Join(left, " "); got != tt.left {
						t.Errorf("left are %q, want %q; %q", got, tt.left, said)
					}
				})
			}
		}
	}
}
