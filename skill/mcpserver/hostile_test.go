//go:build unix

package mcpserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/dialect"
)

// hostileNames lead outside, nowhere or in a circle. $BASE stands for the folder above
// the workspace.
var hostileNames = []string{"../out/secret", "$BASE/out/secret", "/proc/self/root/etc/passwd", "link",
	"folder/secret", "folder/new", "dangling", "loop/x",
	"secret\x00", "../ws-evil/secret", "%2e%2e/out/secret", ".skill/journal", ".git/config", "", ".",
	"d/../..", strings.Repeat("n", 5000)}

// TestHostilePathsOverStdio calls the tools of two dialects with hostile names in a
// process of its own: what is outside stays as it is and untold.
func TestHostilePathsOverStdio(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(base, "ws")
	for name, content := range map[string]string{"out/secret": "SECRET-71", "ws-evil/secret": "SECRET-71",
		"ws/a.txt": "a", "ws/d/b": "b", "ws/.git/config": "[core]"} {
		writeFile(t, filepath.Join(base, name), content)
	}
	for name, target := range map[string]string{"link": "../out/secret", "folder": "../out",
		"dangling": "../out/new", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []*dialect.Dialect{dialect.Filesystem, dialect.Perstack} {
		c, _ := start(t, ws, d.Name)
		c.greet("2025-11-25", "{}")
		for _, tool := range d.Tools {
			for i := range tool.Params() {
				if !tool.Params()[i].Path {
					continue
				}
				for _, name := range hostileNames {
					name = strings.ReplaceAll(name, "$BASE", base)
					a := c.ask(call(1, tool.Name, hostileArguments(&tool, i, name)))
					said := strings.ReplaceAll(a.text(), name, "")
					if strings.Contains(said, "SECRET-71") || strings.Contains(said, "root:x:0") ||
						strings.Contains(said, "panic") {
						t.Errorf("%s %s=%.80q: %.300s", tool.Name, tool.Params()[i].Name, name, said)
					}
				}
			}
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"out": "secret", "ws-evil": "secret"} {
		list, err := os.ReadDir(filepath.Join(base, name))
		if err != nil || len(list) != 1 || list[0].Name() != want {
			t.Errorf("%s holds %v, %v", name, list, err)
		}
		if data, _ := os.ReadFile(filepath.Join(base, name, want)); string(data) != "SECRET-71" {
			t.Errorf("%s holds %q", name, data)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(ws, ".git/config")); string(data) != "[core]" {
		t.Errorf(".git/config holds %q", data)
	}
}

// hostileArguments gives a tool's argument i the name, and others what they may be.
func hostileArguments(tool *dialect.Tool, i int, name string) string {
	args := map[string]any{}
	for j, p := range tool.Params() {
		switch {
		case j == i:
			args[p.Name] = name
		case p.Path:
			args[p.Name] = "a.txt"
		case p.Name == "command":
			args[p.Name] = "ls"
		case p.Required:
			args[p.Name] = map[string]any{"string": "a", "boolean": true, "array": []string{},
				"object": map[string]string{}}[p.Type]
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
