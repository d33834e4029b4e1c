//go:build linux || darwin

package skill

import (
	"errors"
	"strings"
	"testing"
)

// TestUndoRun undoes the changes of an expert's run among the changes of others.
func TestUndoRun(t *testing.T) {
	write := func(path, text string) Args { return WriteFile{Path: path, Content: text, Parents: true} }
	type change struct {
		run  string
		args Args
	}
	tests := map[string]struct {
		changes []change
		after   int // number of the change after which the run is undone, -1 for all
		want    string
		left    string // the files that the error names
	}{
		"all": {[]change{{"r", write("a", "1")}, {"r", AppendFile{Path: "a", Content: "2"}},
			{"r", write("d/new", "x")}, {"r", MoveFile{Source: "d/new", Dest: "b"}}},
			-1, "a=alpha", ""},
		"to a step": {[]change{{"r", write("a", "1")}, {"r", write("a", "2")}, {"r", write("b", "x")}},
			1, "a=1", ""},
		"others elsewhere": {[]change{{"r", write("a", "1")}, {"", write("theirs", "T")},
			{"other", write("c", "T")}, {"r", write("b", "x")}},
			-1, "a=alpha c=T theirs=T", ""},
		"others in a file": {[]change{{"r", write("a", "1")}, {"", write("a", "T")},
			{"r", write("b", "x")}}, -1, "a=T", "a"},
		"others in between": {[]change{{"r", write("a", "1")}, {"", write("a", "T")},
			{"r", write("a", "2")}}, -1, "a=T", "a"},
		"undone before": {[]change{{"r", write("a", "1")}, {"", Undo{}}, {"r", write("b", "x")}},
			-1, "a=alpha", ""},
		"an undo of its own": {[]change{{"r", write("a", "1")}, {"r", write("b", "x")},
			{"r", Undo{ID: "1"}}}, 2, "a=1 b=x", ""},
		"an undo that is undone": {[]change{{"r", write("a", "1")}, {"r", write("b", "x")},
			{"r", Undo{ID: "1"}}, {"", Undo{ID: "3"}}}, 2, "a=1 b=x", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, map[string]string{"a": "alpha"})
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			undo, made := Undo{Run: "r"}, []string{}
			for i, c := range tt.changes {
				x := x
				if c.run != "" {
					x = x.InRun(RunStep{Run: c.run, Step: i + 1,
						Made: func(id string) { made = append(made, id) }})
				}
				if _, err := x.Execute(t.Context(), &Session{}, c.args); err != nil {
					t.Fatal(err)
				}
				if at, err := x.Position(t.Context()); err != nil || i+1 == tt.after && len(at) != 1 {
					t.Fatal(at, err)
				} else if i+1 == tt.after {
					undo.After = at
				}
			}
			before := listed(t, dir)
			whole := undo
			whole.Whole = true
			if _, err := x.Execute(t.Context(), &Session{}, whole); tt.left != "" &&
				(err == nil || listed(t, dir) != before) {
				t.Errorf("undone whole: %v, %s", err, listed(t, dir))
			}
			_, err := x.Execute(t.Context(), &Session{}, undo)
			partly, _ := errors.AsType[*PartlyUndoneError](err)
			if (err != nil) != (tt.left != "") || err != nil &&
				(partly == nil || !strings.Contains(err.Error(), tt.left)) {
				t.Error(err)
			}
			if got := listed(t, dir); got != tt.want {
				t.Errorf("the files are %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRedoRun undoes a run, and that.
func TestRedoRun(t *testing.T) {
	x := newExecutor(t, Config{Dir: t.TempDir(), NoSync: true})
	run := x.InRun(RunStep{Run: "r", Step: 1})
	for _, a := range []Args{WriteFile{Path: "d/a", Content: "1", Parents: true},
		WriteFile{Path: "d/a", Content: "2"}, WriteFile{Path: "b", Content: "3"}} {
		if _, err := run.Execute(t.Context(), &Session{}, a); err != nil {
			t.Fatal(err)
		}
	}
	done := carried(t, x, Undo{Run: "r"}).(Reverted)
	if got := listed(t, x.Dir()); got != "" || len(done.Changes) != 3 {
		t.Errorf("undone: %s, %s", got, done.Message())
	}
	carried(t, x, Undo{Since: done.Changes[0].ID})
	if got := listed(t, x.Dir()); got != "b=3 d/a=2" {
		t.Errorf("made again: %s", got)
	}
	list := carried(t, x, History{Run: "r"}).(Changes)
	if len(list.List) != 6 || !strings.Contains(list.Message(), "run r, step 1") {
		t.Errorf("the history: %s", list.Message())
	}
}

// TestHistoryAfter lists the changes after each of four.
func TestHistoryAfter(t *testing.T) {
	x := newExecutor(t, Config{Dir: t.TempDir(), NoSync: true})
	for i := range 4 {
		at, err := x.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range i {
			if _, err := x.Execute(t.Context(), &Session{}, AppendFile{Path: "a", Content: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := x.Execute(t.Context(), &Session{}, History{After: at})
		if err != nil {
			t.Fatal(err)
		}
		if list := r.(Changes).List; len(list) != i {
			t.Errorf("after %v there are %v", at, list)
		}
	}
}
