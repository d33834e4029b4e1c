package dialect

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/skill"
)

// TestNames names files as clients do that cannot know, or do not know, how they are spelled.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, name := range []string{"Shot at 8.55\u202fPM.txt", "e\u0301cran/d\u2019un.txt", "README",
		"readme", "a b#c.txt"} {
		abs := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(abs, []byte("hi\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "wide.txt"), []byte("h\x00i\x00\n\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	uri := (&url.URL{Scheme: "file", Path: filepath.ToSlash(x.Dir()) + "/a b#c.txt"}).String()
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"read", map[string]any{"paths": []string{"Shot at 8.55 PM.txt"}}, "no such file or directory\n" +
			`there is "Shot at 8.55\u202fPM.txt", which looks alike`},
		{"edit", map[string]any{"path": "Shot at 8.55 PM.txt", "old_text": "hi", "new_text": "x"},
			"no such file or directory\n" + `there is "Shot at 8.55\u202fPM.txt", which looks alike`},
		{"read", map[string]any{"paths": []string{"\u00e9cran/d'un.txt"}},
			`there is "e\u0301cran/d\u2019un.txt", which looks alike`},
		// it might be either
		{"delete", map[string]any{"path": "Readme"}, "Readme: no such file or directory"},
		{"write", map[string]any{"path": "Shot at 8.55 PM.txt", "content": "x"},
			`beside it is "Shot at 8.55\u202fPM.txt", which looks alike`},
		{"read", map[string]any{"paths": []string{"wide.txt"}},
			"[a NUL stands beside each letter: it looks like UTF-16 without a byte order mark]"},
		{"read", map[string]any{"paths": []string{uri}}, "hi\n"},
		{"read", map[string]any{"paths": []string{uri + ":1"}}, "hi\n"},
		{"edit", map[string]any{"path": uri, "old_text": "hi", "new_text": "ho"}, "edited a b#c.txt"},
		{"read", map[string]any{"paths": []string{"file://elsewhere/f"}},
			"paths file://elsewhere/f names no file of this machine"},
		{"grep", map[string]any{"pattern": "x", "path": "~/x"}, "path ~/x is relative to a home folder"},
		{"copy", map[string]any{"source": "README", "destination": "~/x"},
			"destination ~/x is relative to a home folder"},
		{"restore", map[string]any{"id": "1", "to": "~/x"}, "to ~/x is relative to a home folder"},
		{"patch", map[string]any{"patch": "*** Begin Patch\n*** Add File: ~/x\n+x\n*** End Patch"},
			"~/x is relative to a home folder"},
		{"read", map[string]any{"paths": []string{"README", "~"}}, "paths ~ is relative to a home folder"},
	} {
		args, err := json.Marshal(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		r := Workspace.Do(t.Context(), x, &skill.Session{}, parser.ToolCall{Name: tt.tool, Arguments: args})
		if !strings.Contains(r.Body, tt.want) {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, args, r.Body, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "~")); err == nil {
		t.Error("there is a folder ~")
	}
}
