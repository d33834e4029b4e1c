package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"textskill/testdata/needs"
)

// If the hint of a refused undo says that force helps, force does help.
func TestForceHintIsTrue(t *testing.T) {
	needs.SameDraws(t)
	needs.InMemory(t)
	rounds := 0
	rapid.Check(t, func(r *rapid.T) {
		rounds++
		s := *newSite(t, false)
		s.dir = filepath.Join(s.base, fmt.Sprint("round", rounds))
		if err := os.MkdirAll(s.p("d"), 0o755); err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(s.dir)
		w, err := Open(Options{Dir: s.dir, NoSync: true})
		if err != nil {
			r.Fatal(err)
		}
		defer w.Close()
		var log []string
		var ids []string
		note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		for range 40 {
			name, other := hintNames.Draw(r, "name"), hintNames.Draw(r, "other")
			text := rapid.SampledFrom([]string{"", "one\n", "two\n", "one\ntwo\n"}).Draw(r, "text")
			var c Change
			var err error
			switch op := rapid.SampledFrom([]string{"write", "append", "delete", "move", "outside", "link",
				"mode", "run", "undo", "undo", "undo", "since"}).Draw(r, "op"); op {
			case "write":
				c, err = w.WriteFile(bg, s.p(name), []byte(text), WriteOptions{Parents: true})
			case "append":
				c, err = w.AppendFile(bg, s.p(name), []byte(text), WriteOptions{Parents: true})
			case "delete":
				c, err = w.Remove(bg, s.p(name), RemoveOptions{Tree: true})
			case "move":
				c, err = w.Move(bg, s.p(name), s.p(other), MoveOptions{})
			case "run":
				before, serr := w.Begin(bg, "true", 1<<20, s.walk)
				if serr != nil {
					r.Fatal(serr)
				}
				outside(&s, name, other, text)
				c, _, err = before.End(bg)
			case "outside":
				outside(&s, name, other, text)
			case "link":
				os.Link(s.p(name), s.p(other))
			case "mode":
				os.Chmod(s.p(name), 0o700)
			default:
				o := UndoOptions{}
				if len(ids) > 0 && rapid.Bool().Draw(r, "named") || op == "since" && len(ids) > 0 {
					o.ID = rapid.SampledFrom(ids).Draw(r, "id")
				}
				if op == "since" {
					o.ID, o.Since = "", o.ID
				}
				done, err := w.Undo(bg, o)
				note("undo %+v: %+v, %v", o, done, err)
				if refused, ok := errors.AsType[*UndoError](err); ok && refused.Force {
					o.Force = true
					more, ferr := w.Undo(bg, o)
					if done = append(done, more...); ferr != nil {
						r.Fatalf("%v\nwith force: %v\nafter\n%s\nlog:\n%s", err, ferr,
							strings.Join(log, "\n"), short(lastOf(&s)))
					}
					note("with force: %+v", more)
				}
				for _, u := range done {
					ids = append(ids, u.ID)
				}
				continue
			}
			note("%s %s %v, %s %s %q", c.ID, c.Kind, err, name, other, text)
			if c.ID != "" {
				ids = append(ids, c.ID)
			}
		}
	})
}

// A program writes to an open file after an undo removed the file. A redo with force restores the file with
// that text, because no other copy has it.
func TestForceRestoresWrittenBlob(t *testing.T) {
	s := newSite(t, false)
	s.layout("f=old", "g=old")
	w := s.open(Options{NoSync: true})
	c, err := w.ChangeFiles(bg, fixed(
		FileChange{Path: s.p("f"), Before: []byte("old"), After: []byte("new")},
		FileChange{Path: s.p("g"), Before: []byte("old"), After: []byte("newer")}))
	must(t, c, err)
	f, err := os.OpenFile(s.p("f"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done, err := w.Undo(bg, UndoOptions{Perhaps: true})
	if err != nil || len(done[0].Held) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	f.WriteString("theirs")
	_, err = w.Undo(bg, UndoOptions{ID: done[0].ID})
	if refused, ok := errors.AsType[*UndoError](err); !ok || !refused.Force {
		t.Fatal(err)
	}
	done, err = w.Undo(bg, UndoOptions{ID: done[0].ID, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	s.has("f", "theirs")
	s.has("g", "newer")
	if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
		t.Fatal(err)
	}
	s.has("f", "old")
	s.has("g", "old")
}

var hintNames = rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/b"})

// outside makes an unrecorded change: it writes, replaces, removes or moves a file.
func outside(s *site, name, other, text string) {
	switch len(text) {
	case 0:
		os.RemoveAll(s.p(name))
	case len("one\n"):
		os.WriteFile(s.p(name), []byte(text), 0o644)
	default:
		os.Rename(s.p(name), s.p(other))
	}
}
