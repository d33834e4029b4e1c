//go:build linux || darwin

package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill"
	"textskill/testdata/needs"
)

// TestRunTellsOfALessFence has a model told of a fence that is not whole: here there is none.
func TestRunTellsOfALessFence(t *testing.T) {
	needs.Shell(t)
	b := newBase(t, skill.Config{})
	if r := Workspace.Do(t.Context(), b.x, b.s, parser.ToolCall{Name: "run", Arguments: json.RawMessage(`{"command":"echo hi"}`)}); r.Body != "exit 0\nhi\nfence: none: no helper watches the command" {
		t.Errorf("%s", r.Body)
	}
}

// TestUndoOfCommands looks at what answers tell of what commands changed, also of
// those that fail.
func TestUndoOfCommands(t *testing.T) {
	needs.Shell(t)
	b := newBase(t, skill.Config{})
	b.file(".gitignore", "*.log\n")
	do := func(d *Dialect, tool string, args map[string]any) Reply {
		return d.Do(t.Context(), b.x, b.s, parser.ToolCall{Name: tool, Arguments: rawjson.Encode(args)})
	}
	run := func(line string) Reply { return do(Stack, "run", map[string]any{"command": line}) }
	exec := func(line string) Reply {
		return do(Perstack, "exec", map[string]any{"command": "sh", "args": []string{"-c", line}, "env": map[string]string{}, "cwd": b.dir, "stdout": true, "stderr": true})
	}
	for _, r := range []Reply{run("echo x > a"), run("echo y > a; exit 3"), exec("echo z > a"), exec("echo u > a; exit 3")} {
		if r.UndoID() == "" || r.NotKept() != "" {
			t.Errorf("%s is undone by %q, not kept is %q", r.Body, r.UndoID(), r.NotKept())
		}
		var said struct{ Undo string }
		if err := json.Unmarshal([]byte(r.Body), &said); err != nil || said.Undo != r.UndoID() && said.Undo != "" {
			t.Errorf("%s tells of %q", r.Body, said.Undo)
		}
		if strings.HasPrefix(r.Body, `{"success"`) != (said.Undo != "") {
			t.Errorf("%s tells of %q", r.Body, said.Undo)
		}
	}
	if r := run("true"); r.UndoID() != "" || strings.Contains(r.Body, "undo") {
		t.Errorf("nothing is undone: %s", r.Body)
	}
	r := run("echo x > b; echo x > x.log")
	var said struct {
		NotUndoable []string `json:"not_undoable"`
	}
	want := []string{filepath.Join(b.dir, "x.log") + ": git ignores it, and undo leaves it as it is"}
	if err := json.Unmarshal([]byte(r.Body), &said); err != nil || !slices.Equal(said.NotUndoable, want) || r.NotKept() != want[0] {
		t.Errorf("%s: left is %q, want %q", r.Body, said.NotUndoable, want)
	}
	if r := do(Undo, "undo", nil); r.Err != nil {
		t.Error(r.Body)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "b")); err == nil {
		t.Error("b is there")
	}
	diff := do(Undo, "diff", map[string]any{"id": "1"})
	if want := "--- /dev/null\n+++ " + filepath.Join(b.dir, "a") + "\n"; !strings.HasPrefix(diff.Body, want) {
		t.Errorf("%s, want %s", diff.Body, want)
	}
	history := do(Undo, "history", map[string]any{"path": "a"})
	if lines := strings.Count(history.Body, "run sh: "+filepath.Join(b.dir, "a")) + strings.Count(history.Body, "run /bin/sh: "+filepath.Join(b.dir, "a")); lines != 4 {
		t.Errorf("the history is %s", history.Body)
	}
}
