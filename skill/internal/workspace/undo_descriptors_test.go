//go:build linux || darwin

package workspace

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestUndoFewDescriptors undoes the largest change that can be undone with as few
// descriptors as some systems give a process.
func TestUndoFewDescriptors(t *testing.T) {
	inMemory(t)
	s := newSite(t, false)
	s.layout("d/")
	write := func(text string) {
		for i := range maxSteps {
			if err := os.WriteFile(s.p(fmt.Sprintf("d/%d", i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("before")
	w := s.open(Options{})
	walk := func(_ context.Context, visit func(int, Visited) error) error {
		for i := range maxSteps {
			name := fmt.Sprint(i)
			v := Visited{Folder: "d", Name: []byte(name), File: statFunc(func() (Info, error) { return w.Stat(s.p("d/"+name), false) })}
			if err := visit(0, v); err != nil {
				return err
			}
		}
		return nil
	}
	snapshot, err := w.Snapshot(t.Context(), 1<<30, walk)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	write("after it")
	c, left, err := snapshot.Record(t.Context(), "test")
	if err != nil || c.ID == "" || c.NotKept != "" || len(left) > 0 {
		t.Fatalf("%+v, %v, %v", c, left, err)
	}
	limitFiles(t, 256)
	if _, err := w.Undo(t.Context(), UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/0", fmt.Sprint("d/", maxSteps-1)} {
		if data, err := os.ReadFile(s.p(name)); err != nil || string(data) != "before" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// limitFiles lets this process open files up to the descriptor n until the test ends.
func limitFiles(t *testing.T, n uint64) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: n, Max: old.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
}
