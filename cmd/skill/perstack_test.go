package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// perstackServer is skill mcp in a process of its own, spoken to line by line.
type perstackServer struct {
	in     io.WriteCloser
	out    *bufio.Reader
	cmd    *exec.Cmd
	stderr strings.Builder // complete when the server has stopped
	calls  int
	line   []byte // the last one received
}

func startPerstack(t *testing.T, dir string, env map[string]string, flags ...string) *perstackServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The order is the one that the original server was given.
	vars := []string{"PATH=" + env["PATH"], "HOME=" + env["HOME"], noSleep}
	return startServer(t, &exec.Cmd{Path: self,
		Args: append([]string{"skill", "mcp", "--tools", "perstack", "-C", dir}, flags...), Env: vars})
}

// startServer starts a server and greets it. It ends with the test.
func startServer(t *testing.T, cmd *exec.Cmd) *perstackServer {
	t.Helper()
	s := &perstackServer{cmd: cmd}
	cmd.Stderr = &s.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	s.in, s.out = in, bufio.NewReader(out)
	s.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"replay","version":"1"}}}`)
	s.receive(t)
	s.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// stop ends the server and returns what it printed beside its answers. A second call
// does nothing.
func (s *perstackServer) stop(t *testing.T) string {
	t.Helper()
	if s.cmd.ProcessState == nil {
		s.in.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, s.stderr.String())
		}
	}
	return s.stderr.String()
}

func (s *perstackServer) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// perstackReply is what the server answers to a request.
type perstackReply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *perstackServer) receive(t *testing.T) (r perstackReply) {
	t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the server answered %q: %v", line, err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	s.line = line
	return r
}

// call sends one call and waits for its result.
func (s *perstackServer) call(t *testing.T, c perstackCall) (r perstackResult) {
	t.Helper()
	reply := s.ask(t, c)
	if reply.Error != nil {
		t.Fatalf("%s was answered %s", c.Name, reply.Error)
	}
	if err := json.Unmarshal(reply.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask sends one call and waits for what is answered.
func (s *perstackServer) ask(t *testing.T, c perstackCall) perstackReply {
	t.Helper()
	s.calls++
	params, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, s.calls, params))
	reply := s.receive(t)
	if reply.ID != s.calls {
		t.Fatalf("call %d was answered as call %d", s.calls, reply.ID)
	}
	return reply
}

// perstackDefault starts a server with the environment of this test.
func perstackDefault(t *testing.T, flags ...string) *perstackServer {
	return startPerstack(t, t.TempDir(),
		map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir()}, flags...)
}

// TestPerstackTools lists the tools in the manual's order, in few bytes.
func TestPerstackTools(t *testing.T) {
	s := perstackDefault(t)
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	reply := s.receive(t)
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(reply.Result, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	want := strings.Fields("attemptCompletion todo clearTodo healthCheck exec readTextFile readImageFile readPdfFile writeTextFile " +
		"appendTextFile editTextFile moveFile deleteFile getFileInfo listDirectory createDirectory deleteDirectory")
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	if len(reply.Result) > 8<<10 {
		t.Errorf("the list has %d bytes", len(reply.Result))
	}
}

// TestPerstackParallelTodos sends a hundred calls without waiting.
func TestPerstackParallelTodos(t *testing.T) {
	s := perstackDefault(t)
	for i := range 100 {
		s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"todo","arguments":{"newTodos":["%d"]}}}`, i+1, i))
	}
	for range 100 {
		s.receive(t)
	}
	s.calls = 100
	var list struct {
		Todos []struct {
			ID    int
			Title string
		}
	}
	r := s.call(t, perstackCall{Name: "todo", Arguments: json.RawMessage(`{}`)})
	if err := json.Unmarshal([]byte(r.Content[0].Text), &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, todo := range list.Todos {
		seen[todo.Title] = true
		if todo.ID != i {
			t.Errorf("entry %d has the id %d", i, todo.ID)
		}
	}
	if len(seen) != 100 || len(list.Todos) != 100 {
		t.Errorf("%d entries, %d of them distinct, are left of 100", len(list.Todos), len(seen))
	}
}

// TestMaxText takes the limits of the manual away, or sets others.
func TestMaxText(t *testing.T) {
	for _, tt := range []struct {
		setting string
		length  int
		failed  bool
	}{
		{"", 10000, false},
		{"", 10001, true},
		{"max-text = 3\n", 3, false},
		{"max-text = 3\n", 4, true},
		{"max-text = 0\n", 1 << 20, false},
	} {
		home := t.TempDir()
		at, err := (&cli{console: console{getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}).getenv.places()
		if err != nil {
			t.Skip("the folder of configurations is not in HOME here")
		}
		config := at.config
		if err := errors.Join(os.MkdirAll(filepath.Join(config, "skill"), 0o777),
			os.WriteFile(filepath.Join(config, "skill", rulesFile), []byte(tt.setting), 0o666)); err != nil {
			t.Fatal(err)
		}
		s := startPerstack(t, t.TempDir(), map[string]string{"PATH": os.Getenv("PATH"), "HOME": home})
		args := fmt.Sprintf(`{"path":"f","text":"%s"}`, strings.Repeat("x", tt.length))
		if r := s.call(t, perstackCall{Name: "writeTextFile", Arguments: json.RawMessage(args)}); r.IsError != tt.failed {
			t.Errorf("%q: %d units: %.200s", tt.setting, tt.length, r.Content[0].Text)
		}
	}
}

// TestPerstackTakesNoPrompts says where the dialect is served.
func TestPerstackTakesNoPrompts(t *testing.T) {
	out, errs, code := play(t, new(cli), "", "--tools", "perstack", "readTextFile", "a.txt")
	want := "skill: --tools perstack takes no prompts; \"skill mcp --tools perstack\" serves it\nusage: "
	if out != "" || !strings.HasPrefix(errs, want) || code != exitUsage {
		t.Errorf("printed %q and %q, exit %d", out, errs, code)
	}
}
