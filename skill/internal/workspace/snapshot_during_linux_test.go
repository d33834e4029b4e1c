package workspace

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A change that is under way while a snapshot is taken is not the command's.
func TestSnapshotDuringChange(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		var before *Snapshot
		taken := make(chan error, 1)
		c := Change{Kind: Write, Path: s.p("f")}
		err := w.inFolder(bg, &c, location{w.roots[0], "f"}, scope{}, func(tree.Folder) error {
			step := state.Step{Path: "f", Before: state.State{Kind: kindFile}, After: state.State{Kind: kindFile}}
			return w.commit(bg, &c, plan{root: w.roots[0], Record: state.Record{Steps: []state.Step{step}}}, func(*keeper) error {
				go func() {
					var err error
					before, err = other.Snapshot(bg, 1<<20, s.walk)
					taken <- err
				}()
				time.Sleep(100 * time.Millisecond)
				s.put(s.p("f"), "new")
				return nil
			})
		})
		if err := errors.Join(err, <-taken); err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		if c, left, err := before.Record(bg, "true"); c.ID != "" || len(left) > 0 || err != nil {
			t.Errorf("recorded are %+v, %v, %v", c, left, err)
		}
	})
}

// Of commands that run at the same time the first one to end has what the others have half written. Undone
// one after the other they leave what was there before all of them; the undos are undone as well.
func TestSnapshotsAtOnce(t *testing.T) {
	for name, script := range map[string]string{
		"the first one ends first":       "begin 1, begin 2, b=half, a=done, end 1, b=done, end 2",
		"the second one ends first":      "begin 1, a=half, begin 2, a=more, b=done, end 2, a=done, end 1",
		"the second one goes on with it": "begin 1, a=half, begin 2, a=more, end 1, a=done, b=done, end 2",
		"a third one between":            "begin 1, begin 2, a=1, b=1, end 1, a=2, b=2, begin 3, a=3, b=done, end 2, a=done, end 3",
		"a new file":                     "begin 1, begin 2, a=done, c=half, end 1, b=done, c=done, end 2",
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout("a=old", "b=old")
				w := s.open(Options{NoSync: true})
				s.play(w, script)
				first := ""
				for {
					done, err := w.Undo(bg, UndoOptions{})
					if err != nil {
						if !strings.Contains(err.Error(), "is nothing to undo") {
							t.Error(err)
						}
						break
					}
					first = cmp.Or(first, done[0].ID)
				}
				s.has("a", "old")
				s.has("b", "old")
				s.lacks("c")
				if _, err := w.Undo(bg, UndoOptions{Since: first}); err != nil {
					t.Error(err)
				}
				s.has("a", "done")
				s.has("b", "done")
				if strings.Contains(script, "c=") {
					s.has("c", "done")
				}
			})
		})
	}
}
