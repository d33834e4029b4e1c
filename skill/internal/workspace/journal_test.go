//go:build linux || darwin

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// tree describes the site's workspace without the journal: names, kinds, permissions and contents.
func (s *site) tree() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.dir, p)
		fmt.Fprintf(&b, "%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			fmt.Fprintf(&b, " %q %v", data, err)
		case info.Mode().Type() == fs.ModeSymlink:
			target, _ := os.Readlink(p)
			b.WriteString(" -> " + target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

// changes has one change of every kind, with the files that each needs.
var changes = []struct {
	name   string
	layout []string
	run    func(w *Workspace, s *site) (Change, error)
}{
	{"write", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
	}},
	{"write new", nil, func(w *Workspace, s *site) (Change, error) {
		return w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
	}},
	{"write below", []string{"a/f=x"}, func(w *Workspace, s *site) (Change, error) {
		return w.WriteFile(bg, s.p("a/b/c/f"), []byte("new"), WriteOptions{Parents: true})
	}},
	{"write nothing", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.WriteFile(bg, s.p("f"), nil, WriteOptions{})
	}},
	{"write through a link", []string{"d/f=old", "l => d/f"}, func(w *Workspace, s *site) (Change, error) {
		return w.WriteFile(bg, s.p("l"), []byte("new"), WriteOptions{})
	}},
	{"append", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.AppendFile(bg, s.p("f"), []byte("+more"), WriteOptions{})
	}},
	{"append new", nil, func(w *Workspace, s *site) (Change, error) {
		return w.AppendFile(bg, s.p("d/f"), []byte("+more"), WriteOptions{Parents: true})
	}},
	{"edit", []string{"f=old\nlines\n"}, func(w *Workspace, s *site) (Change, error) {
		return w.EditFile(bg, s.p("f"), WriteOptions{}, swap("old", "newer"))
	}},
	{"delete", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.Remove(bg, s.p("f"), RemoveOptions{})
	}},
	{"delete link", []string{"f=old", "l => f"}, func(w *Workspace, s *site) (Change, error) {
		return w.Remove(bg, s.p("l"), RemoveOptions{})
	}},
	{"delete folder", []string{"d/"}, func(w *Workspace, s *site) (Change, error) {
		return w.Remove(bg, s.p("d"), RemoveOptions{Folder: true})
	}},
	{"delete tree", []string{"d/f=old", "d/e/g=x", "d/l => f", "d/empty/"},
		func(w *Workspace, s *site) (Change, error) {
			return w.Remove(bg, s.p("d"), RemoveOptions{Tree: true})
		}},
	{"move", []string{"f=old", "d/"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("f"), s.p("d/g"), MoveOptions{})
	}},
	{"move below", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("f"), s.p("d/e/g"), MoveOptions{Parents: true})
	}},
	{"move onto a file", []string{"f=old", "g=other"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("f"), s.p("g"), MoveOptions{})
	}},
	{"move onto a link", []string{"f=old", "g => f"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("f"), s.p("g"), MoveOptions{})
	}},
	{"move tree", []string{"d/f=old", "e/"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("d"), s.p("e/d"), MoveOptions{})
	}},
	{"move tree onto a folder", []string{"d/f=old", "e/"}, func(w *Workspace, s *site) (Change, error) {
		return w.Move(bg, s.p("d"), s.p("e"), MoveOptions{})
	}},
	{"copy", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		return w.Copy(bg, s.p("f"), s.p("g"), CopyOptions{Times: true})
	}},
	{"copy onto", []string{"f=old", "g=other"}, func(w *Workspace, s *site) (Change, error) {
		os.Chmod(s.p("f"), 0o600)
		return w.Copy(bg, s.p("f"), s.p("g"), CopyOptions{Replace: true})
	}},
	{"copy tree", []string{"d/f=old", "d/e/g=x"}, func(w *Workspace, s *site) (Change, error) {
		return w.Copy(bg, s.p("d"), s.p("x/y"), CopyOptions{Tree: true, Parents: true, Times: true})
	}},
	{"folder", []string{"d/"}, func(w *Workspace, s *site) (Change, error) {
		return w.MakeDir(bg, s.p("d/a/b"), false)
	}},
	{"several links", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		os.Link(s.p("f"), s.p("g"))
		return w.WriteFile(bg, s.p("f"), []byte("newer"), WriteOptions{})
	}},
	{"delete one of several links", []string{"f=old"}, func(w *Workspace, s *site) (Change, error) {
		os.Link(s.p("f"), s.p("g"))
		return w.Remove(bg, s.p("f"), RemoveOptions{})
	}},
}

// Every kind of change can be undone, redone and undone again.
func TestUndo(t *testing.T) {
	needs.InMemory(t)
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{NoSync: true})
				if strings.Contains(c.name, "several links") {
					if err := os.Link(s.p("f"), s.p("g")); err != nil {
						t.Fatal(err)
					}
				}
				if c.name == "copy onto" {
					os.Chmod(s.p("f"), 0o600)
				}
				before := s.tree()
				did, err := c.run(w, s)
				if err != nil || did.ID == "" || did.NotKept != "" {
					t.Fatalf("%+v, %v", did, err)
				}
				after := s.tree()
				if after == before {
					t.Fatal("nothing was changed")
				}
				id := did.ID
				for round, want := range []string{before, after, before, after, before} {
					done, err := w.Undo(bg, UndoOptions{ID: id})
					if err != nil || len(done) != 1 || done[0].Of != id {
						t.Fatalf("round %d: %+v, %v", round, done, err)
					}
					id = done[0].ID
					if got := s.tree(); got != want {
						t.Fatalf("round %d:\n%s\nwant:\n%s", round, got, want)
					}
				}
				s.lacks(tempName)
				if list, err := listed(w.History(bg)); err != nil || len(list) != 6 {
					t.Errorf("%v, %v", list, err)
				}
				if _, err := w.Undo(bg, UndoOptions{}); err == nil {
					t.Error("what is not in effect was undone")
				}
			})
		})
	}
}

// Undo refuses a file that another program has changed since. With force, it saves that version first.
func TestUndoRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w := s.open(Options{NoSync: true})
		did, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
		must(t, did, err)
		s.put(s.p("f"), "theirs")
		_, err = w.Undo(bg, UndoOptions{})
		if c, ok := errors.AsType[*UndoError](err); !ok || !c.Force ||
			!strings.Contains(err.Error(), "changed since by something else") {
			t.Errorf("%v", err)
		}
		s.has("f", "theirs")
		done, err := w.Undo(bg, UndoOptions{Force: true})
		if err != nil || len(done) != 1 {
			t.Fatalf("%v, %v", done, err)
		}
		s.has("f", "old")
		if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
			t.Fatal(err)
		}
		s.has("f", "theirs")
	})
}

// A change cannot be undone before a later change of the same file.
func TestUndoInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		var ids []string
		for _, text := range []string{"one", "two", "three"} {
			c, err := w.WriteFile(bg, s.p("f"), []byte(text), WriteOptions{})
			must(t, c, err)
			ids = append(ids, c.ID)
		}
		if _, err := w.Undo(bg, UndoOptions{ID: ids[0]}); err == nil ||
			!strings.Contains(err.Error(), "since by change "+ids[2]) {
			t.Errorf("%v", err)
		}
		if done, err := w.Undo(bg, UndoOptions{}); err != nil || done[0].Of != ids[2] {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "two")
		if done, err := w.Undo(bg, UndoOptions{Since: ids[0]}); err != nil || len(done) != 2 {
			t.Errorf("%v, %v", done, err)
		}
		s.lacks("f")
	})
}

// A change without effect is undone and redone among undone changes: a bare undo still skips these.
func TestUndoAmongUndone(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(s.p("idle"), "")
		w := s.open(Options{NoSync: true})
		write := func(text string) string {
			c, err := w.WriteFile(bg, s.p("f"), []byte(text), WriteOptions{})
			must(t, c, err)
			return c.ID
		}
		undo := func(o UndoOptions, want ...string) (id string) {
			t.Helper()
			var got []string
			done, err := w.Undo(bg, o)
			for _, u := range done {
				got, id = append(got, u.Of), u.ID
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("undid %q, %v; want %q", got, err, want)
			}
			return id
		}
		one, two, three := write("1"), write("2"), write("3")
		idle, err := w.AppendFile(bg, s.p("idle"), nil, WriteOptions{})
		must(t, idle, err)
		undo(UndoOptions{Since: two}, three, two)
		four := write("4")
		undo(UndoOptions{}, four)
		undo(UndoOptions{}, one)
	})
}

// Writing the same content to a file with hard links keeps its mode, so a bare undo skips the change.
func TestBareUndoSkipsSameContent(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		if err := os.Link(s.p("f"), s.p("g")); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []os.FileMode{0o600, 0o644, 0o755} {
			if err := os.Chmod(s.p("f"), mode); err != nil {
				t.Fatal(err)
			}
			w := s.open(Options{NoSync: true})
			var ids []string
			for range 2 {
				c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
				must(t, c, err)
				ids = append(ids, c.ID)
			}
			done, err := w.Undo(bg, UndoOptions{})
			if err != nil || len(done) != 1 || done[0].Of != ids[0] ||
				fmt.Sprint(done[0].Passed) != "[change "+ids[1]+" left everything as it was]" {
				t.Errorf("mode %o: %+v, %v", mode, done, err)
			}
			s.has("f", "old")
		}
	})
}

// history returns the folder of the history.
func (s *site) history() string {
	s.t.Helper()
	list, err := filepath.Glob(s.base + "/" + stateHome + "/skill/*/log")
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%q, %v", list, err)
	}
	return filepath.Dir(list[0])
}

// Old changes and changes beyond the limit are dropped, except those in the last block.
func TestPruned(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("f")
		for name, limit := range map[string]Journal{"count": {Count: 8}, "bytes": {Bytes: 3000},
			"age": {Age: time.Nanosecond}} {
			w := s.open(Options{NoSync: true, Journal: limit})
			for n := range 600 {
				c, err := w.WriteFile(bg, s.p("f"), bytes.Repeat([]byte{byte('a' + n%26)}, 500),
					WriteOptions{})
				must(t, c, err)
			}
			list, err := listed(w.History(bg))
			if err != nil || len(list) < 2 || len(list) > 512 {
				t.Errorf("%s: %d changes are kept; %v", name, len(list), err)
			}
			images, err := filepath.Glob(s.history() + "/log/*/images/*")
			if err != nil || len(images) > len(list) {
				t.Errorf("%s: %d changes and %d images are kept; %v", name, len(list), len(images), err)
			}
			if _, err := w.Undo(bg, UndoOptions{Since: list[0].ID}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w.Close()
		}
	})
}

// No history is made if nothing may change or nothing is recorded.
func TestNoJournal(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		for _, o := range []Options{{ReadOnly: true}, {DryRun: true}, {Journal: Journal{Off: true}}} {
			w := s.open(o)
			c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
			if (err == nil) == o.ReadOnly || c.ID != "" {
				t.Errorf("%+v, %v", c, err)
			}
			if list, err := listed(w.History(bg)); err != nil || len(list) > 0 {
				t.Errorf("%v, %v", list, err)
			}
			if _, err := w.Undo(bg, UndoOptions{}); err == nil {
				t.Error("something was undone")
			}
			s.lacks(StateDir)
		}
	})
}

// collect returns the history.
func collect(t *testing.T, w *Workspace) []HistoryEntry {
	t.Helper()
	list, err := listed(w.History(bg))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
