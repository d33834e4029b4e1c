package workspace

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/state"
	"textskill/testdata/needs"
)

// What was saved before a command, and lost in a power cut, is saved again before the next one.
func TestPowerCutAfterSnapshot(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		disk := disks[0]
		s := newSite(t, false)
		s.dir = filepath.Join(disk.Dir, "ws")
		s.put(s.p("f"), "old")
		open := func() *Workspace {
			w, err := Open(Options{Dir: s.dir, State: filepath.Join(disk.Dir, "store")})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		snapshot := func(w *Workspace) *Snapshot {
			snap, err := w.Snapshot(bg, 1<<20, s.walk)
			if err != nil {
				t.Fatal(err)
			}
			return snap
		}
		w := open()
		snapshot(w).Close()
		s.put(s.p("g"), strings.Repeat("g", 5000))
		disk.Flush()
		time.Sleep(2 * timeGrain)
		snapshot(w).Close()
		tables, err := filepath.Glob(filepath.Join(disk.Dir, "store/*/snapshot/index"))
		if err != nil || len(tables) != 1 {
			t.Fatal(tables, err)
		}
		syncAt(t, tables[0])
		disk.Cut()
		w.Close()
		disk.Remount()
		w = open()
		defer w.Close()
		store, err := w.histories[0].folder(state.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		defer store.close()
		index := readNamed(store.top, indexName("."), ".")
		index.boot = "before"
		if err := index.write(store.top); err != nil {
			t.Fatal(err)
		}
		before := snapshot(w)
		defer before.Close()
		s.put(s.p("g"), "new")
		_, left, err := before.Record(bg, "true")
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		s.has("g", strings.Repeat("g", 5000))
	})
}
