package history

import (
	"context"
	"testing"
)

// A call whose folder has too many files, whenever it is looked at, becomes a change that is not kept. It blocks
// neither the list of changes nor an undo.
func TestTooManyFilesBlockNothing(t *testing.T) {
	s := open(t, Options{Root: t.TempDir(), Dir: t.TempDir(), NoSync: true})
	add(t, s)
	many := func(context.Context, func(int, Visited) error) error { return ErrTooManyFiles }
	call := Call{Key: "k", About: About{Host: "claude-code", Tool: "Bash", Command: "make"}}
	s.BeginCall(t.Context(), call, ".", 1<<20, many)
	if err := s.SeeCalls(t.Context(), ".", many); err != nil {
		t.Errorf("a look at the open calls: %v", err)
	}
	s.EndCall(t.Context(), call, ".", many)
	if err := s.SeeCalls(t.Context(), ".", many); err != nil {
		t.Errorf("a look after the end: %v", err)
	}
	if err := s.CloseCalls(t.Context(), Ended{Session: "", All: true}, ".", many); err != nil {
		t.Errorf("the end of the session: %v", err)
	}
	notKept := false
	for l, err := range s.Ops(t.Context(), 0, "") {
		if err != nil {
			t.Fatal(err)
		}
		notKept = notKept || l.Command == "make" && l.Note != "" && len(l.Deltas) == 0
	}
	if !notKept {
		t.Error("no change says that it is not kept")
	}
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.End()
}
