package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSetupByteOrderMark keeps the mark with which some editors begin a file.
func TestSetupByteOrderMark(t *testing.T) {
	for _, tt := range []struct{ host, file, before, after string }{
		{"cursor", ".cursor/mcp.json", "\ufeff{\"a\": 1}\n", "\ufeff{\"a\": 1,\n"},
		{"codex", ".codex/config.toml", "\ufeffmodel = \"m\"\n", "\ufeffmodel = \"m\"\n\n[mcp_servers.skill]\n"},
	} {
		home := t.TempDir()
		file := filepath.Join(home, filepath.FromSlash(tt.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tt.before), 0o666); err != nil {
			t.Fatal(err)
		}
		c := &cli{stdout: io.Discard, stderr: io.Discard, getenv: func(name string) string {
			return map[string]string{"HOME": home, "USERPROFILE": home}[name]
		}}
		if code := c.run(t.Context(), []string{"setup", tt.host}); code != exitOK {
			t.Errorf("%s: exit code %d", tt.host, code)
		}
		if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), tt.after) || strings.Count(string(got), "\ufeff") != 1 {
			t.Errorf("%s: %q, %v", tt.host, got, err)
		}
	}
}
