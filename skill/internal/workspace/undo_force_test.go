//go:build linux || darwin

package workspace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// What something else has added to a file after an append is taken away only with force, and
// is kept.
func TestForceUndoOfAppend(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old\n")
		w := s.open(Options{NoSync: true})
		for _, line := range []string{"one\n", "two\n"} {
			c, err := w.AppendFile(bg, s.p("f"), []byte(line), WriteOptions{})
			must(t, c, err)
		}
		s.put(s.p("f"), "old\none\ntwo\ntheirs\n")
		_, err := w.Undo(bg, UndoOptions{})
		if refused, ok := errors.AsType[*UndoError](err); !ok || !refused.Force {
			t.Errorf("%v", err)
		}
		done, err := w.Undo(bg, UndoOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		s.has("f", "old\none\n")
		if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
			t.Fatal(err)
		}
		s.has("f", "old\none\ntwo\ntheirs\n")
		if _, err := w.Undo(bg, UndoOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		s.has("f", "old\n")
	})
}

// A change that cannot be undone is passed over with force, also where the one before is about
// the same file, and by undo of all since another.
func TestForcePassesOver(t *testing.T) {
	for _, since := range []bool{false, true} {
		each(t, func(t *testing.T, s *site) {
			big := strings.Repeat("0123456789abcdef", 80<<10)
			s.layout("f=first", "other=x")
			w := s.open(Options{NoSync: true})
			first, err := w.WriteFile(bg, s.p("other"), []byte("y"), WriteOptions{})
			must(t, first, err)
			c, err := w.WriteFile(bg, s.p("f"), []byte(big), WriteOptions{})
			must(t, c, err)
			patch, err := w.EditFile(bg, s.p("f"), WriteOptions{}, swap("9abc", "new"))
			must(t, patch, err)
			s.put(s.p("f"), "theirs, of which too little is kept to bring the file back")
			o := UndoOptions{}
			if since {
				o.Since = first.ID
			}
			_, err = w.Undo(bg, o)
			if refused, ok := errors.AsType[*UndoError](err); !ok || !refused.Force {
				t.Fatalf("%v", err)
			}
			s.has("f", "theirs, of which too little is kept to bring the file back")
			o.Force = true
			done, err := w.Undo(bg, o)
			if err != nil || len(done[len(done)-1].Passed) != 1 || !strings.Contains(done[len(done)-1].Passed[0].Error(), "change "+patch.ID+" ") {
				t.Fatalf("%+v, %v", done, err)
			}
			s.has("f", "first")
			if !since {
				if _, err := w.Undo(bg, UndoOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			s.has("other", "x")
			if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
				t.Fatal(err)
			}
			s.has("f", "theirs, of which too little is kept to bring the file back")
		})
	}
}

// Undo of all since a change covers what was changed in other folders since.
func TestSinceInAllFolders(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		s.put(s.base+"/more/g", "old")
		w := s.open(Options{NoSync: true, Allow: []string{s.base + "/more"}})
		before, err := w.WriteFile(bg, s.base+"/more/g", []byte("before"), WriteOptions{})
		must(t, before, err)
		first, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
		must(t, first, err)
		second, err := w.Move(bg, s.p("f"), s.base+"/more/f", MoveOptions{})
		must(t, second, err)
		if done, err := w.Undo(bg, UndoOptions{Since: first.ID}); err != nil || len(done) != 2 {
			t.Fatalf("%v, %v", done, err)
		}
		s.has("f", "old")
		if data, _ := os.ReadFile(s.base + "/more/g"); string(data) != "before" || exists(s.base+"/more/f") {
			t.Errorf("%q", data)
		}
	})
}

// A change that was recorded and not made is listed as that, and undo passes over it.
func TestNeverMade(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old", "g=old")
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(bg, s.p("g"), []byte("new"), WriteOptions{})
		must(t, c, err)
		h := w.histories[0]
		p, err := w.locate(request{s.p("f"), false, toChange})
		if err != nil {
			t.Fatal(err)
		}
		d, err := h.folderOf("f")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		planned, err := w.planRemove(p, d, false)
		if err != nil {
			t.Fatal(err)
		}
		func() { // as if the process were killed
			defer func() { recover() }()
			w.commit(bg, &Change{Kind: Delete}, planned, func(*keeper) error { panic("killed") })
		}()
		list, err := listed(w.History(bg))
		if err != nil || len(list) != 2 || !strings.Contains(list[1].String(), "never made") || strings.Contains(list[0].String(), "never made") {
			t.Fatalf("%v, %v", list, err)
		}
		done, err := w.Undo(bg, UndoOptions{})
		if err != nil || done[0].Of != c.ID || len(done[0].Passed) != 1 || !strings.Contains(done[0].Passed[0].Error(), "change 2 was never made") {
			t.Fatalf("%+v, %v", done, err)
		}
		s.has("f", "old")
		s.has("g", "old")
		if list, err = listed(w.History(bg)); err != nil || len(list) != 2 || list[1].Of != c.ID {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// A change of several files is undone after it was undone and made again twice, the second time
// without one of them, which was as it is wanted by then.
func TestUndoOfRedoInPart(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=old a", "b=old b")
		w := s.open(Options{NoSync: true})
		c, err := w.ChangeFiles(bg, fixed(
			FileChange{Path: s.p("a"), Before: []byte("old a"), After: []byte("new a")},
			FileChange{Path: s.p("b"), Before: []byte("old b"), After: []byte("new b")},
		))
		must(t, c, err)
		undo := func(id string) string {
			t.Helper()
			done, err := w.Undo(bg, UndoOptions{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			return done[0].ID
		}
		redo := undo(undo(c.ID))
		write, err := w.WriteFile(bg, s.p("b"), []byte("old b"), WriteOptions{})
		must(t, write, err)
		undo(undo(redo))
		undo(write.ID)
		s.has("a", "new a")
		s.has("b", "new b")
		redo = undo(undo(c.ID))
		s.has("b", "new b")
		undo(redo)
		s.has("a", "old a")
		s.has("b", "old b")
	})
}

// What an undo took away is not lost if it was killed before it was recorded as complete: once it has
// been completed, it can be undone.
func TestKilledUndoKeepsWhatItTookAway(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("g=old")
		w := s.open(Options{NoSync: true})
		for path, text := range map[string]string{"f": "new", "g": "new"} {
			c, err := w.WriteFile(bg, s.p(path), []byte(text), WriteOptions{})
			must(t, c, err)
			s.put(s.p(path), "theirs")
			killed := &undone{paths: map[string]bool{}, parted: map[string]bool{}, last: map[*history]int64{}}
			if _, err := w.undoLast(bg, killed, true); err != nil { // and not settled
				t.Fatal(err)
			}
			done, err := s.open(Options{NoSync: true}).Undo(bg, UndoOptions{})
			if err != nil || done[0].Of != c.ID {
				t.Fatalf("%+v, %v", done, err)
			}
			if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
				t.Fatal(err)
			}
			s.has(path, "theirs")
			if _, err := w.Undo(bg, UndoOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		s.has("g", "old")
	})
}

// A folder that was removed and came back is not removed again by the undo of that, if something in
// it was changed or added since.
func TestRedoOfRemovedFolder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a=old")
		w := s.open(Options{NoSync: true})
		c, err := w.Remove(bg, s.p("d"), RemoveOptions{Tree: true})
		must(t, c, err)
		done, err := w.Undo(bg, UndoOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.put(s.p("d/new"), "theirs")
		_, err = w.Undo(bg, UndoOptions{ID: done[0].ID})
		if refused, ok := errors.AsType[*UndoError](err); !ok || !refused.Force {
			t.Fatalf("%v", err)
		}
		s.has("d/new", "theirs")
		os.Remove(s.p("d/new"))
		if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.p("d")); err == nil {
			t.Error("the folder is still there")
		}
	})
}

// An undo with force makes all folders that are missing before it brings the first file back.
func TestForceUndoMakesFolders(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/f=old", "d/e/g=old")
		w := s.open(Options{NoSync: true})
		c, err := w.ChangeFiles(bg, fixed(
			FileChange{Path: s.p("d/e/g"), Before: []byte("old"), After: []byte("new")},
			FileChange{Path: s.p("d/f"), Before: []byte("old"), After: []byte("new")}))
		if err != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		if err := os.Rename(s.p("d"), s.p("z")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Undo(bg, UndoOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		s.has("d/f", "old")
		s.has("d/e/g", "old")
		s.has("z/f", "new")
	})
}

// An undo of all since a change that is refused does not name one that it has undone itself.
func TestUndoSinceNamesWhatIsInTheWay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		first, err := w.WriteFile(bg, s.p("f"), []byte("one"), WriteOptions{})
		must(t, first, err)
		s.put(s.p("f"), "theirs")
		c, err := w.WriteFile(bg, s.p("f"), []byte("two"), WriteOptions{})
		must(t, c, err)
		done, err := w.Undo(bg, UndoOptions{Since: first.ID})
		if len(done) != 1 || err == nil || !strings.HasSuffix(err.Error(), "f was changed since by something else") {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "theirs")
	})
}

// A file that the undo of an earlier change brought back is not what a later one, of which the file
// is gone, has moved there.
func TestForceMovesNoOther(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=moved", "b=zero")
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(bg, s.p("b"), []byte("one"), WriteOptions{})
		must(t, c, err)
		c, err = w.Move(bg, s.p("a"), s.p("b"), MoveOptions{})
		must(t, c, err)
		os.Remove(s.p("b"))
		for err == nil {
			_, err = w.Undo(bg, UndoOptions{Force: true})
		}
		s.has("b", "zero")
		s.lacks("a")
		if _, err := w.Undo(bg, UndoOptions{ID: c.ID, Force: true}); err == nil || !strings.Contains(err.Error(), "undo 3 first") {
			t.Error(err)
		}
		for _, id := range []string{"3", "4"} { // and it is brought back by the undo of an undo of that
			if _, err := w.Undo(bg, UndoOptions{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Undo(bg, UndoOptions{ID: c.ID, Force: true}); err == nil || !strings.Contains(err.Error(), "undo 5 first") {
			t.Error(err)
		}
		later, err := w.WriteFile(bg, s.p("b"), []byte("four"), WriteOptions{})
		must(t, later, err)
		if _, err := w.Undo(bg, UndoOptions{ID: c.ID, Force: true}); err != nil {
			t.Error(err)
		}
		s.has("a", "four")
	})
}

// An append of which a power cut left the record alone is not met again after all before it was
// undone.
func TestUndoBeforeLostAppend(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(bg, s.p("f"), []byte("text"), WriteOptions{})
		must(t, c, err)
		p, err := w.locate(request{s.p("f"), false, toChange})
		if err != nil {
			t.Fatal(err)
		}
		info, err := p.root.tree.Stat(p.rel)
		if err != nil {
			t.Fatal(err)
		}
		func() { // as if the process were killed
			defer func() { recover() }()
			w.commit(bg, &Change{Kind: Append}, w.planAppend(p, info, []byte("more")), func(*keeper) error { panic("killed") })
		}()
		then := time.Unix(1e9, 0)
		if err := os.Chtimes(s.p("f"), then, then); err != nil { // of the write whose data is lost
			t.Fatal(err)
		}
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		s.lacks("f")
		if _, err := w.Undo(bg, UndoOptions{}); err == nil || !strings.Contains(err.Error(), "there is nothing to undo") {
			t.Error(err)
		}
	})
}

// What an undo with force refuses for want of what was there is what doctor names, and nothing else.
func TestDoctorAsksUndo(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old", "g=old")
		w := s.open(Options{NoSync: true})
		lost := func(want ...int64) {
			t.Helper()
			if list, err := w.Inspect(bg); err != nil || !slices.Equal(list[0].NoImage, want) {
				t.Errorf("%v, %v; want %v", list[0].NoImage, err, want)
			}
		}
		for _, name := range []string{"f", "g"} {
			c, err := w.WriteFile(bg, s.p(name), []byte("new"), WriteOptions{})
			must(t, c, err)
			if err := os.Remove(s.history() + "/log/0000000000000001/images/" + c.ID); err != nil {
				t.Fatal(err)
			}
		}
		lost(1, 2)
		if _, err := w.Undo(bg, UndoOptions{ID: "1", Force: true}); err == nil {
			t.Error("a file without an image came back")
		}
		s.put(s.p("f"), "old")
		lost(2)
	})
}

// The difference that the undo of an append made is the lines that it took off, also of a large file.
func TestDifferenceOfUndoneAppend(t *testing.T) {
	for _, before := range []string{"one\ntwo\n", strings.Repeat("a line\n", 300<<10)} {
		s := newSite(t, false)
		s.put(s.p("f"), before)
		w := s.open(Options{NoSync: true})
		c, err := w.AppendFile(bg, s.p("f"), []byte("abc\n"), WriteOptions{})
		must(t, c, err)
		done, err := w.Undo(bg, UndoOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := w.Difference(bg, done[0].ID); err != nil || !strings.HasSuffix(text, "\n-abc\n") || strings.Count(text, "\n-") != 1 || strings.Contains(text, "\n+a") {
			t.Errorf("%s, %v", text, err)
		}
		s.put(s.p("f"), "")
		if text, err := w.Difference(bg, done[0].ID); err != nil || !strings.Contains(text, "Not shown: 4 bytes") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// With force a change of several files is undone but for those of which nothing is kept, and these are named.
func TestForceSkipsWhatIsLost(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=old", "b=old", "c=old")
		w := s.open(Options{NoSync: true})
		var list []FileChange
		for _, name := range []string{"a", "b", "c"} {
			list = append(list, FileChange{Path: s.p(name), Before: []byte("old"), After: []byte("new")})
		}
		c, err := w.ChangeFiles(bg, fixed(list...))
		must(t, c, err)
		if err := os.Remove(s.history() + "/log/0000000000000001/images/1.1"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Undo(bg, UndoOptions{})
		if refused, ok := errors.AsType[*UndoError](err); !ok || !refused.Force || refused.Path != s.p("b") {
			t.Fatal(err)
		}
		s.has("c", "new")
		done, err := w.Undo(bg, UndoOptions{Force: true})
		if err != nil || len(done) != 1 || len(done[0].Skipped) != 1 || done[0].Skipped[0].Path != s.p("b") {
			t.Fatalf("%+v, %v", done, err)
		}
		s.has("a", "old")
		s.has("b", "new")
		s.has("c", "old")
		if _, err := w.Undo(bg, UndoOptions{}); err == nil {
			t.Error("it was undone again")
		}
		if done, err = w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil || len(done[0].Skipped) > 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		s.has("a", "new")
		s.has("c", "new")
	})
}

// An append, or its undo, of a file that was written since by a change in effect is not undone: of it only
// the end is known, and so what the file held before cannot come back.
func TestUndoOfAppendBeforeAnotherWrite(t *testing.T) {
	for name, c := range map[string]struct {
		undone bool   // the append was, before the write
		write  string // since
		force  bool   // helps
		want   string // with force
	}{
		"append, replaced by the same length": {false, "bZZZ", true, "b"},
		"append, replaced by another end":     {false, "bYYY", false, ""},
		"append, replaced by what is longer":  {false, "b and more", false, ""},
		"append, replaced by what was before": {false, "a", false, ""},
		"undo, replaced by the same length":   {true, "c", true, "cZZZ"},
		"undo, replaced by the other length":  {true, "cYYY", false, ""},
		"undo, replaced by what is longer":    {true, "c and more", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, false)
			s.layout("f=a")
			w := s.open(Options{NoSync: true})
			change, err := w.AppendFile(bg, s.p("f"), []byte("ZZZ"), WriteOptions{})
			must(t, change, err)
			if c.undone {
				done, err := w.Undo(bg, UndoOptions{})
				if err != nil {
					t.Fatal(err)
				}
				change = done[0].Change
			}
			later, err := w.WriteFile(bg, s.p("f"), []byte(c.write), WriteOptions{})
			must(t, later, err)
			undo := func(id string) {
				t.Helper()
				if _, err := w.Undo(bg, UndoOptions{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			_, err = w.Undo(bg, UndoOptions{ID: change.ID})
			refused, ok := errors.AsType[*UndoError](err)
			if !ok || refused.Force != c.force || !strings.Contains(err.Error(), "was changed since by change "+later.ID) {
				t.Errorf("%v", err)
			}
			s.has("f", c.write)
			if c.force {
				done, err := w.Undo(bg, UndoOptions{ID: change.ID, Force: true})
				if err != nil {
					t.Fatal(err)
				}
				s.has("f", c.want)
				undo(done[0].ID)
			}
			s.has("f", c.write)
			undo(later.ID)
			undo(change.ID)
			want := "a"
			if c.undone {
				want = "aZZZ"
			}
			s.has("f", want)
		})
	}
}

// A file that was moved away and back was not written; another one that was moved there is.
func TestUndoOfAppendBeforeMoves(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=a", "other=b")
		w := s.open(Options{NoSync: true})
		c, err := w.AppendFile(bg, s.p("f"), []byte("Z"), WriteOptions{})
		must(t, c, err)
		move := func(from, to string) (id string) {
			m, err := w.Move(bg, s.p(from), s.p(to), MoveOptions{})
			must(t, m, err)
			return m.ID
		}
		move("f", "g")
		move("g", "f")
		done, err := w.Undo(bg, UndoOptions{ID: c.ID})
		if err != nil {
			t.Fatal(err)
		}
		s.has("f", "a")
		moved := move("other", "f")
		if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err == nil || !strings.Contains(err.Error(), "was changed since by change "+moved) {
			t.Errorf("%v", err)
		}
		s.has("f", "b")
	})
}

// A dry run of the undo of a run says what the undo would.
func TestDryUndoOfRun(t *testing.T) {
	s := newSite(t, false)
	ctx := WithRun(bg, RunStep{Run: "run", Step: 1})
	for _, text := range []string{"one", "two"} {
		c, err := s.open(Options{NoSync: true}).WriteFile(ctx, s.p("f"), []byte(text), WriteOptions{})
		must(t, c, err)
	}
	undo := func(dry bool) (int, error) {
		done, err := s.open(Options{NoSync: true, DryRun: dry}).Undo(bg, UndoOptions{Run: "run"})
		return len(done), err
	}
	if n, err := undo(true); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	s.put(s.p("f"), "theirs")
	_, would := undo(true)
	_, did := undo(false)
	if would == nil || did == nil || would.Error() != did.Error() {
		t.Errorf("%v; %v", would, did)
	}
}

// What undo of all since a change took back is made again, also where an empty folder is another one by then.
func TestRedoOfFoldersMadeAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("other=x")
		w := s.open(Options{NoSync: true})
		first, err := w.WriteFile(bg, s.p("d/a"), []byte("A"), WriteOptions{Parents: true})
		must(t, first, err)
		for _, step := range []func() (Change, error){
			func() (Change, error) { return w.Remove(bg, s.p("d"), RemoveOptions{Tree: true}) },
			func() (Change, error) { return w.WriteFile(bg, s.p("d/b"), []byte("B"), WriteOptions{Parents: true}) },
			func() (Change, error) { return w.Remove(bg, s.p("d/b"), RemoveOptions{}) },
			func() (Change, error) { return w.Remove(bg, s.p("d"), RemoveOptions{Tree: true}) },
		} {
			c, err := step()
			must(t, c, err)
		}
		for i := range 3 {
			done, err := w.Undo(bg, UndoOptions{Since: first.ID})
			if err != nil || len(done) != 5 {
				t.Fatalf("%d: %v, %v", i, done, err)
			}
			if err := os.MkdirAll(s.p("taken/"+done[0].ID+"/a/b"), 0o777); err != nil { // they take the numbers of folders that were removed
				t.Fatal(err)
			}
			if redone, err := w.Undo(bg, UndoOptions{Since: done[0].ID}); err != nil || len(redone) != 5 {
				t.Fatalf("%d: %v, %v", i, redone, err)
			}
			if exists(s.p("d")) {
				t.Fatal("d exists")
			}
		}
	})
}

// The history of a file or a folder is what of the whole history is about it.
func TestHistoryOf(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(s.base+"/more/g", "old")
		w := s.open(Options{NoSync: true, Allow: []string{s.base + "/more"}})
		names := []string{"a", "ab", "d/a", "d/e/a", "<a", `a"b`, "ä"}
		for i, name := range names {
			c, err := w.WriteFile(bg, s.p(name), []byte("x"), WriteOptions{Parents: true})
			must(t, c, err)
			c, err = w.Move(bg, s.p(name), s.p(fmt.Sprint("moved", i)), MoveOptions{})
			must(t, c, err)
		}
		c, err := w.WriteFile(bg, s.base+"/more/a", []byte("x"), WriteOptions{Parents: true})
		must(t, c, err)
		_, err = w.Undo(bg, UndoOptions{})
		must(t, c, err)
		all, err := listed(w.History(bg))
		if err != nil || len(all) != 2*len(names)+2 {
			t.Fatalf("%v, %v", all, err)
		}
		inside := func(dir, path string) bool {
			return strings.HasPrefix(path+"/", strings.TrimSuffix(dir, "/")+"/") && path != ""
		}
		asked := []string{s.dir, s.base, s.base + "/more", s.base + "/more/a", s.p("d"), s.p("d/e"), s.p("none"), "/"}
		for _, name := range names {
			asked = append(asked, s.p(name))
		}
		for _, abs := range asked {
			want := slices.DeleteFunc(slices.Clone(all), func(e HistoryEntry) bool {
				return !inside(abs, e.Path) && !inside(abs, e.From)
			})
			if list, err := listed(w.HistoryOf(bg, abs)); err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
				t.Errorf("%s: %v, %v; want %v", abs, list, err, want)
			}
		}
		if list, err := listed(w.HistoryOf(bg, s.p("d/a"))); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
	})
}
