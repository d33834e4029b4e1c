package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestReadmeMCP runs the server of each block that configures an MCP client, as
// the client would, on a folder of its own.
func TestReadmeMCP(t *testing.T) {
	var commands [][]string
	for _, block := range blocks(t, mcpReadme, "json") {
		commands = append(commands, configured(t, block)...)
	}
	for _, block := range blocks(t, mcpReadme, "go") {
		if strings.Contains(block, "CommandTransport") {
			commands = append(commands, started(t, block))
		}
	}
	if len(commands) != 3 {
		t.Errorf("the documents configure %d clients, want 3", len(commands))
	}
	for _, c := range commands {
		tools := listTools(t, c)
		if len(tools) < 9 {
			t.Errorf("%q serves %q", c, tools)
		}
	}
}

// configured returns the commands of a client's configuration file.
func configured(t *testing.T, block string) (commands [][]string) {
	type server struct {
		Command string
		Args    []string
	}
	var file struct{ McpServers, Servers map[string]server }
	if err := json.Unmarshal([]byte(block), &file); err != nil {
		t.Fatalf("%v in %s", err, block)
	}
	for _, list := range []map[string]server{file.McpServers, file.Servers} {
		for _, s := range list {
			commands = append(commands, append([]string{s.Command}, s.Args...))
		}
	}
	return commands
}

// started returns the words of the exec.Command in a piece of Go.
func started(t *testing.T, block string) (words []string) {
	expr, err := parser.ParseExpr("func() {\n" + block + "}")
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(expr, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Command" {
			return true
		}
		for _, a := range call.Args {
			word, err := strconv.Unquote(a.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, word)
		}
		return false
	})
	return words
}

// listTools starts a server and returns the names of its tools.
func listTools(t *testing.T, words []string) (names []string) {
	dir := t.TempDir()
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "/home/you/project", dir)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
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
	defer cmd.Wait()
	defer in.Close()
	answers := bufio.NewReader(out)
	ask := func(line string) (answer struct {
		Result struct {
			Tools      []struct{ Name string }
			ServerInfo struct{ Name string }
		}
	}) {
		io.WriteString(in, line+"\n")
		reply, err := answers.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(reply, &answer)
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%q: %w", words, err))
		}
		return answer
	}
	hello := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`)
	if hello.Result.ServerInfo.Name != "skill" {
		t.Errorf("%q says %+v", words, hello)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for _, tool := range ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
