package workspace

import (
	"errors"
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
