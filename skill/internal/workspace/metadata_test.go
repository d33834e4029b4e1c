//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// changers are the ways to change the content of the file f, which holds "content".
var changers = []struct {
	name string
	want string
	run  func(w *Workspace, abs string) (Change, error)
}{
	{"WriteFile", "new", func(w *Workspace, abs string) (Change, error) {
		return w.WriteFile(bg, abs, []byte("new"), WriteOptions{})
	}},
	{"AppendFile", "content+", func(w *Workspace, abs string) (Change, error) {
		return w.AppendFile(bg, abs, []byte("+"), WriteOptions{})
	}},
	{"EditFile", "CONTENT", func(w *Workspace, abs string) (Change, error) {
		return w.EditFile(bg, abs, WriteOptions{}, swap("content", "CONTENT"))
	}},
}

// eachChange runs a test for every way to change a file, over both backends.
func eachChange(t *testing.T,
	test func(t *testing.T, s *site, change func(w *Workspace, abs string) (Change, error), want string)) {
	for _, c := range changers {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) { test(t, s, c.run, c.want) })
		})
	}
}

func TestModeStays(t *testing.T) {
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		defer syscall.Umask(syscall.Umask(0o077))
		w := s.open(Options{NoSync: true})
		for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o777, 0o666, 0o751, 0o640} {
			s.put(s.p("f"), "content")
			if err := os.Chmod(s.p("f"), mode); err != nil {
				t.Fatal(err)
			}
			c, err := change(w, s.p("f"))
			must(t, c, err)
			s.has("f", want)
			if fi, err := os.Stat(s.p("f")); err != nil || fi.Mode() != mode {
				t.Errorf("%v, %v; want %v", fi.Mode(), err, mode)
			}
			os.Remove(s.p("f"))
		}
	})
}

// Hard links to a file stay hard links.
func TestHardLinksStay(t *testing.T) {
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("f=content", "d/")
		if err := os.Link(s.p("f"), s.p("d/g")); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(s.p("f"))
		if err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		c, err := change(w, s.p("d/g"))
		must(t, c, err)
		s.has("f", want)
		if fi, err := os.Stat(s.p("f")); err != nil || !os.SameFile(fi, before) ||
			fi.Mode() != before.Mode() {
			t.Errorf("%v, %v", fi, err)
		}
		s.lacks("d/" + tempName)
	})
}

func TestCopyOverHardLink(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=content that is longer", "from=new")
		if err := os.Link(s.p("f"), s.p("g")); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		c, err := w.Copy(t.Context(), s.p("from"), s.p("f"), CopyOptions{Replace: true})
		must(t, c, err)
		s.has("g", "new")
		_, err = w.Copy(t.Context(), s.p("f"), s.p("g"), CopyOptions{Replace: true})
		if !errors.Is(err, ErrSameFile) {
			t.Error(err)
		}
		s.has("g", "new")
	})
}

// A file that may not be written is not replaced, even if its folder is writable.
func TestReadOnlyFile(t *testing.T) {
	if !asNobody(t) {
		return
	}
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("d/f=content", "d/l => f", spare+"=new")
		if err := os.Chmod(s.p("d/f"), 0o444); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		for _, name := range []string{"d/f", "d/l"} {
			c, err := change(w, s.p(name))
			checkPathError(t, string(c.Kind), err, "open", s.p(name), syscall.EACCES)
		}
		_, err := w.Copy(t.Context(), s.p(spare), s.p("d/f"), CopyOptions{Replace: true})
		if !errors.Is(err, syscall.EACCES) {
			t.Error(err)
		}
		s.unchanged(before)
		dry := s.open(Options{DryRun: true})
		c, err := change(dry, s.p("d/f"))
		checkPathError(t, string(c.Kind), err, "open", s.p("d/f"), syscall.EACCES)
		// To remove or move a file is a matter of its folder.
		c, err = w.Move(t.Context(), s.p("d/f"), s.p("g"), MoveOptions{})
		must(t, c, err)
		c, err = w.Remove(t.Context(), s.p("g"), RemoveOptions{})
		must(t, c, err)
	})
}

// In a folder that is not writable, files are written in place.
func TestReadOnlyFolder(t *testing.T) {
	if !asNobody(t) {
		return
	}
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("d/f=content", "d/e/", "g=x")
		if err := os.Chmod(s.p("d"), 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(s.p("d"), 0o755)
		fi, err := os.Stat(s.p("d/f"))
		if err != nil {
			t.Fatal(err)
		}
		w, dry := s.open(Options{NoSync: true}), s.open(Options{DryRun: true})
		if _, err = change(dry, s.p("d/f")); err != nil {
			t.Error(err)
		}
		c, err := change(w, s.p("d/f"))
		must(t, c, err)
		s.has("d/f", want)
		if now, err := os.Stat(s.p("d/f")); err != nil || !os.SameFile(fi, now) {
			t.Errorf("another file: %v", err)
		}
		before := s.snapshot()
		for _, w := range []*Workspace{dry, w} {
			for _, err := range []error{
				failed(w.WriteFile(t.Context(), s.p("d/new"), nil, WriteOptions{})),
				failed(w.WriteFile(t.Context(), s.p("d/new/new"), nil, WriteOptions{Parents: true})),
				failed(w.AppendFile(t.Context(), s.p("d/new"), nil, WriteOptions{})),
				failed(w.MakeDir(t.Context(), s.p("d/x/y"), false)),
				failed(w.Remove(t.Context(), s.p("d/f"), RemoveOptions{})),
				failed(w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})),
				failed(w.Move(t.Context(), s.p("d/f"), s.p("f"), MoveOptions{})),
				failed(w.Move(t.Context(), s.p("g"), s.p("d/f"), MoveOptions{})),
				failed(w.Move(t.Context(), s.p("g"), s.p("d/new/g"), MoveOptions{Parents: true})),
				failed(w.Copy(t.Context(), s.p("g"), s.p("d/new"), CopyOptions{})),
				failed(w.Copy(t.Context(), s.p("d"), s.p("d/e/f"), CopyOptions{Tree: true})),
			} {
				if !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EINVAL) {
					t.Errorf("dry %v: %v", w.opts.DryRun, err)
				}
			}
		}
		s.unchanged(before)
	})
}

// A tree with a folder that cannot be emptied is not removed in part.
func TestRemoveTreeThatCannot(t *testing.T) {
	if !asNobody(t) {
		return
	}
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/b/c/f=x", "d/z/f=x")
		w := s.open(Options{NoSync: true})
		for name, mode := range map[string]fs.FileMode{"d/b/c": 0o555, "d/z": 0o300, "d/b": 0} {
			if err := os.Chmod(s.p(name), mode); err != nil {
				t.Fatal(err)
			}
			_, err := w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})
			if !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), s.p(name)) {
				t.Errorf("%s: %v", name, err)
			}
			os.Chmod(s.p(name), 0o755)
			s.has("d/a/f", "x")
			s.has("d/b/c/f", "x")
			s.has("d/z/f", "x")
			s.lacks(tempName)
		}
		c, err := w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})
		must(t, c, err)
	})
}

// A copy of a read-only tree is read-only, and can be made by its owner.
func TestCopyReadOnlyTree(t *testing.T) {
	if !asNobody(t) {
		return
	}
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/g=y")
		for _, name := range []string{"d/a/f", "d/a", "d/g", "d"} {
			if err := os.Chmod(s.p(name), 0o500); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(s.p(name), 0o700)
		}
		w := s.open(Options{NoSync: true})
		c, err := w.Copy(t.Context(), s.p("d"), s.p("e"), CopyOptions{Tree: true})
		must(t, c, err)
		defer os.Chmod(s.p("e"), 0o700)
		defer os.Chmod(s.p("e/a"), 0o700)
		s.has("e/a/f", "x")
		for _, name := range []string{"e/a/f", "e/a", "e/g", "e"} {
			if fi, err := os.Stat(s.p(name)); err != nil || fi.Mode().Perm() != 0o500 {
				t.Errorf("%s: %v, %v", name, fi.Mode(), err)
			}
		}
	})
}

// The next change in a folder removes the leftovers of a killed process.
func TestLeftOver(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		for _, left := range [][]string{
			{tempName + "=half"},
			{tempName + "/"},
			{tempName + "/a/b/c=half", tempName + "/l => ../../out"},
			{tempName + " => ../out/secret"},
			{tempName + " => ../out"},
		} {
			for dir, change := range map[string]func() (Change, error){
				"":  func() (Change, error) { return w.WriteFile(t.Context(), s.p("f"), []byte("new"), WriteOptions{}) },
				"d": func() (Change, error) { return w.AppendFile(t.Context(), s.p("d/f"), []byte("new"), WriteOptions{}) },
				"e": func() (Change, error) { return w.Remove(t.Context(), s.p("e/f"), RemoveOptions{}) },
				"c": func() (Change, error) {
					return w.Copy(t.Context(), s.p("in/f"), s.p("c/f"), CopyOptions{Replace: true})
				},
				"m": func() (Change, error) { return w.Move(t.Context(), s.p("in/m"), s.p("m/f"), MoveOptions{}) },
			} {
				s.layout("in/f=new", "in/m=new", filepath.Join(dir, "f"))
				for _, l := range left {
					s.layout("./" + dir + "/" + l)
				}
				before := s.snapshot()
				c, err := change()
				must(t, c, err)
				s.lacks(filepath.Join(dir, tempName))
				s.outside(before)
			}
		}
	})
}

// It also removes a leftover tree of read-only folders.
func TestLeftOverReadOnly(t *testing.T) {
	if !asNobody(t) {
		return
	}
	each(t, func(t *testing.T, s *site) {
		s.layout(tempName+"/a/b/f=half", "f=x")
		for _, dir := range []string{"/a/b", "/a", ""} {
			if err := os.Chmod(s.p(tempName+dir), 0o500); err != nil {
				t.Fatal(err)
			}
		}
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(t.Context(), s.p("f"), nil, WriteOptions{})
		must(t, c, err)
		s.lacks(tempName)
	})
}

// A copy has the modes of the source without the set-uid, set-gid and sticky bits.
func TestCopyModes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		defer syscall.Umask(syscall.Umask(0o077))
		s.layout("f=x", "d/f=x", "there=old")
		for name, mode := range map[string]fs.FileMode{"f": 0o755 | fs.ModeSetuid | fs.ModeSetgid,
			"d/f": 0o666 | fs.ModeSetuid, "d": 0o775 | fs.ModeSticky} {
			if err := os.Chmod(s.p(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		w := s.open(Options{NoSync: true})
		for from, to := range map[string]string{"f": "g", "d": "e", "d/f": "there"} {
			c, err := w.Copy(t.Context(), s.p(from), s.p(to), CopyOptions{Tree: true, Replace: true})
			must(t, c, err)
		}
		got := []fs.FileMode{}
		for _, name := range []string{"g", "e", "e/f", "there"} {
			fi, err := os.Stat(s.p(name))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fi.Mode())
		}
		if want := []fs.FileMode{0o755, 0o775 | fs.ModeDir, 0o666, 0o666}; !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	})
}

// Undo and redo of a copy that changes only permissions.
func TestUndoCopyModes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=x", "there=x")
		for name, mode := range map[string]fs.FileMode{"f": 0o755, "there": 0o600} {
			if err := os.Chmod(s.p(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		w := s.open(Options{NoSync: true})
		c, err := w.Copy(t.Context(), s.p("f"), s.p("there"), CopyOptions{Replace: true})
		must(t, c, err)
		for _, want := range []fs.FileMode{0o600, 0o755} {
			done, err := w.Undo(bg, UndoOptions{ID: c.ID})
			fi, statErr := os.Stat(s.p("there"))
			if err != nil || statErr != nil || len(done) != 1 || fi.Mode() != want {
				t.Fatalf("%v, %v, %v; want %v", done, fi, err, want)
			}
			c.ID = done[0].ID
		}
	})
}
