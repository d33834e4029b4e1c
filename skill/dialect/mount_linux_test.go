package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// TestMountedFile changes a file that is a mount point in place, and says of what cannot be done
// to it why.
func TestMountedFile(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"write", `{"path":"m","content":"x\n"}`, "wrote m"},
		{"edit", `{"path":"m","old_text":"a","new_text":"b"}`, "edited m"},
		{"replace", `{"glob":"m","old_text":"a","new_text":"b"}`, "replaced 1"},
		{"patch", `{"patch":"*** Begin Patch\n*** Update File: m\n@@\n-a\n+b\n*** End Patch"}`,
			"patched 1 file"},
		{"copy", `{"source":"o","destination":"m","overwrite":true}`, "copied o to m"},
		{"delete", `{"path":"m"}`, "m is a mount point, which stays"},
		{"move", `{"source":"m","destination":"n"}`, "is a mount point, which stays"},
		{"move", `{"source":"o","destination":"m","overwrite":true}`, "is a mount point, which stays"},
		{"patch", `{"patch":"*** Begin Patch\n*** Delete File: m\n*** End Patch"}`,
			"m is a mount point, which stays"},
		{"delete", `{"path":"."}`, "the workspace itself stays"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"m", "o", "../source"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		needs.Mount(t, filepath.Join(dir, "../source"), filepath.Join(dir, "m"), "", syscall.MS_BIND, "")
		x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Unfenced: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		r := Workspace.Do(t.Context(), x, &skill.Session{},
			parser.ToolCall{Name: tt.name, Arguments: json.RawMessage(tt.args)})
		if !strings.Contains(r.Body, tt.want) {
			t.Errorf("%s %s: %s", tt.name, tt.args, r.Body)
		}
	}
}
