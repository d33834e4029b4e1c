package page

import (
	"testing"

	"textskill/skill"
)

// TestLabel undoes a change on the page. The record has the name that started the program.
func TestLabel(t *testing.T) {
	dir := t.TempDir()
	x, err := skill.New(skill.Config{Dir: dir, State: t.TempDir(), Program: "textskill", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Execute(t.Context(), &skill.Session{}, skill.WriteFile{Path: "a", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := (Workspace{Executor: x}).Changes().Undo(t.Context(), "1", false); err != nil {
		t.Fatal(err)
	}
	r, err := x.Execute(t.Context(), &skill.Session{}, skill.History{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.(skill.Changes).List[0].Tool; got != "textskill web" {
		t.Errorf("the undo is recorded as one of %q", got)
	}
}
