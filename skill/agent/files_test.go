package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

// files lists the files of the workspace that are not records, with their contents.
func (l *lab) files() string {
	l.Helper()
	var list []string
	for _, pattern := range []string{"*", "*/*"} {
		names, _ := filepath.Glob(filepath.Join(l.dir, pattern))
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil {
				list = append(list, strings.TrimPrefix(name, l.dir+"/")+"="+string(data))
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestFilesOfStep continues a run from its steps, with the files as they were there.
func TestFilesOfStep(t *testing.T) {
	work := []any{
		calls(`writeTextFile {"path":"a","text":"1"}`),
		calls(`appendTextFile {"path":"a","text":"2"}`, `writeTextFile {"path":"d/b","text":"b"}`),
		calls(`readTextFile {"path":"a"}`), calls(`deleteFile {"path":"a"}`),
	}
	want := []string{"mine=m", "a=1 mine=m", "a=12 d/b=b mine=m", "a=12 d/b=b mine=m", "d/b=b mine=m"}
	for step := 1; step <= 4; step++ {
		l := newLab(t, append(work, calls(`writeTextFile {"path":"fork","text":"f"}`))...)
		if err := os.WriteFile(filepath.Join(l.dir, "mine"), []byte("m"), 0o666); err != nil {
			t.Fatal(err)
		}
		l.cfg.MaxSteps = 4
		events := l.ran("go")
		if got := l.files(); got != want[4] {
			t.Fatalf("after the run: %s", got)
		}
		r := Records{Executor: l.cfg.Executor}
		c, err := r.AtStep(t.Context(), "run", step)
		if err == nil {
			c, err = r.Checkpoint(t.Context(), "run", c.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		l.cfg.From, l.cfg.Files, l.cfg.MaxSteps = &c, true, 1
		l.ran("")
		fork := strings.ReplaceAll(want[step], "mine", "fork=f mine")
		if got := l.files(); got != fork {
			t.Errorf("step %d: %s, want %s", step, got, fork)
		}
		last, err := r.Checkpoint(t.Context(), "run", events[len(events)-1].Checkpoint.ID)
		if err != nil {
			t.Fatal(err)
		}
		back, err := last.UndoAfter()
		if err == nil {
			_, err = l.cfg.Executor.Execute(t.Context(), &skill.Session{}, back)
		}
		if got := l.files(); err != nil || got != want[4] {
			t.Errorf("step %d: back at the end of the first attempt: %s, %v", step, got, err)
		}
		again, err := r.AtStep(t.Context(), "run", 0)
		if err != nil {
			t.Fatal(err)
		}
		undo, err := again.UndoAfter()
		if err == nil {
			_, err = l.cfg.Executor.Execute(t.Context(), &skill.Session{}, undo)
		}
		if got := l.files(); err != nil || got != want[0] {
			t.Errorf("step %d: undone: %s, %v", step, got, err)
		}
		checkChanges(t, events)
	}
}

// checkChanges compares the changes in the events with what the calls do.
func checkChanges(t *testing.T, events []Event) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range events {
		if e.ToolResult == nil {
			continue
		}
		changes := e.ToolResult.Session != nil && len(e.ToolResult.Session.Changes) == 1
		if changes == (e.ToolResult.ToolName == "readTextFile") {
			t.Errorf("%s has the changes %v", e.ToolResult.ToolName, e.ToolResult.Session)
		}
		if changes && seen[e.ToolResult.Session.Changes[0]] {
			t.Errorf("two calls have the change %v", e.ToolResult.Session.Changes)
		} else if changes {
			seen[e.ToolResult.Session.Changes[0]] = true
		}
	}
}

// TestFilesConflict does not continue a run whose files somebody else has changed.
func TestFilesConflict(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"a","text":"1"}`),
		calls(`writeTextFile {"path":"a","text":"2"}`), calls(`writeTextFile {"path":"b","text":"2"}`))
	l.cfg.MaxSteps = 3
	l.ran("go")
	os.WriteFile(filepath.Join(l.dir, "a"), []byte("theirs"), 0o666)
	c, err := Records{Executor: l.cfg.Executor}.AtStep(t.Context(), "run", 1)
	if err != nil {
		t.Fatal(err)
	}
	l.cfg.From, l.cfg.Files = &c, true
	events, err := l.run("")
	if err == nil || !strings.Contains(err.Error(), "was changed since") || len(events) > 0 ||
		len(l.asked) != 3 {
		t.Errorf("%v, %s", err, types(events))
	}
	if got := l.files(); got != "a=theirs b=2" {
		t.Errorf("the files are %s", got)
	}
}

// TestFilesLeft continues a run from a step after which a command replaced a large file that git ignores:
// the file stays as it is, and the run says so.
func TestFilesLeft(t *testing.T) {
	needs.Program(t, "cp")
	for _, more := range []string{`readTextFile {"path":"a"}`, `writeTextFile {"path":"a","text":"2"}`} {
		l := newLab(t, calls(`writeTextFile {"path":"a","text":"1"}`),
			calls(`exec {"command":"cp","args":["a","x.log"],"env":{},"cwd":".","stdout":true,"stderr":true}`), calls(more))
		os.WriteFile(filepath.Join(l.dir, ".gitignore"), []byte("*.log"), 0o666)
		os.WriteFile(filepath.Join(l.dir, "x.log"), make([]byte, 2<<20), 0o666)
		var warned []string
		l.cfg.MaxSteps, l.cfg.Warn = 3, func(what string) { warned = append(warned, what) }
		l.ran("go")
		c, err := Records{Executor: l.cfg.Executor}.AtStep(t.Context(), "run", 1)
		if err != nil {
			t.Fatal(err)
		}
		l.cfg.From, l.cfg.Files = &c, true
		l.run("")
		want := "not all files are as at checkpoint " + c.ID +
			": changes of which nothing was kept: 1, the last one change 2: " +
			"git ignores it and it held 2097152 bytes: ignored files of more than 1048576 are not kept"
		if got := l.files(); got != ".gitignore=*.log a=1 x.log=1" || !slices.Contains(warned, want) {
			t.Errorf("after %s: %s, %q", more, got, warned)
		}
	}
}

// TestDelegateChanges undoes what a delegate changed with the run of its parent.
func TestDelegateChanges(t *testing.T) {
	l := newTeam(t)
	l.cfg.Model = delegator{t, filepath.Join(l.dir, "f")}
	os.WriteFile(filepath.Join(l.dir, "f"), nil, 0o666)
	l.ran("go")
	if l.file("f") != "x" {
		t.Fatalf("the file holds %q", l.file("f"))
	}
	if _, err := l.cfg.Executor.Execute(t.Context(), &skill.Session{}, skill.Undo{Run: "run"}); err != nil ||
		l.file("f") != "" {
		t.Errorf("undone: %q, %v", l.file("f"), err)
	}
}

// TestUndoneMeanwhile continues a run whose changes were undone, as a kill after the undo of
// --files leaves it.
func TestUndoneMeanwhile(t *testing.T) {
	for name, tt := range map[string]struct {
		undos int
		told  bool
	}{"undone": {1, true}, "made again": {2, false}, "undone again": {3, true}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, calls(`writeTextFile {"path":"a","text":"1"}`),
				calls(`writeTextFile {"path":"b","text":"2"}`),
				calls(`writeTextFile {"path":"c","text":"3"}`),
				calls(`writeTextFile {"path":"d","text":"4"}`), calls("attemptCompletion"), "done")
			l.cfg.MaxSteps = 3
			l.ran("go")
			first, err := Records{Executor: l.cfg.Executor}.AtStep(t.Context(), "run", 1)
			if err != nil {
				t.Fatal(err)
			}
			op, err := first.UndoAfter()
			for range tt.undos {
				if err != nil {
					t.Fatal(err)
				}
				var done skill.Result
				if done, err = l.cfg.Executor.Execute(t.Context(), &skill.Session{}, op); err == nil {
					op = skill.Undo{Since: done.(skill.Reverted).Changes[0].ID}
				}
			}
			var warned []string
			l.cfg.Continue, l.cfg.MaxSteps, l.cfg.Warn = "run", 1,
				func(what string) { warned = append(warned, what) }
			l.ran("")
			text := l.asked[3].Messages[len(l.asked[3].Messages)-1].Text()
			if told := strings.Contains(text, "changes of it were undone, of b, c."); told != tt.told ||
				len(warned) > 0 != tt.told || !told && strings.Contains(text, "undone") {
				t.Errorf("the model is told %s, the user %q", text, warned)
			}
			l.cfg.MaxSteps = 0
			l.ran("")
			if last := l.asked[4].Messages; strings.Contains(last[len(last)-1].Text(), "undone") {
				t.Errorf("the model is told again: %v", last)
			}
		})
	}
}

// TestUndoOfTheRun has a run undo its own change, and kills it between each two writes. When it
// is continued it is not told of the undo, which others did not make.
func TestUndoOfTheRun(t *testing.T) {
	made := 0 // by how many of those that were killed
	for point, ended := 1, false; !ended; point++ {
		l := newLab(t, calls(`writeTextFile {"path":"a","text":"1"}`), calls(`undo {}`),
			calls("attemptCompletion"), "done")
		e := l.cfg.Experts["e"]
		e.Skills = map[string]SkillConfig{"u": {Type: builtinSkill, Dialect: "undo"}}
		l.cfg.Experts["e"] = e
		ended = l.killAt(point)
		if len(l.asked) > 1 && l.files() == "" {
			made++
		}
		l.asked, l.answers = nil,
			[]any{calls("attemptCompletion"), "done", calls("attemptCompletion"), "done"}
		if !ended && !l.killAt(0) {
			t.Fatal("the run does not end")
		}
		if text := fmt.Sprint(l.asked); strings.Contains(text, undoneFiles[:20]) {
			t.Errorf("killed at %d, the model is told %s", point, text)
		}
	}
	if made < 5 {
		t.Errorf("of those that were killed, %d had made the undo", made)
	}
}

// TestUndoneByUser continues a run whose last change its user took back with a bare undo.
func TestUndoneByUser(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"a","text":"1"}`),
		calls(`writeTextFile {"path":"b","text":"2"}`), calls("attemptCompletion"), "done")
	l.cfg.MaxSteps = 2
	l.ran("go")
	if _, err := l.cfg.Executor.Execute(t.Context(), &skill.Session{}, skill.Undo{}); err != nil {
		t.Fatal(err)
	}
	l.cfg.Continue, l.cfg.MaxSteps = "run", 1
	l.ran("")
	text := l.asked[2].Messages[len(l.asked[2].Messages)-1].Text()
	if !strings.Contains(text, "changes of it were undone, of b.") {
		t.Errorf("the model is told %s", text)
	}
}
