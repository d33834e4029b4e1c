package workspace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// numbered returns a text of twenty lines with some lines replaced.
func numbered(other map[int]string) string {
	var b strings.Builder
	for n := 1; n <= 20; n++ {
		if text, ok := other[n]; ok {
			b.WriteString(text + "\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", n)
	}
	return b.String()
}

// inLine changes a line of f as the kind of actor does, and returns the change.
func (s *site) inLine(w *Workspace, by string, n int, text string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.p("f"))
	if err != nil {
		s.t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	old := lines[n-1]
	lines[n-1] = text
	whole := strings.Join(lines, "\n")
	var c Change
	switch by {
	case "tool":
		c, err = w.EditFile(bg, s.p("f"), WriteOptions{}, swap(old+"\n", text+"\n"))
	case "write":
		c, err = w.WriteFile(bg, s.p("f"), []byte(whole), WriteOptions{})
	case "command":
		run, berr := w.Begin(bg, "sed", 1<<20, s.walk)
		if berr != nil {
			s.t.Fatal(berr)
		}
		s.put(s.p("f"), whole)
		c, _, err = run.End(bg)
	case "user":
		s.put(s.p("f"), whole)
		return ""
	}
	if err != nil || c.ID == "" {
		s.t.Fatalf("%s: %+v, %v", by, c, err)
	}
	return c.ID
}

// Undo and redo of a change keep later changes of other lines by tools, commands and users.
func TestUndoMerges(t *testing.T) {
	needs.InMemory(t)
	for _, first := range []string{"tool", "write", "command"} {
		for _, later := range []string{"tool", "write", "command", "user"} {
			for _, size := range []string{"small", "large"} {
				t.Run(first+"/"+later+"/"+size, func(t *testing.T) {
					s := newSite(t, false)
					end := ""
					if size == "large" { // versions are kept as splices
						end = strings.Repeat("more\n", 4000)
					}
					text := func(other map[int]string) string { return numbered(other) + end }
					s.layout("f=" + text(nil))
					w := s.open(Options{NoSync: true})
					id := s.inLine(w, first, 3, "three")
					s.inLine(w, later, 15, "fifteen")
					done, err := w.Undo(bg, UndoOptions{ID: id})
					if err != nil {
						t.Fatal(err)
					}
					s.has("f", text(map[int]string{15: "fifteen"}))
					if len(done[0].Merged) != 1 {
						t.Errorf("merged are %q", done[0].Merged)
					}
					redo, err := w.Undo(bg, UndoOptions{ID: done[0].ID})
					if err != nil {
						t.Fatal(err)
					}
					s.has("f", text(map[int]string{3: "three", 15: "fifteen"}))
					s.inLine(w, "user", 9, "nine")
					if _, err := w.Undo(bg, UndoOptions{ID: redo[0].ID}); err != nil {
						t.Fatal(err)
					}
					s.has("f", text(map[int]string{9: "nine", 15: "fifteen"}))
				})
			}
		}
	}
}

// Lines changed twice are a conflict that shows both versions. Force restores the earlier lines and keeps
// all others, and the undo of that restores the later lines.
func TestUndoConflictShowsBothSides(t *testing.T) {
	needs.InMemory(t)
	for _, later := range []string{"tool", "command", "user"} {
		t.Run(later, func(t *testing.T) {
			s := newSite(t, false)
			s.layout("f=" + numbered(nil))
			w := s.open(Options{NoSync: true})
			id := s.inLine(w, "tool", 3, "three")
			s.inLine(w, later, 3, "drei")
			s.inLine(w, later, 15, "fifteen")
			now := numbered(map[int]string{3: "drei", 15: "fifteen"})
			before := s.snapshot()
			_, err := w.Undo(bg, UndoOptions{ID: id})
			no, ok := errors.AsType[*UndoError](err)
			if !ok || !no.Force {
				t.Fatalf("%v", err)
			}
			for _, want := range []string{"line 3", "- drei", "+ line 3"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			s.unchanged(before)
			done, err := w.Undo(bg, UndoOptions{ID: id, Force: true})
			if err != nil {
				t.Fatal(err)
			}
			if took := later != "user"; (len(done[0].Took) > 0) != took || len(done[0].Merged) != 1 {
				t.Errorf("%+v", done[0])
			}
			s.has("f", numbered(map[int]string{15: "fifteen"}))
			if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
				t.Fatal(err)
			}
			s.has("f", now)
		})
	}
}

// The undo of one of many changes keeps the others.
func TestUndoOfOneOfMany(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	s.layout("f=" + numbered(nil))
	w := s.open(Options{NoSync: true})
	ids := map[int]string{}
	all := map[int]string{}
	for n := 1; n <= 19; n += 2 {
		all[n] = fmt.Sprint("changed ", n)
		ids[n] = s.inLine(w, []string{"tool", "command", "write"}[n%3], n, all[n])
	}
	for _, n := range []int{9, 1, 19, 3} {
		if _, err := w.Undo(bg, UndoOptions{ID: ids[n]}); err != nil {
			t.Fatalf("undo of line %d: %v", n, err)
		}
		delete(all, n)
		s.has("f", numbered(all))
	}
	list, err := listed(w.History(bg))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(len(list), "entries")
	for {
		done, err := w.Undo(bg, UndoOptions{})
		if err != nil {
			break
		}
		if len(done) != 1 {
			t.Fatalf("%+v", done)
		}
	}
	s.has("f", numbered(nil))
}

// A dry run of a merge changes nothing, and says what it would do.
func TestDryUndoThatMerges(t *testing.T) {
	s := newSite(t, false)
	s.layout("f=" + numbered(nil))
	w := s.open(Options{NoSync: true})
	id := s.inLine(w, "tool", 3, "three")
	s.inLine(w, "user", 15, "fifteen")
	before := s.snapshot()
	dry := s.open(Options{NoSync: true, DryRun: true})
	done, err := dry.Undo(bg, UndoOptions{ID: id})
	if err != nil || len(done) != 1 || len(done[0].Merged) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	s.unchanged(before)
}

// A merge keeps Windows line ends, a missing last line end, and permissions.
func TestUndoMergesLineEndings(t *testing.T) {
	for name, ends := range map[string]func(string) string{
		"windows":     func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"no last one": func(text string) string { return strings.TrimSuffix(text, "\n") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, false)
			w := s.open(Options{NoSync: true})
			s.put(s.p("f"), ends(numbered(nil)))
			c, err := w.WriteFile(bg, s.p("f"), []byte(ends(numbered(map[int]string{3: "three"}))),
				WriteOptions{})
			must(t, c, err)
			s.put(s.p("f"), ends(numbered(map[int]string{3: "three", 20: "twenty"})))
			os.Chmod(s.p("f"), 0o755)
			if _, err := w.Undo(bg, UndoOptions{ID: c.ID}); err != nil {
				t.Fatal(err)
			}
			s.has("f", ends(numbered(map[int]string{20: "twenty"})))
			if info, err := os.Stat(s.p("f")); err != nil || info.Mode() != 0o755 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

// While a command runs, a tool writes a file that the command has written. Both texts are in the history,
// and each undo reverts one.
func TestWriteBesideCommand(t *testing.T) {
	needs.InMemory(t)
	for _, after := range []string{"", "overwritten\n"} {
		s := newSite(t, false)
		w, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		run, err := w.Begin(bg, "echo formatted >e", 1<<20, s.walk)
		if err != nil {
			t.Fatal(err)
		}
		s.put(s.p("e"), "formatted\n")
		c, err := other.WriteFile(bg, s.p("e"), []byte("edited\n"), WriteOptions{})
		must(t, c, err)
		texts := []string{"edited\n", "formatted\n"}
		if after != "" {
			s.put(s.p("e"), after)
			texts = append([]string{after}, texts...)
		}
		change, left, err := run.End(bg)
		if err != nil || after != "" && change.ID == "" {
			t.Fatalf("%+v, %v, %v", change, left, err)
		}
		var undos []string
		for _, text := range texts {
			s.has("e", text)
			done, err := other.Undo(bg, UndoOptions{})
			if err != nil {
				t.Fatalf("undo of %q: %v", text, err)
			}
			undos = append(undos, done[0].ID)
		}
		s.lacks("e")
		for i := len(undos) - 1; i >= 0; i-- {
			if _, err := w.Undo(bg, UndoOptions{ID: undos[i]}); err != nil {
				t.Fatal(err)
			}
			s.has("e", texts[i])
		}
	}
}

// While a command that changed a file runs, a bare undo does not undo an older change of the file. It names
// the command's change so far, which the next undo reverts.
func TestBareUndoBesideCommand(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	w := s.open(Options{NoSync: true})
	c, err := w.WriteFile(bg, s.p("e"), []byte("written\n"), WriteOptions{})
	must(t, c, err)
	run, err := w.Begin(bg, "echo more >>e", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	s.put(s.p("e"), "written\nmore\n")
	_, err = w.Undo(bg, UndoOptions{})
	if err == nil || !strings.Contains(err.Error(),
		"was changed by a command that still runs; change 2 is what it did so far") {
		t.Errorf("undo: %v", err)
	}
	s.has("e", "written\nmore\n")
	if _, err := w.Undo(bg, UndoOptions{}); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Fatalf("undo of a change of a command that runs: %v", err)
	}
	if _, err := w.Undo(bg, UndoOptions{Perhaps: true}); err != nil {
		t.Fatal(err)
	}
	s.has("e", "written\n")
	if _, _, err := run.End(bg); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Undo(bg, UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	s.lacks("e")
}

// A command replaces a file by a third hard link to another file. Undo removes that link and writes the old
// file in place; redo still has both contents.
func TestRedoBesideOtherNames(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	s.layout("f=old\n", "a=own\n")
	if err := os.Link(s.p("f"), s.p("g")); err != nil {
		t.Fatal(err)
	}
	w := s.open(Options{NoSync: true})
	run, err := w.Begin(bg, "echo new >f; ln -f f a", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(s.p("f"), []byte("new\n"), 0o666), os.Remove(s.p("a")),
		os.Link(s.p("f"), s.p("a"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run.End(bg); err != nil {
		t.Fatal(err)
	}
	done, err := w.Undo(bg, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.has("f", "old\n")
	s.has("a", "own\n")
	if _, err := w.Undo(bg, UndoOptions{ID: done[0].ID}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "g", "a"} {
		s.has(name, "new\n")
	}
}

// One command removes a folder, and another command that runs meanwhile makes it again.
func TestFolderBesideCommands(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	s.layout("d/a=old\n", "d/b=kept\n")
	w, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
	first, err := w.Begin(bg, "rm -r d", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(s.p("d"))
	second, err := other.Begin(bg, "mkdir d; echo new >d/a", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	s.put(s.p("d/a"), "new\n")
	if _, _, err := second.End(bg); err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.End(bg); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			break
		}
	}
	s.has("d/a", "old\n")
	s.has("d/b", "kept\n")
}
