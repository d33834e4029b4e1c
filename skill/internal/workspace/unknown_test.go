//go:build linux || darwin

package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Repeated equal commands with unknown changes leave one record, so that a loop does not push changes out
// of the history.
func TestRecordUnknown(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w := s.open(Options{NoSync: true})
		c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
		must(t, c, err)
		record := func(run, command, why string) {
			t.Helper()
			w := w
			if run != "" {
				w = w.By(Author{RunStep: RunStep{Run: run, Step: 1}})
			}
			if err := w.RecordUnknown(bg, command, why); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			record("", "ls", "too many files")
		}
		record("r", "ls", "too many files")
		record("", "ls", "too many files")
		record("", "git", "too many files")
		record("", "git", "too little time")
		var got []string
		list, err := listed(w.History(bg))
		for _, e := range list {
			got = append(got, fmt.Sprint(e.ID, e.Command, e.Run))
		}
		if want := "1 2ls 3lsr 4ls 5git 6git"; err != nil || strings.Join(got, " ") != want {
			t.Errorf("the history is %q, %v, want %q", got, err, want)
		}
		if text, err := w.Difference(bg, "6"); err != nil || text != "too little time\n" {
			t.Errorf("the difference is %q, %v", text, err)
		}
		if err := w.Before(bg, "6", "", nil); err == nil ||
			err.Error() != "change 6 has no saved version: too little time" {
			t.Errorf("before that: %v", err)
		}
		if done, err := w.Undo(bg, UndoOptions{Run: "r"}); len(done) > 0 || err == nil ||
			!strings.HasPrefix(err.Error(), "change 3 cannot be undone: ") {
			t.Errorf("of the run %v was undone, %v", done, err)
		}
		refused, ok := errors.AsType[*UndoError](func() error { _, err := w.Undo(bg, UndoOptions{}); return err }())
		if !ok || refused.ID != "6" || refused.Before != "5" {
			t.Errorf("the last change: %v", refused)
		}
		if done, err := w.Undo(bg, UndoOptions{ID: "1"}); err != nil || len(done) != 1 {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "old")
	})
}

// Any number of commands with unkept changes does not prevent the undo of the change before them.
func TestRepeatedUnknownCommands(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w := s.open(Options{NoSync: true, Journal: Journal{Count: 256}})
		c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
		must(t, c, err)
		var at []string
		for i := range 2000 {
			if i == 1 {
				if at, err = w.Position(bg); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.RecordUnknown(bg, []string{"ls", "git"}[i%2], "too many files"); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := listed(w.History(bg)); err != nil || len(list) > 256+512+1 {
			t.Errorf("%d records, %v", len(list), err)
		}
		if list, err := listed(w.History(bg, at...)); err != nil || len(at) != 1 ||
			slices.ContainsFunc(list, func(e HistoryEntry) bool { return e.ID == c.ID }) {
			t.Errorf("after %v, whose record is dropped, there is the change before it; %v", at, err)
		}
		if done, err := w.Undo(bg, UndoOptions{ID: c.ID}); err != nil || len(done) != 1 {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "old")
	})
}

// A run can be undone back to a position after the history dropped older records that cannot be undone. If
// the history dropped changes of the run, the undo is refused.
func TestUndoRunAfterUnkeptCommands(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w := s.open(Options{NoSync: true, Journal: Journal{Count: 10}})
		at, err := w.Position(bg)
		if err != nil {
			t.Fatal(err)
		}
		w = w.By(Author{RunStep: RunStep{Run: "r", Step: 1}})
		for i := range 600 {
			if err := w.RecordUnknown(bg, []string{"ls", "git"}[i%2], "too many files"); err != nil {
				t.Fatal(err)
			}
		}
		write := func() {
			t.Helper()
			c, err := w.WriteFile(bg, s.p("f"), []byte("new"), WriteOptions{})
			must(t, c, err)
		}
		write()
		if done, err := w.Undo(bg, UndoOptions{Run: "r", After: at}); err != nil || len(done) != 1 {
			t.Errorf("%v, %v", done, err)
		}
		s.has("f", "old")
		for range 600 {
			write()
		}
		if done, err := w.Undo(bg, UndoOptions{Run: "r", After: at}); err == nil ||
			!strings.HasPrefix(err.Error(), "the history begins with change ") {
			t.Errorf("%v, %v", done, err)
		}
	})
}
