package workspace

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// damaged makes a history of some changes. It returns its folder and all texts that files ever had.
func damagedSite(t *testing.T) (s *site, history string, texts map[string]bool) {
	t.Helper()
	s = newSite(t, false)
	large := strings.Repeat("large\n", 2000)
	s.layout("f=zero\n", "d/g=g\n", "l="+large, "untouched=same")
	texts = map[string]bool{"zero\n": true, "g\n": true, large: true, "same": true}
	for i := range 10 { // for a pack
		s.put(s.p(fmt.Sprint("p", i)), fmt.Sprint(i))
		texts[fmt.Sprint(i)], texts[fmt.Sprint(i, "new")] = true, true
	}
	w, err := Open(Options{Dir: s.dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		texts[text] = true
		c, err := w.WriteFile(bg, s.p("f"), []byte(text), WriteOptions{})
		must(t, c, err)
		c, err = w.EditFile(bg, s.p("l"), WriteOptions{}, swap("large", strings.TrimSpace(text)))
		must(t, c, err)
		data, _ := os.ReadFile(s.p("l"))
		texts[string(data)] = true
	}
	run, err := w.Begin(bg, "true", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	s.put(s.p("f"), "four\n")
	s.put(s.p("d/new"), "new\n")
	os.Remove(s.p("d/g"))
	for i := range 10 {
		s.put(s.p(fmt.Sprint("p", i)), fmt.Sprint(i, "new"))
	}
	texts["four\n"], texts["new\n"] = true, true
	if _, _, err := run.End(bg); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(s.base+"/"+stateHome, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "log" {
			history = filepath.Dir(name)
		}
		return err
	})
	if err != nil || history == "" {
		t.Fatalf("%q, %v", history, err)
	}
	return s, history, texts
}

// undoesWhatItCan undoes as much as possible, and fails the test if a file then has a text that no file
// ever had.
func undoesWhatItCan(t *testing.T, s *site, texts map[string]bool, what string) {
	t.Helper()
	w, err := Open(Options{Dir: s.dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	listed(w.History(bg))
	for _, force := range []bool{false, true} {
		for range 12 {
			if _, err := w.Undo(bg, UndoOptions{Force: force}); err != nil {
				break
			}
		}
	}
	c, err := w.WriteFile(bg, s.p("next"), []byte("next"), WriteOptions{})
	must(t, c, err)
	if _, err := w.Undo(bg, UndoOptions{ID: c.ID}); err != nil {
		t.Errorf("%s: the next undo: %v", what, err)
	}
	filepath.WalkDir(s.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if data, _ := os.ReadFile(name); !texts[string(data)] {
			t.Errorf("%s: %s holds %.60q", what, name, data)
		}
		return nil
	})
}

// A damaged history restores undamaged contents, and never a content that no file had.
func TestDamagedHistory(t *testing.T) {
	needs.InMemory(t)
	rounds := 40
	if os.Getenv("SKILL_TEST_LONG") != "" {
		rounds = 2000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range rounds {
		s, history, texts := damagedSite(t)
		var files []string
		filepath.WalkDir(history, func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && e.Name() != "root.json" {
				files = append(files, name)
			}
			return err
		})
		name := files[r.IntN(len(files))]
		if r.IntN(3) == 0 {
			name = history + "/log"
		}
		data, err := os.ReadFile(name)
		if err != nil || len(data) == 0 {
			continue
		}
		at := r.IntN(len(data))
		what := name[len(history):]
		switch r.IntN(5) {
		case 0:
			data = data[:at]
			what += " cut off"
		case 1:
			clear(data[at:])
			what += " zeroed to its end"
		case 2:
			data = append(data, bytes.Repeat([]byte{0}, 100)...)
			what += " with zeros behind"
		default:
			data[at] ^= 1 << r.IntN(8)
			what += " with another bit"
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(data)
		f.Close()
		undoesWhatItCan(t, s, withDamage(texts, what, data), what)
	}
}

// withDamage adds the damaged content of a blob to the texts: force restores the blob as it is now.
func withDamage(texts map[string]bool, what string, data []byte) map[string]bool {
	if strings.HasPrefix(what, "/blobs/") {
		texts[string(data)] = true
	}
	return texts
}

// Without force, a damaged blob is a conflict.
func TestDamagedBlob(t *testing.T) {
	needs.InMemory(t)
	s, history, _ := damagedSite(t)
	blobs, err := filepath.Glob(history + "/blobs/*")
	packs, perr := filepath.Glob(history + "/packs/*")
	if err != nil || perr != nil || len(blobs) == 0 || len(packs) == 0 {
		t.Fatalf("%q, %q, %v, %v", blobs, packs, err, perr)
	}
	for _, name := range append(blobs, packs...) {
		data, _ := os.ReadFile(name)
		os.WriteFile(name, append([]byte("x"), data...), 0o600)
	}
	before := s.snapshot()
	w := s.open(Options{NoSync: true})
	if done, err := w.Undo(bg, UndoOptions{}); err == nil || !strings.Contains(err.Error(), "saved version") {
		t.Errorf("%+v, %v", done, err)
	}
	s.unchanged(before)
}

// If the index is lost or damaged while a command runs, no file counts as changed by the command.
func TestIndexLostDuringCommand(t *testing.T) {
	needs.InMemory(t)
	for name, damage := range map[string]func(index string){
		"lost":    func(index string) { os.Remove(index) },
		"broken":  func(index string) { os.WriteFile(index, []byte("broken"), 0o600) },
		"emptied": func(index string) { os.Truncate(index, 0) },
	} {
		for _, other := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s, history, _ := damagedSite(t)
				before := s.tree()
				w := s.open(Options{NoSync: true})
				run, err := w.Begin(bg, "true", 1<<20, s.walk)
				if err != nil {
					t.Fatal(err)
				}
				s.put(s.p("made"), "made")
				damage(history + "/index")
				if other { // another process writes meanwhile
					o := s.open(Options{NoSync: true})
					c, err := o.WriteFile(bg, s.p("more"), nil, WriteOptions{})
					must(t, c, err)
				}
				change, left, err := run.End(bg)
				if err == nil && change.ID == "" && len(left) == 0 {
					t.Error("a command changed something, and the answer says nothing")
				}
				if change.ID != "" {
					w.Undo(bg, UndoOptions{ID: change.ID})
				}
				after := s.tree()
				for line := range strings.Lines(before) {
					if !strings.Contains(after, line) {
						t.Errorf("gone: %s", line)
					}
				}
			})
		}
	}
}
