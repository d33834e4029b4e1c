package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"textskill/testdata/needs"
)

// sharing makes numbered changes in its own folder and in a shared folder.
func sharing(t testing.TB, args []string) {
	w, err := Open(Options{Dir: args[0], Portable: args[1] == "true", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	last := int64(0)
	for n := range 30 {
		for _, name := range []string{"own" + args[2], "all"} {
			c, err := w.AppendFile(bg, filepath.Join(args[0], name), fmt.Appendf(nil, "%s %d\n", args[2], n),
				WriteOptions{})
			must(t, c, err)
			_, id, ok := w.byID(c.ID)
			if !ok || id <= last {
				t.Fatalf("change %s comes after %d", c.ID, last)
			}
			last = id
		}
	}
}

// Processes and goroutines share one journal: each change has a unique ID, and undo reverts all in order.
func TestJournalIsShared(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("all=first\n")
		before := s.tree()
		var children []*child
		for n := range 3 {
			children = append(children, startChild(t, "sharing", os.Geteuid(), s.dir, fmt.Sprint(s.portable),
				fmt.Sprint(n)))
		}
		var wg sync.WaitGroup
		w := s.open(Options{NoSync: true})
		for n := range 4 {
			wg.Go(func() {
				for i := range 30 {
					c, err := w.WriteFile(bg, s.p(fmt.Sprint("here", n)), fmt.Append(nil, n, i),
						WriteOptions{})
					must(t, c, err)
				}
			})
		}
		wg.Wait()
		for _, c := range children {
			c.wait(t)
		}
		list, err := listed(w.History(bg))
		if err != nil || len(list) != 3*60+4*30 {
			t.Fatalf("%d changes, %v", len(list), err)
		}
		if data, err := os.ReadFile(s.p("all")); err != nil || strings.Count(string(data), "\n") != 1+3*30 {
			t.Errorf("%d lines, %v", strings.Count(string(data), "\n"), err)
		}
		if done, err := w.Undo(bg, UndoOptions{Since: list[0].ID}); err != nil || len(done) != len(list) {
			t.Fatalf("%d undone, %v", len(done), err)
		}
		if after := s.tree(); after != before {
			t.Errorf("undone, there is\n%s", after)
		}
	})
}

// Every operation denies the journal, in every spelling and through links, and no copy or listing of a tree
// includes it.
func TestJournalIsHidden(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=x", "l => .skill", "d/l => ../.skill/journal", "deep => d/l")
		w := s.open(Options{NoSync: true, AllowConfig: true})
		c, err := w.WriteFile(bg, s.p("f"), []byte("y"), WriteOptions{})
		must(t, c, err)
		for _, name := range []string{".skill", ".SKILL/journal", ".skill/./journal", "d/../.skill/images/1",
			"l/journal", "d/l", "deep", ".skill./journal"} {
			abs := s.dir + "/" + name
			for op, err := range map[string]error{
				"read":   failed(w.ReadFile(abs)),
				"list":   failed(w.ReadDir(abs)),
				"write":  failed(w.WriteFile(bg, abs, []byte("evil"), WriteOptions{})),
				"append": failed(w.AppendFile(bg, abs, []byte("evil"), WriteOptions{})),
				"copy":   failed(w.Copy(bg, abs, s.p("out"), CopyOptions{Tree: true})),
			} {
				if err == nil {
					t.Errorf("%s %s: nothing is said", op, name)
				}
			}
		}
		if list, err := w.ReadDir(s.dir); err != nil || len(list) != 4 {
			t.Errorf("%v, %v", list, err)
		}
		if _, err := w.Move(bg, s.p(".skill"), s.p("moved"), MoveOptions{}); err == nil {
			t.Error("the journal was moved")
		}
		if done, err := w.Undo(bg, UndoOptions{}); err != nil || len(done) != 1 {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "x")
	})
}

// A change in a narrower Workspace is recorded in the journal of the whole. The narrower Workspace sees
// only its own changes.
func TestNarrowed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=x", "d/f=x")
		w := s.open(Options{NoSync: true})
		n, err := w.Narrow(s.p("d"))
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		c, err := n.WriteFile(bg, s.p("d/f"), []byte("inside"), WriteOptions{})
		must(t, c, err)
		c, err = w.WriteFile(bg, s.p("f"), []byte("outside"), WriteOptions{})
		must(t, c, err)
		s.lacks("d/" + StateDir)
		if list, err := listed(n.History(bg)); err != nil || len(list) != 1 || list[0].Path != s.p("d/f") {
			t.Errorf("%v, %v", list, err)
		}
		if done, err := n.Undo(bg, UndoOptions{ID: c.ID}); err == nil {
			t.Errorf("%v", done)
		}
		if done, err := n.Undo(bg, UndoOptions{}); err != nil || done[0].Path != s.p("d/f") {
			t.Errorf("%v, %v", done, err)
		}
		s.has("d/f", "x")
		s.has("f", "outside")
	})
}
