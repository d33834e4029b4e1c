package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"textskill/skill/internal/history"
	"textskill/testdata/needs"
)

// A dropped change takes the contents along that only it names. Contents stay that another change names, or the
// record of the workspace.
func TestDroppedContents(t *testing.T) {
	needs.InMemory(t)
	needs.Shell(t)
	s := newSite(t, false)
	for _, name := range []string{"a", "b", "f"} {
		s.put(s.p(name), "one")
	}
	s.put(s.p("c"), "two")
	w := s.open(Options{NoSync: true, Journal: Journal{Count: 20}})
	s.ran(t, w, "true")
	c, err := w.Remove(bg, s.p("a"), RemoveOptions{}) // the record needs "one" for b
	must(t, c, err)
	c, err = w.Remove(bg, s.p("c"), RemoveOptions{}) // nothing needs "two" after the next command
	must(t, c, err)
	s.ran(t, w, "true")
	for n := range 1200 {
		c, err := w.WriteFile(bg, s.p("f"), fmt.Appendf(nil, "text %d", n), WriteOptions{})
		must(t, c, err)
	}
	for text, want := range map[string]bool{"one": true, "two": false} {
		_, err := os.Stat(s.history() + "/blobs/" + history.SumOf([]byte(text)))
		if (err == nil) != want {
			t.Errorf("%q is kept: %v", text, !want)
		}
	}
	change, _ := s.ran(t, w, "echo command > b")
	for range 30 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if change.ID == "" {
		t.Error("the command is not recorded")
	}
	s.has("b", "one")
	s.has("f", "text 1170")
}

// To describe a history changes nothing in it, also while its index lacks a folder that a tool has made.
func TestInspectChangesNothing(t *testing.T) {
	needs.Shell(t)
	s := newSite(t, false)
	if err := os.MkdirAll(s.p("from/in"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.put(s.p("from/in/f"), "one")
	w := s.open(Options{NoSync: true})
	s.ran(t, w, "true")
	s.put(s.p("from/in/f"), "changed since")
	c, err := w.Copy(bg, s.p("from"), s.p("to"), CopyOptions{Tree: true})
	must(t, c, err)
	files := func() (list []string) {
		for _, pattern := range []string{"/*", "/blobs/*"} {
			names, err := filepath.Glob(s.history() + pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
					list = append(list, fmt.Sprint(name, info.Size(), info.ModTime()))
				}
			}
		}
		return list
	}
	before := files()
	if _, err := w.Inspect(bg); err != nil {
		t.Fatal(err)
	}
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("Inspect made of\n%v\nthis\n%v", before, after)
	}
}
