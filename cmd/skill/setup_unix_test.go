//go:build unix

package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSetupOfNoFile refuses a pipe in the place of a host's file, and does not wait for it.
func TestSetupOfNoFile(t *testing.T) {
	var said strings.Builder
	pipe, c := newHostFile(t, ".cursor/mcp.json", "", &said)
	if err := errors.Join(os.Remove(pipe), unix.Mkfifo(pipe, 0o666)); err != nil {
		t.Fatal(err)
	}
	if code := c.run(t.Context(), []string{"setup", "cursor"}); code != exitFailed ||
		!strings.Contains(said.String(), "mcp.json is not a file") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}
