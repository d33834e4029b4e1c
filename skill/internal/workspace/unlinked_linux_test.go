package workspace

import (
	"os"
	"testing"

	"textskill/testdata/needs"
)

// An undo names a restored file that is no longer another name of the file that it was.
func TestUndoNamesLostLinks(t *testing.T) {
	needs.Shell(t)
	for script, lost := range map[string]bool{
		"rm hl":               true,
		"rm hl; echo new >hl": true,
		"rm f hl":             true,
		"echo new >hl":        false,
		"mv hl other":         true,
	} {
		s := newSite(t, false)
		s.put(s.p("f"), "one")
		if err := os.Link(s.p("f"), s.p("hl")); err != nil {
			t.Skip(err)
		}
		w := s.open(Options{NoSync: true})
		change, _ := s.ran(t, w, script)
		done, err := w.Undo(bg, UndoOptions{ID: change.ID})
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if of := done[0].Unlinked[s.p("hl")]; of != "" != lost || lost && of != s.p("f") {
			t.Errorf("%s: %v", script, done[0].Unlinked)
		}
		s.has("hl", "one")
		s.has("f", "one")
	}
}
