//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestClientGoneAtOnce starts servers whose client reads no answer: each ends in order, and is
// not killed by what it writes.
func TestClientGoneAtOnce(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.Command(program, "mcp", "-C", t.TempDir())
		cmd.Args[0] = "skill"
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}}` + "\n")
		cmd.Stdout = w
		err = cmd.Run()
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}
