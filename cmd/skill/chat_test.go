package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A chatRow is a prompt as chat models write text commands, and what happens. The kinds are
// models that fence what they write, list it, talk around it, give each argument a key, write
// for a shell, and call functions.
type chatRow struct {
	Kind   string             `json:"kind"`
	Prompt string             `json:"prompt"`
	Answer string             `json:"answer"`          // the result or the error
	Hint   string             `json:"hint,omitempty"`  // after an error
	Notes  []string           `json:"notes,omitempty"` // how the prompt was read
	Files  map[string]*string `json:"files,omitempty"` // those that are not as before; nil for a file that is gone
	Asked  bool               `json:"asked,omitempty"` // a model that is set is asked about the prompt
}

const chatRows = "../../testdata/chat.jsonl"

// TestChat plays the rows of testdata/chat.jsonl: with --json, as text, and with the setting
// strict, which refuses a prompt that has notes. Only some are put to a model that is set.
func TestChat(t *testing.T) {
	data, err := os.ReadFile(chatRows)
	if err != nil {
		t.Fatal(err)
	}
	var updated bytes.Buffer
	out := json.NewEncoder(&updated)
	out.SetEscapeHTML(false)
	kinds := map[string]int{}
	settings := t.TempDir()
	build(t, settings, []fixture{{Path: "skill/skill.toml", Content: new("strict = true\n")}})
	for line := range bytes.Lines(data) {
		var row chatRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kinds[row.Kind]++
		dir, c := chatWorkspace(t)
		got := chat(t, c, dir, row.Prompt)
		got.Kind, got.Prompt = row.Kind, row.Prompt
		dir, c = chatWorkspace(t)
		c.agent = &scriptedAgent{}
		chat(t, c, dir, row.Prompt)
		got.Asked = len(c.agent.prompts) > 0
		if *update {
			out.Encode(got)
			row = got
		}
		encoded, want := string(mustEncode(got)), string(mustEncode(row))
		if encoded != want {
			t.Errorf("a row of %s\n got %s\nwant %s", chatRows, encoded, want)
		}
		row.checkText(t)
		if len(row.Notes) > 0 {
			dir, c := chatWorkspace(t)
			c.getenv = func(name string) string {
				return map[string]string{"HOME": settings, "XDG_CONFIG_HOME": settings}[name]
			}
			strict := chat(t, c, dir, row.Prompt)
			if strict.Answer != strings.Join(row.Notes, "; ") || len(strict.Files) > 0 {
				t.Errorf("strict answers %q by %q, want the notes", row.Prompt, strict.Answer)
			}
		}
	}
	if *update {
		if err := os.WriteFile(chatRows, updated.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for kind, n := range kinds {
		if len(kinds) < 6 || n < 10 {
			t.Errorf("%d kinds, and %d rows of %s", len(kinds), n, kind)
		}
	}
}

func mustEncode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings marshal
	}
	return data
}

// checkText compares the answer as text with the row: notes and errors on standard error.
func (row chatRow) checkText(t *testing.T) {
	dir, c := chatWorkspace(t)
	stdout, stderr, code := play(t, c, row.Prompt, "-C", dir)
	mask := strings.NewReplacer(dir, "$WORK")
	stdout, stderr = mask.Replace(stdout), mask.Replace(stderr)
	var want strings.Builder
	for _, note := range row.Notes {
		want.WriteString("skill: " + note + "\n")
	}
	if code == 0 && strings.TrimSuffix(stdout, "\n") != row.Answer && !strings.HasPrefix(stdout, "{") {
		t.Errorf("%q: standard output %q, want %q", row.Prompt, stdout, row.Answer)
	}
	if code != 0 {
		want.WriteString("skill: " + row.Answer + "\n")
		if row.Hint != "" {
			want.WriteString(row.Hint + "\n")
		}
	}
	if stderr != want.String() {
		t.Errorf("%q: standard error\n got %s\nwant %s", row.Prompt, stderr, want.String())
	}
}

// chatWorkspace makes a folder with two files, and a program.
func chatWorkspace(t *testing.T) (dir string, c *cli) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build(t, dir, []fixture{{Path: "a.txt", Content: new("alpha\n")}, {Path: "docs/b.md", Content: new("beta\n")}})
	return dir, &cli{unlasting: true}
}

// chat plays a prompt with --json and returns what happened.
func chat(t *testing.T, c *cli, dir, prompt string) (row chatRow) {
	t.Helper()
	before := chatFiles(t, dir)
	stdout, _, _ := play(t, c, prompt, "-C", dir, "--json")
	var answer struct {
		Result, Error, Hint string
		Notes               []string
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Errorf("%q is answered by %s", prompt, stdout)
	}
	row.Answer, row.Hint, row.Notes = answer.Result+answer.Error, strings.ReplaceAll(answer.Hint, dir, "$WORK"), answer.Notes
	if row.Answer == "" {
		row.Answer = strings.TrimSpace(stdout)
	}
	row.Answer = strings.ReplaceAll(row.Answer, dir, "$WORK")
	after := chatFiles(t, dir)
	row.Files = map[string]*string{}
	for name, content := range after {
		if old, ok := before[name]; !ok || old != content {
			row.Files[name] = &content
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			row.Files[name] = nil
		}
	}
	if len(row.Files) == 0 {
		row.Files = nil
	}
	return row
}

// chatFiles returns the contents of the files below a folder; a folder ends with a slash.
func chatFiles(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			files[filepath.ToSlash(rel)+"/"] = ""
			return err
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
