package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/skill/hook"
)

// newHostFile returns a new home directory, a host's file in it, and a program that has this home.
func newHostFile(t *testing.T, name, text string, stderr io.Writer) (file string, c *cli) {
	t.Helper()
	home := t.TempDir()
	file = filepath.Join(home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file, &cli{console: console{stdout: io.Discard, stderr: stderr, getenv: func(name string) string {
		return map[string]string{"HOME": home, "USERPROFILE": home}[name]
	}}}
}

// TestSetupByteOrderMark keeps the mark with which some editors begin a file.
func TestSetupByteOrderMark(t *testing.T) {
	for _, tt := range []struct{ host, file, before, after string }{
		{"cursor", ".cursor/mcp.json", "\ufeff{\"a\": 1}\n", "\ufeff{\"a\": 1,\n"},
		{"codex", ".codex/config.toml", "\ufeffmodel = \"m\"\n",
			"\ufeffmodel = \"m\"\n\n[mcp_servers.skill]\n"},
	} {
		file, c := newHostFile(t, tt.file, tt.before, io.Discard)
		if code := c.run(t.Context(), []string{"setup", tt.host}); code != exitOK {
			t.Errorf("%s: exit code %d", tt.host, code)
		}
		if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), tt.after) ||
			strings.Count(string(got), "\ufeff") != 1 {
			t.Errorf("%s: %q, %v", tt.host, got, err)
		}
	}
}

// TestSetupLineEnds ends the lines that it writes as the others of a file end.
func TestSetupLineEnds(t *testing.T) {
	for _, tt := range []struct{ host, file, before string }{
		{"cursor", ".cursor/mcp.json", "{\r\n  \"a\": 1\r\n}\r\n"},
		{"codex", ".codex/config.toml", "model = \"m\"\r\n"},
	} {
		file, c := newHostFile(t, tt.file, tt.before, io.Discard)
		if code := c.run(t.Context(), []string{"setup", tt.host}); code != exitOK {
			t.Errorf("%s: exit code %d", tt.host, code)
		}
		if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), "skill") ||
			strings.Count(string(got), "\n") != strings.Count(string(got), "\r\n") {
			t.Errorf("%s: %q, %v", tt.host, got, err)
		}
	}
}

// TestSetupAndRemove has a host start the program, and takes it out again: its file is as before.
// So is one with a problem.
func TestSetupAndRemove(t *testing.T) {
	const codex, cursor = ".codex/config.toml", ".cursor/mcp.json"
	for _, tt := range []struct{ host, file, before, problem string }{
		{"codex", codex, "", ""},
		{"codex", codex, "model = \"m\"\n", ""},
		{"codex", codex, "model = \"m\"\r\n", ""},
		{"codex", codex, "[a]\r\nb = \"\"\"\r\nc\"\"\"\r\n", ""},
		{"codex", codex, "[mcp_servers]\n", ""},
		{"codex", codex, "[mcp_servers.other]\ncommand = \"x\"\n", ""},
		{"codex", codex, "a = 1\nb =\n", "config.toml: line 2, column 4: unexpected"},
		{"codex", codex, "a = 1\na = 2\n", "config.toml: line 2, column 1: key a"},
		{"cursor", cursor, `{"mcpServers":{},"mcpServers":{"a":{}}}`, `"mcpServers" is given twice`},
		{"cursor", cursor, `{"mcpServers":{"skill":{},"sk\u0069ll":{}}}`, `"skill" is given twice`},
		{"cursor", cursor, `{"mcpServers":{"skill":{"args":1,"args":2}}}`, `"args" is given twice`},
	} {
		var said strings.Builder
		file, c := newHostFile(t, tt.file, tt.before, &said)
		if code := c.run(t.Context(), []string{"setup", tt.host}); code == exitOK {
			c.run(t.Context(), []string{"setup", "--remove", tt.host})
		}
		if !strings.Contains(said.String(), tt.problem) || tt.problem == "" && said.Len() > 0 {
			t.Errorf("%q: it says %q", tt.before, &said)
		}
		if got, err := os.ReadFile(file); string(got) != tt.before || err != nil {
			t.Errorf("%q is now %q, %v", tt.before, got, err)
		}
	}
}

// Tools do not write the files by which the hosts start programs.
func TestSetupFilesAreGuarded(t *testing.T) {
	files := []string{".github/hooks/skill.json"}
	for _, h := range hosts {
		if h.inside != "" {
			files = append(files, h.inside)
		}
	}
	for _, s := range hook.Setups {
		if s.File != "" {
			files = append(files, s.File)
		}
	}
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, file := range files {
		write := skill.WriteFile{Path: "a/" + file, Content: "x", Parents: true}
		_, err := x.Execute(t.Context(), &skill.Session{}, write)
		if err == nil || !strings.Contains(err.Error(), "--allow-config allows it") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
