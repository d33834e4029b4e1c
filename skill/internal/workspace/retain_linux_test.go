package workspace

import (
	"fmt"
	"os"
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
