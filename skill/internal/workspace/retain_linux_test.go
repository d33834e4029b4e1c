package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// The contents that dropped commands changed need no room.
func TestDroppedPacks(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	w := s.open(Options{NoSync: true, Journal: Journal{Count: 20}})
	const files, size = 50, 1000
	texts := func(n int) {
		for i := range files {
			s.put(s.p(fmt.Sprint(i)), strings.Repeat(fmt.Sprintf("%4d", n*files+i), size/4))
		}
	}
	texts(0)
	const commands = 600
	for n := range commands {
		run, err := w.Begin(bg, "true", 1<<30, s.walk)
		if err != nil {
			t.Fatal(err)
		}
		texts(n + 1)
		if _, _, err := run.End(bg); err != nil {
			t.Fatal(err)
		}
	}
	w.Close() // it ends what tidies
	packs, err := filepath.Glob(s.history() + "/packs/*")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, name := range packs {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > commands*files*size/2 {
		t.Errorf("%d packs have %d bytes after %d commands, and keep 20 of them", len(packs), sum, commands)
	}
	w = s.open(Options{NoSync: true})
	for n := range 20 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(n, err)
		}
	}
	s.has("7", strings.Repeat(fmt.Sprintf("%4d", (commands-20)*files+7), size/4))
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
		for _, pattern := range []string{"/*", "/blobs/*", "/packs/*"} {
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
