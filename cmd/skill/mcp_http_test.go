package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMCPOverHTTP starts the program, calls a tool with the token and without, and
// ends it with a signal.
func TestMCPOverHTTP(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Dir: dir, Args: []string{"skill", "mcp", "--tools", "filesystem", "--http",
		"0", "--http-token-file", token}}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "skill: serving MCP at "))
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("the program says %q", line)
	}
	session := ""
	post := func(token, body string) (int, string) { return postMCP(t, url, &session, token, body) }
	const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if status, answer := post("other", greeting); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", status, answer)
	}
	if status, answer := post("s3cret", greeting); status != http.StatusOK || session == "" {
		t.Fatalf("with the token: %d %s", status, answer)
	}
	_, answer := post("s3cret",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`)
	if _, event, ok := strings.Cut(answer, "data: "); ok {
		answer = event
	}
	var reply struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(answer), &reply); err != nil || len(reply.Result.Content) != 1 ||
		reply.Result.Content[0].Text != "alpha" {
		t.Errorf("the call is answered %s", answer)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// postMCP posts a message in a session, which the answer may begin.
func postMCP(t *testing.T, url string, session *string, token, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Session-Id", *session)
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	*session = a.Header.Get("Mcp-Session-Id")
	return a.StatusCode, string(data)
}

// TestMCPMakesAToken starts the program twice without a token: the one that the first
// made serves both, and is of nobody else's to read.
func TestMCPMakesAToken(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, state := t.TempDir(), t.TempDir()
	serve := func(workspace string, arguments ...string) (url, note string) {
		cmd := &exec.Cmd{Path: self, Dir: workspace, Env: append(os.Environ(), "XDG_STATE_HOME="+state),
			Args: append([]string{"skill", "mcp", "--http", "0"}, arguments...)}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		})
		lines := bufio.NewReader(stderr)
		lines.ReadString('\n') // says which tools are served
		url, _ = lines.ReadString('\n')
		if len(arguments) == 0 {
			note, _ = lines.ReadString('\n')
		}
		return strings.TrimSpace(strings.TrimPrefix(url, "skill: serving MCP at ")), note
	}
	name := filepath.Join(state, "skill", "http-token")
	url, note := serve(dir)
	kept, err := os.ReadFile(name)
	token := strings.TrimSpace(string(kept))
	if err != nil || !strings.Contains(note, token) || !strings.Contains(note, name) {
		t.Errorf("the program says %q; kept is %q, %v", note, kept, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token is kept with %v, %v", info, err)
	}
	again, note := serve(dir)
	if strings.Contains(note, token) || !strings.Contains(note, name) {
		t.Errorf("the second time the program says %q", note)
	}
	const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, at := range []string{url, again} {
		session := ""
		if status, _ := postMCP(t, at, &session, "", greeting); status != http.StatusUnauthorized {
			t.Errorf("without the token: %d", status)
		}
		session = ""
		if status, answer := postMCP(t, at, &session, token, greeting); status != http.StatusOK {
			t.Errorf("with the token: %d %s", status, answer)
		}
	}
	if _, note := serve(state); strings.Contains(note, token) || strings.Contains(note, name) {
		t.Errorf("where tools reach the state folder the program says %q", note)
	}
	open, _ := serve(dir, "--no-token")
	session := ""
	if status, _ := postMCP(t, open, &session, "", greeting); status != http.StatusOK {
		t.Errorf("with --no-token: %d", status)
	}
}
