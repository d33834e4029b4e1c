//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSetupOfNoFile refuses a pipe in the place of a host's file, and does not wait for it.
func TestSetupOfNoFile(t *testing.T) {
	home := t.TempDir()
	pipe := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.Mkdir(filepath.Dir(pipe), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c := &cli{stdout: io.Discard, stderr: &said, getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
	if code := c.run(t.Context(), []string{"setup", "cursor"}); code != exitFailed || !strings.Contains(said.String(), "mcp.json is not a file") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}
