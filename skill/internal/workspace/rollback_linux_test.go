package workspace

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"textskill/skill/internal/history"
)

// A killed change is completed or rolled back while a command runs, and the command does not count as the author
// of the files that are there then.
func TestRecoveryIsNobodysChange(t *testing.T) {
	for _, done := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("done %v, command changes it %v", done, own), func(t *testing.T) {
				s := newSite(t, false)
				s.put(s.p("f"), "zero")
				w := s.open(Options{NoSync: true})
				command, err := w.Begin(bg, "slow", 1<<20, s.walk)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.WriteFile(bg, s.p("f"), []byte("one"), WriteOptions{}); err != nil {
					t.Fatal(err)
				}
				s.killedWrite(t, w, done)
				want, paths := "one", []string{s.p("g")}
				if done {
					want = "two"
				}
				s.put(s.p("g"), "made")
				if _, err := w.WriteFile(bg, s.p("other"), nil, WriteOptions{}); err != nil { // recovers
					t.Fatal(err)
				}
				s.has("f", want)
				if own {
					s.put(s.p("f"), "the command's")
					paths = []string{s.p("f"), s.p("g")}
				}
				change, left, err := command.End(bg)
				if err != nil {
					t.Fatal(err)
				}
				list, err := listed(w.History(bg))
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range left {
					if l.Path != "" {
						t.Errorf("left %v", l)
					}
				}
				for _, e := range list {
					if e.ID == change.ID && !slices.Equal(e.Paths, paths) {
						t.Errorf("the command changed %q, want %q", e.Paths, paths)
					}
				}
				if _, err := w.Undo(bg, UndoOptions{ID: change.ID}); err != nil {
					t.Error(err)
				}
				s.has("f", want)
				s.lacks("g")
			})
		}
	}
}

// killedWrite replaces the content "one" of the file f by "two", as a process that is killed then. Unless it is
// done, the op has another path, which is not written.
func (s *site) killedWrite(t *testing.T, w *Workspace, done bool) {
	t.Helper()
	store, err := w.journals[0].open()
	if err != nil {
		t.Fatal(err)
	}
	tx, err := store.Lock(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	d, err := w.journals[0].root.tree.OpenFolder(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := history.At(d, "f")
	if err != nil {
		t.Fatal(err)
	}
	two := history.Entry{Kind: history.File, Mode: 0o644}.Holds([]byte("two"))
	op := &history.Op{Kind: "write", Deltas: []history.Delta{{Path: "f", Before: tx.Describe("f", before), After: two}}}
	if !done {
		op.Deltas = append(op.Deltas, history.Delta{Path: "h", After: two})
	}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	if err := tx.Keeper(op, 0).Save(d, "f"); err != nil {
		t.Fatal(err)
	}
	os.Remove(s.p("f"))
	s.put(s.p("f"), "two")
}
