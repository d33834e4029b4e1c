package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"textskill/testdata/needs"
)

// After a power cut during a change of several files or its undo, the change is in the history and can be
// undone.
func TestPowerCutInSeveral(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		for i := range min(cuts, 5) {
			for _, undo := range []bool{false, true} {
				cutInSeveral(t, disks[0], fmt.Sprint("ws", i, undo), undo)
			}
		}
	})
}

func cutInSeveral(t *testing.T, disk *needs.Disk, name string, undo bool) {
	const files = 60
	s := newSite(t, false)
	s.dir = filepath.Join(disk.Dir, name)
	var list []FileChange
	for i := range files {
		f := FileChange{Path: s.p(fmt.Sprintf("%03d", i)), Before: []byte("old"), After: []byte("new")}
		s.put(f.Path, "old")
		list = append(list, f)
	}
	open := func() *Workspace {
		w, err := Open(Options{Dir: s.dir, State: filepath.Join(disk.Dir, "store")})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	disk.Flush()
	w := open()
	before, after, change := "old", "new", func() { w.ChangeFiles(bg, fixed(list...)) }
	if undo {
		change()
		before, after, change = after, before, func() { w.Undo(bg, UndoOptions{}) }
	}
	holds := func(i int, want string) bool {
		text, err := os.ReadFile(list[i].Path)
		return err == nil && string(text) == want
	}
	over := make(chan bool, 1)
	go func() {
		change()
		over <- true
	}()
	first := 0
	if undo {
		first = files - 1
	}
	for !holds(first, after) && len(over) == 0 {
	}
	syncAt(t, s.dir)
	disk.Cut()
	<-over
	w.Close()
	disk.Remount()
	w = open()
	defer w.Close()
	done, err := w.Undo(bg, UndoOptions{})
	if undo { // it is complete now, in one record or two: they are undone
		if len(done) > 0 && done[0].ID != "2" {
			_, err = w.Undo(bg, UndoOptions{ID: done[0].ID})
		}
		if _, rerr := w.Undo(bg, UndoOptions{ID: "2"}); rerr != nil {
			err = rerr
		}
	}
	for i := range list {
		if !holds(i, before) {
			t.Fatalf("%s: %d does not hold %q again: %v", name, i, before, err)
		}
	}
}
