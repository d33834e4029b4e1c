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
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/testdata/needs"
)

// TestRunTellsOfALessFence has a model told of a fence that is not whole: here it is missing.
func TestRunTellsOfALessFence(t *testing.T) {
	needs.Shell(t)
	b := newBase(t, skill.Config{})
	if r := Workspace.Do(t.Context(), b.x, b.s,
		parser.ToolCall{Name: "run", Arguments: json.RawMessage(`{"command":"echo hi"}`)}); r.Body != "exit 0\nhi\n[fence: none: no helper watches the command]" {
		t.Errorf("%s", r.Body)
	}
}

// An answer ends with at most three lines about what the fence denied and what undo leaves.
func TestRunTellsOfTheFenceInOnePlace(t *testing.T) {
	whole := skill.Fence{ABI: 7, TCP: true, UDP: true, Alone: true}
	tracked := skill.Tracked{Undo: "1", NotUndoable: []string{"db: it is large", "x: it is a socket"}}
	const words = "commands write the workspace, $TMPDIR and caches only"
	for _, tt := range []struct {
		e    skill.Executed
		want string
	}{
		{skill.Executed{Fence: whole}, "exit 0"},
		{skill.Executed{Fence: whole, ExitCode: 1, Stderr: []byte("fatal: not permitted\n")},
			"exit 1\n--- stderr\nfatal: not permitted"},
		{skill.Executed{Fence: whole, ExitCode: 1, Stderr: []byte("x: Read-only file system\n")},
			"exit 1\n--- stderr\nx: Read-only file system\n[" + words +
				", and reach no address but localhost: a person can allow a host by its name with --allow-domain HOST]"},
		{skill.Executed{Tracked: tracked, Fence: whole, ExitCode: 1, Stderr: []byte("EACCES\n"),
			Refused: []string{"a.example:443", "b:1 (denied)"}, Full: []string{"/tmp"},
			Left: []string{"sleep 9"}, Log: "/w/out.log"},
			"exit 1\n--- stderr\nEACCES\n[ended what still ran: sleep 9; start what must go on with server]\n[all of the output is in /w/out.log]\n" +
				"[refused: a.example:443, b:1 (denied); a person can allow a host with --allow-domain HOST; full: /tmp, in memory; large files belong in $TMPDIR; " + words + "]\n" +
				"undo ID 1\nnot undoable: db: it is large; x: it is a socket"},
		{skill.Executed{Tracked: tracked, Fence: skill.Fence{ABI: 3, Why: "x"},
			Refused: []string{"b:1 (denied)"}},
			"exit 0\n[refused: b:1 (denied); fence: Landlock ABI 3: files]\nundo ID 1\nnot undoable: db: it is large; x: it is a socket"},
	} {
		if got := shellText(tt.e); got != tt.want {
			t.Errorf("\n got %s\nwant %s", got, tt.want)
		}
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
		return do(Perstack, "exec", map[string]any{"command": "sh", "args": []string{"-c", line},
			"env": map[string]string{}, "cwd": b.dir, "stdout": true, "stderr": true})
	}
	for _, r := range []Reply{run("echo x > a"), run("echo y > a; exit 3"), exec("echo z > a"),
		exec("echo u > a; exit 3")} {
		if r.UndoID() == "" || r.NotKept() != "" {
			t.Errorf("%s is undone by %q, not kept is %q", r.Body, r.UndoID(), r.NotKept())
		}
		var said struct{ Undo string }
		if err := json.Unmarshal([]byte(r.Body), &said); err != nil || said.Undo != r.UndoID() &&
			said.Undo != "" {
			t.Errorf("%s tells of %q", r.Body, said.Undo)
		}
		if strings.HasPrefix(r.Body, `{"success"`) != (said.Undo != "") {
			t.Errorf("%s tells of %q", r.Body, said.Undo)
		}
	}
	if r := run("true"); r.UndoID() != "" || strings.Contains(r.Body, "undo") {
		t.Errorf("nothing is undone: %s", r.Body)
	}
	b.file("x.log", strings.Repeat("x", 2<<20))
	r := run("echo x > b; echo x > x.log")
	var said struct {
		NotUndoable []string `json:"not_undoable"`
	}
	want := []string{filepath.Join(b.dir, "x.log") +
		": git ignores it and it held 2097152 bytes: ignored files of more than 1048576 are not kept"}
	if err := json.Unmarshal([]byte(r.Body), &said); err != nil || !slices.Equal(said.NotUndoable, want) ||
		r.NotKept() != want[0] {
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
	if lines := strings.Count(history.Body, ": "+filepath.Join(b.dir, "a")); lines != 4 {
		t.Errorf("the history is %s", history.Body)
	}
}

// TestRunTellsWhatTheFenceForbids has a model told why a command may have failed.
func TestRunTellsWhatTheFenceForbids(t *testing.T) {
	const files, network = "\n[commands write the workspace, $TMPDIR and caches only]",
		"\n[commands write the workspace, $TMPDIR and caches only, and reach no network: the server has to be started with --network]"
	whole := skill.Fence{ABI: 7, TCP: true, UDP: true}
	open := skill.Fence{ABI: 7}
	tests := []struct {
		e    skill.Executed
		want string
	}{
		{skill.Executed{ExitCode: 6, Stderr: []byte("curl: (6) Could not resolve host: x\n"), Fence: whole},
			"exit 6\n--- stderr\ncurl: (6) Could not resolve host: x" + network},
		{skill.Executed{ExitCode: 2, Stderr: []byte("cannot create /etc/x: Permission denied"), Fence: open},
			"exit 2\n--- stderr\ncannot create /etc/x: Permission denied" + files},
		{skill.Executed{TimedOut: true, Fence: whole},
			"timed out; give a larger timeout, or start what runs on with server" + network},
		{skill.Executed{TimedOut: true, Fence: open},
			"timed out; give a larger timeout, or start what runs on with server"},
		{skill.Executed{ExitCode: 1, Stdout: []byte("FAIL"), Fence: whole}, "exit 1\nFAIL"},
		{skill.Executed{Stdout: []byte("permission denied"), Fence: whole}, "exit 0\npermission denied"},
	}
	for _, tt := range tests {
		if got := shellText(tt.e); got != tt.want {
			t.Errorf("got %q\nwant %q", got, tt.want)
		}
	}
}
