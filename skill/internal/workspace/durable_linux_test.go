package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"textskill/testdata/needs"

	"golang.org/x/sys/unix"
)

// immutable keeps a file from being removed until the test ends.
func immutable(t *testing.T, name string) {
	t.Helper()
	needs.Root(t)
	const flag = 0x10 // FS_IMMUTABLE_FL
	set := func(on int) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags&^flag|on)
	}
	err := set(flag)
	needs.That(t, err == nil, "a TMPDIR whose file system has chattr +i", "set it to a folder on ext4")
	t.Cleanup(func() { set(0) })
}

// A move to another file system that cannot remove its source restores the file that it replaced.
func TestMoveAcrossFails(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		far := elsewhere(t, s)
		s.put(s.p("f"), "new")
		immutable(t, s.p("f"))
		for _, store := range []string{"", filepath.Join(s.base, "store")} {
			s.put(far+"/f", "old")
			w := s.open(Options{Allow: []string{far}, State: store})
			if c, err := w.Move(t.Context(), s.p("f"), far+"/f", MoveOptions{}); err == nil {
				t.Fatalf("%+v", c)
			}
			s.has("f", "new")
			if text, err := os.ReadFile(far + "/f"); string(text) != "old" {
				t.Errorf("there is %q, %v", text, err)
			}
		}
	})
}

// After a failed change of several files and a power cut, all files exist.
func TestPowerCutAfterBatchFailed(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		disk := disks[0]
		s := newSite(t, false)
		s.dir = filepath.Join(disk.Dir, "ws")
		s.put(s.p("gone"), "old")
		s.put(s.p("stays"), "old")
		immutable(t, s.p("stays"))
		disk.Flush()
		for _, store := range []string{filepath.Join(s.base, "store"), filepath.Join(disk.Dir, "store")} {
			w, err := Open(Options{Dir: s.dir, State: store})
			if err != nil {
				t.Fatal(err)
			}
			c, err := w.ChangeFiles(bg, fixed(
				FileChange{Path: s.p("gone"), Before: []byte("old")},
				FileChange{Path: s.p("stays"), Before: []byte("old")},
			))
			if err == nil {
				t.Fatalf("%+v", c)
			}
			syncAt(t, s.dir)
			disk.Cut()
			w.Close()
			disk.Remount()
			s.has("gone", "old")
		}
	})
}

// syncAt makes a file or folder durable. On ext4 this also makes all names durable, but no contents of
// other files.
func syncAt(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err == nil {
		err = f.Sync()
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An undo that fails changes nothing.
func TestUndoFails(t *testing.T) {
	needs.Root(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old", "g=old")
		w := s.open(Options{NoSync: true})
		c, err := w.ChangeFiles(bg, fixed(
			FileChange{Path: s.p("f"), Before: []byte("old"), After: []byte("new")},
			FileChange{Path: s.p("g"), Before: []byte("old"), After: []byte("newer")}))
		must(t, c, err)
		ran := false
		t.Run("stuck", func(t *testing.T) {
			immutable(t, s.p("g"))
			ran = true
			if _, err := w.Undo(bg, UndoOptions{}); err == nil {
				t.Error("it was undone")
			}
			s.has("f", "new")
			s.has("g", "newer")
		})
		if !ran {
			t.Skip("stuck was skipped")
		}
		if list, err := w.Inspect(bg); err != nil || len(list[0].Orphans) > 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		s.has("f", "old")
		s.has("g", "old")
	})
}

// The undo and redo of a command that made a folder with a hard link to a file and wrote to the file.
func TestRedoOfFolderWithLink(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=old")
		w := s.open(Options{NoSync: true})
		before, err := w.Begin(bg, "true", 1<<20, s.walk)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(s.p("d"), 0o755), os.Link(s.p("a"), s.p("d/b"))); err != nil {
			t.Fatal(err)
		}
		s.put(s.p("a"), "newer")
		c, _, err := before.End(bg)
		must(t, c, err)
		id := c.ID
		for range 3 {
			for _, want := range []string{"old", "newer"} {
				done, err := w.Undo(bg, UndoOptions{ID: id})
				if err != nil {
					t.Fatal(err)
				}
				id = done[0].ID
				s.has("a", want)
			}
			s.has("d/b", "newer")
		}
	})
}
