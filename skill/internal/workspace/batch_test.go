//go:build linux || darwin

package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// fixed returns a compute that always returns the same list.
func fixed(list ...FileChange) func() ([]FileChange, error) {
	return func() ([]FileChange, error) { return list, nil }
}

// TestChangeFiles replaces, creates, moves and removes files as one change, undoes it and redoes it.
func TestChangeFiles(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for _, journal := range []bool{true, false} {
			s := newSite(t, s.portable)
			s.put(s.p("a.txt"), "old a")
			s.put(s.p("gone.txt"), "going")
			s.put(s.p("was.sh"), "script")
			s.put(s.p("x.txt"), "linked")
			if err := os.Chmod(s.p("was.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(s.p("x.txt"), s.p("y.txt")); err != nil {
				t.Fatal(err)
			}
			w := s.open(Options{Journal: Journal{Off: !journal}})
			c, err := w.ChangeFiles(bg, fixed(
				FileChange{Path: s.p("a.txt"), Before: []byte("old a"), After: []byte("new a")},
				FileChange{Path: s.p("gone.txt"), Before: []byte("going")},
				FileChange{Path: s.p("new/deep/b.txt"), After: []byte("b")},
				FileChange{Path: s.p("new/deep/is.sh"), After: []byte("script 2"), Mode: 0o755},
				FileChange{Path: s.p("was.sh"), Before: []byte("script")},
				FileChange{Path: s.p("x.txt"), Before: []byte("linked"), After: []byte("written")},
			))
			if err != nil {
				t.Fatal(err)
			}
			after := func() {
				t.Helper()
				s.has("a.txt", "new a")
				s.lacks("gone.txt")
				s.lacks("was.sh")
				s.has("new/deep/b.txt", "b")
				s.has("new/deep/is.sh", "script 2")
				s.has("y.txt", "written")
				if fi, err := os.Stat(s.p("new/deep/is.sh")); err != nil || fi.Mode().Perm() != 0o755 {
					t.Errorf("the moved file has mode %v, %v", fi.Mode(), err)
				}
			}
			after()
			if !journal {
				continue
			}
			list, err := listed(w.History(bg))
			if err != nil || len(list) != 1 || list[0].ID != c.ID || len(list[0].Paths) != 8 {
				t.Fatalf("history is %+v, %v", list, err)
			}
			undone, err := w.Undo(bg, UndoOptions{ID: c.ID})
			if err != nil {
				t.Fatal(err)
			}
			s.has("a.txt", "old a")
			s.has("gone.txt", "going")
			s.has("was.sh", "script")
			s.has("y.txt", "linked")
			s.lacks("new")
			if _, err := w.Undo(bg, UndoOptions{ID: undone[0].ID}); err != nil {
				t.Fatal(err)
			}
			after()
		}
	})
}

// TestChangeFilesAllOrNone fails at the last of several files: the other files keep their contents.
func TestChangeFilesAllOrNone(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for _, journal := range []bool{true, false} {
			s := newSite(t, s.portable)
			s.put(s.p("a.txt"), "old a")
			s.put(s.p("b.txt"), "old b")
			w := s.open(Options{Journal: Journal{Off: !journal}})
			_, err := w.ChangeFiles(bg, fixed(
				FileChange{Path: s.p("a.txt"), Before: []byte("old a"), After: []byte("new a")},
				FileChange{Path: s.p("b.txt"), Before: []byte("old b")},
				FileChange{Path: s.p("x/y"), After: []byte("in a folder")},
				FileChange{Path: s.p("x"), After: []byte("in its place")},
			))
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("the change fails with %v", err)
			}
			s.has("a.txt", "old a")
			s.has("b.txt", "old b")
			s.lacks("x")
			if list, err := listed(w.History(bg)); journal && (err != nil || len(list) > 0) {
				t.Errorf("history is %v, %v", list, err)
			}
		}
	})
}

// TestChangeFilesRefuses checks that ChangeFiles fails before its first change.
func TestChangeFilesRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(s.p("a.txt"), "a")
		s.put(s.p("dir/f"), "f")
		if err := os.Symlink("a.txt", s.p("link")); err != nil {
			t.Fatal(err)
		}
		s.put(s.p("one"), "x")
		if err := os.Link(s.p("one"), s.p("two")); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		if _, err := w.ChangeFiles(bg,
			fixed(FileChange{Path: s.p("one"), Before: []byte("x"), After: []byte("y")},
				FileChange{Path: s.p("two"), Before: []byte("x"), After: []byte("z")})); err == nil ||
			!strings.Contains(err.Error(), "names of one file") {
			t.Errorf("two names of one file: %v", err)
		}
		s.has("one", "x")
		first := FileChange{Path: s.p("a.txt"), Before: []byte("a"), After: []byte("changed")}
		for name, tt := range map[string]struct {
			change FileChange
			want   string
		}{
			"missing": {FileChange{Path: s.p("none"), Before: []byte("x"), After: []byte("y")},
				"no such file"},
			"present":  {FileChange{Path: s.p("dir/f"), After: []byte("y")}, "file exists"},
			"folder":   {FileChange{Path: s.p("dir"), Before: []byte("x")}, "is a directory"},
			"the root": {FileChange{Path: s.p("."), Before: []byte("x")}, "is a directory"},
			"outside":  {FileChange{Path: s.base + "/out/x", After: []byte("x")}, "is outside the workspace"},
			"records":  {FileChange{Path: s.p(".git/config"), After: []byte("x")}, "is denied"},
			"twice": {FileChange{Path: s.p("link"), Before: []byte("a"), After: []byte("x")},
				"is named twice"},
			"below": {FileChange{Path: s.p("a.txt/x"), After: []byte("x")}, "file exists"},
		} {
			if _, err := w.ChangeFiles(bg, fixed(first, tt.change)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v; want %q", name, err, tt.want)
			}
			s.has("a.txt", "a")
		}
		many := make([]FileChange, maxBatch+1)
		if _, err := w.ChangeFiles(bg, fixed(many...)); err == nil ||
			!strings.Contains(err.Error(), "201 files") {
			t.Errorf("many: %v", err)
		}
	})
}

// TestChangeFilesDryRun describes the changes without making them.
func TestChangeFilesDryRun(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(s.p("a.txt"), "a\n")
		w := s.open(Options{DryRun: true})
		c, err := w.ChangeFiles(bg,
			fixed(FileChange{Path: s.p("a.txt"), Before: []byte("a\n"), After: []byte("b\n")},
				FileChange{Path: s.p("new/c.txt"), After: []byte("c\n")}))
		if err != nil || c.Applied || !strings.Contains(c.Diff, "-a\n+b\n") ||
			!strings.Contains(c.Diff, "/dev/null") {
			t.Errorf("%+v, %v", c, err)
		}
		s.has("a.txt", "a\n")
		s.lacks("new")
	})
}

// TestChangeFilesAgain computes the change again after another program has written to a file.
func TestChangeFilesAgain(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(s.p("a.txt"), "a")
		w := s.open(Options{})
		calls := 0
		_, err := w.ChangeFiles(bg, func() ([]FileChange, error) {
			data, err := w.ReadFile(s.p("a.txt"))
			calls++
			return []FileChange{{Path: s.p("a.txt"), Before: data,
				After: append(bytes.Clone(data), '+')}}, err
		})
		if err != nil || calls != 1 {
			t.Fatalf("%v after %d calls", err, calls)
		}
		s.has("a.txt", "a+")
	})
}
