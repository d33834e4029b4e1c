package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// withJournal returns a root with the journal of an older version in it, which was
// made by: a.txt written twice, appended to and moved to b.txt; n/e/w.txt written and
// deleted; c.txt written twice, and once undone; d.txt written and deleted.
func withJournal(t *testing.T) string {
	root := t.TempDir()
	if err := os.CopyFS(root+"/.skill", os.DirFS("testdata/journal")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestImport(t *testing.T) {
	root := withJournal(t)
	s := open(t, Options{Root: root})
	checkImport(t, s)
	if _, err := os.Lstat(root + "/.skill/journal.imported"); err != nil {
		t.Error(err)
	}
	if id := add(t, s, Record{}); id != 13 {
		t.Errorf("the next record has the number %d", id)
	}
}

func checkImport(t *testing.T, s *Store) {
	t.Helper()
	whole, damaged := ids(t, s)
	if !slices.Equal(whole, []int64{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12}) || damaged != nil {
		t.Errorf("whole %v, damaged %v", whole, damaged)
	}
	find := func(id int64) *Entry {
		e, err := find(s, id)
		if err != nil {
			t.Fatal(err)
		}
		return &e
	}
	image := func(id int64, step int) string {
		f, err := openImage(s, find(id), step)
		if err != nil {
			return err.Error()
		}
		defer f.Close()
		data, err := os.ReadFile(filepath.Join(s.Path(), logsName, segmentName(1), imagesName, find(id).Record().Steps[step].Image))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	for id, want := range map[int64]string{2: "first", 7: "deep", 10: "two", 12: "x"} {
		if got := image(id, len(find(id).Record().Steps)-1); got != want {
			t.Errorf("the image of %d is %q, want %q", id, got, want)
		}
	}
	if e := find(3); e.Record().Note == "" || e.End != Done {
		t.Errorf("the append: %+v", e)
	}
	if e := find(4); e.Record().Steps[0].From != "a.txt" || e.Record().Steps[0].Path != "b.txt" || e.Record().Note != "" {
		t.Errorf("the move: %+v", e)
	}
	if e := find(6); len(e.Record().Steps) != 3 || e.Record().Steps[0].Path != "n" || e.Record().Steps[0].After.Kind != "folder" || e.Record().Steps[2].Path != "n/e/w.txt" {
		t.Errorf("a file with its folders: %+v", e)
	}
	if e := find(9); e.Record().Steps[0].Image != "" {
		t.Errorf("what was undone has the image %q", e.Record().Steps[0].Image)
	}
	if e := find(10); e.Undoes != 9 || e.Record().Steps[0].Before.Sum != "3fc4ccfe745870e2c0d99f71f30ff065" || e.Record().Steps[0].After.Sum != "7692c3ad3540bb803c020b3aee66cd88" || e.Record().Next != 9 {
		t.Errorf("the undo: %+v", e)
	}
	r, err := Inspect(bg, s.o)
	if err != nil || r.NoImage != nil || r.NoRecord != nil || r.OldJournal != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// An import that is killed between any two steps starts again.
func TestImportIsKilled(t *testing.T) {
	root, dir := withJournal(t), t.TempDir()
	o := Options{Root: root, Dir: dir}
	p, err := Find(o)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, p.Key)
	seg := filepath.Join(at, importName, segmentName(1))
	os.MkdirAll(seg+"/images", 0o700)
	os.Rename(root+"/.skill/images/7", seg+"/images/7") // some images are there, and a part of the log
	os.WriteFile(seg+"/log", []byte("half a li"), 0o600)
	s := open(t, o)
	checkImport(t, s)
	s.Close()

	os.Rename(root+"/.skill/journal.imported", root+"/.skill/journal") // all but the last step
	s = open(t, o)
	checkImport(t, s)
	if _, err := os.Lstat(root + "/.skill/journal"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// An older version that is used again begins a journal, which stays and is reported.
func TestJournalComesAgain(t *testing.T) {
	root, dir := withJournal(t), t.TempDir()
	s := open(t, Options{Root: root, Dir: dir})
	s.Close()
	os.WriteFile(root+"/.skill/journal", nil, 0o600)
	s = open(t, Options{Root: root, Dir: dir})
	if whole, _ := ids(t, s); len(whole) != 11 {
		t.Errorf("whole %v", whole)
	}
	if r, err := Inspect(bg, s.o); err != nil || r.OldJournal == "" {
		t.Errorf("%+v, %v", r, err)
	}
}
